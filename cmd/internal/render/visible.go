package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wrapped breaks lines that are too long for a terminal, between words, and indents the rest. A word that is too long itself
// stays whole.
func Wrapped(text string, columns int) string {
	const indent = "    "
	var b strings.Builder
	for line := range strings.Lines(text) {
		if columnsOf(line) <= columns+1 { // with its end
			b.WriteString(line)
			continue
		}
		rest := strings.TrimLeft(line, " ")
		at := len(line) - len(rest)
		b.WriteString(line[:at])
		for i, word := range strings.Fields(rest) {
			n := columnsOf(word)
			switch {
			case i == 0:
			case at > len(indent) && at+1+n > columns:
				b.WriteString("\n" + indent)
				at = len(indent)
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += n
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// columnsOf counts the characters of a text without its colours.
func columnsOf(text string) int {
	n := utf8.RuneCountInString(text)
	for {
		_, rest, ok := strings.Cut(text, "\x1b[")
		if !ok {
			return n
		}
		color, rest, _ := strings.Cut(rest, "m")
		n -= len("\x1b[m") + len(color)
		text = rest
	}
}

// Cut shortens a text without escapes to a number of columns, and marks that.
// It counts characters and not the columns of wide ones: a line that is too long by a few
// is cut by the terminal.
func Cut(text string, columns int) string {
	const mark = "..."
	switch {
	case columns < 1 || utf8.RuneCountInString(text) <= columns:
		return text
	case columns <= len(mark):
		return string([]rune(text)[:columns])
	default:
		return string([]rune(text)[:columns-len(mark)]) + mark
	}
}

// Visible returns a text on lines that a terminal shows as they are: control
// characters are written as Go writes them, new lines are indented.
// It is for every text that comes from outside: names, errors, outputs of programs. Without it
// such a text could move the cursor, or look like another line.
func Visible(text string) string {
	text = strings.TrimRight(text, "\n")
	if !strings.ContainsFunc(text, isControl) && utf8.ValidString(text) {
		return strings.ReplaceAll(text, "\n", "\n    ")
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n':
			b.WriteString("\n    ")
		case isControl(r):
			q := quote(string(r))
			b.WriteString(q[1 : len(q)-1])
		case r == utf8.RuneError:
			b.WriteString(invalid(text[i:]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isControl reports whether a character may do something to a terminal, or is
// not to be seen.
// The marks of direction count, too: by them a text may read as another one.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// invalid shows a byte that belongs to no character.
func invalid(text string) string {
	if _, n := utf8.DecodeRuneInString(text); n == 3 {
		return string(utf8.RuneError)
	}
	q := quote(text[:1])
	return q[1 : len(q)-1]
}

// VisibleLines is visible for a text of several lines.
// A test file may come from elsewhere, so its texts reach no terminal as they are. Only
// the ends of lines stay, since a difference has several.
func VisibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Plural is a number with its noun.
// The plural is the noun with an s.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
