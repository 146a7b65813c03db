package puppettype

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Error says why a text cannot be read as a type.
type Error struct {
	Text       string // the whole text, shortened
	Syntax     bool   // it can't be an expression at all; else it is an expression, but not a type
	Message    string // the fault, without a position
	Suggestion string // the name that was probably meant, or empty
	Line, Col  int    // in Text, from 1; Col counts characters
}

// Error returns the finding with the text that it is about.
func (e *Error) Error() string { return "the type `" + e.Text + "` " + e.finding() }

// For returns the finding as one about an attribute. The words are those of Puppet's
// Resource API.
func (e *Error) For(attribute string) string {
	return fmt.Sprintf("The type of the `%s` attribute `%s` %s", attribute, e.Text, e.finding())
}

// finding is the error without its subject: the verdict, the reason, the place, and the
// name that was perhaps meant.
func (e *Error) finding() string {
	verdict := "is not recognised"
	if e.Syntax {
		verdict = "could not be parsed"
	}
	hint := ""
	if e.Suggestion != "" {
		hint = fmt.Sprintf("; did you mean %q?", e.Suggestion)
	}
	return fmt.Sprintf("%s: %s (line: %d, column: %d%s)", verdict, e.Message, e.Line, e.Col, hint)
}

// Pos returns the place in the file of a text that begins at start. It is exact
// where the file holds the text as it is, without escapes.
func (e *Error) Pos(start schema.Pos) schema.Pos {
	switch {
	// A text without a position, as from Go code, keeps none.
	case start.Line == 0:
	// Only in the first line does the column count from the begin of the text.
	case e.Line > 1:
		start.Line, start.Col = start.Line+int32(e.Line)-1, int32(e.Col)
	default:
		start.Col += int32(e.Col) - 1
	}
	return start
}

// maxShown bounds how much of a text an error repeats, in characters.
const maxShown = 200

// shorten cuts a text for a message, at the border of a character. A type may be 64 KiB
// long, and an error goes into logs.
func shorten(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return strings.ToValidUTF8(string(r[:maxShown]), "?") + "..."
	}
	return s
}
