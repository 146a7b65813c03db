package rubyre

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// maxPattern bounds the text of a pattern, in bytes.
	// Definitions have some hundred bytes. The bound keeps a hostile one from taking memory.
	maxPattern = 16 << 10
	// maxProgram bounds the steps of a compiled pattern.
	// A step is about one instruction of the compiled expression.
	maxProgram = 20_000
	// maxDepth bounds how deep classes nest.
	// The reader of classes calls itself, so the depth is its stack.
	maxDepth = 64
)

// Regexp is a regular expression in the notation of Ruby. It is immutable.
// Only New makes one, so it always has both its source and the compiled form.
type Regexp struct {
	// source is as New got it, for the reader; re is what was made of it.
	source string
	re     *regexp.Regexp
}

// New compiles a source, without slashes around it. The error names what Ruby
// can do there and RE2 cannot.
func New(source string) (*Regexp, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("the regular expression is longer than %d bytes", maxPattern)
	}
	text, err := translate(source)
	if err != nil {
		return nil, fmt.Errorf("the regular expression /%s/ %w", shorten(source), err)
	}
	re, err := compile(text)
	if err != nil {
		return nil, fmt.Errorf("the regular expression /%s/ is wrong: %w", shorten(source), err)
	}
	return &Regexp{source, re}, nil
}

// compile compiles an expression of RE2, after a bound on its size: nested repeats grow by
// multiplication.
func compile(text string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, plainReason(err)
	}
	// The package regexp has a bound of its own, which is larger and counts otherwise.
	if steps(tree) > maxProgram {
		return nil, fmt.Errorf("its repeats come to more than %d steps", maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, plainReason(err)
	}
	return re, nil
}

// plainReason leaves out what was made of the source.
func plainReason(err error) error {
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return fmt.Errorf("%s at %q", e.Code, shorten(strings.TrimPrefix(e.Expr, "(?m)")))
	}
	return err
}

// steps estimates the length of a compiled pattern.
func steps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += steps(sub)
		// The rest can't make it smaller. So a huge tree is not walked to its end.
		if n > maxProgram {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		// Max is -1 for a repeat without an upper bound.
		n *= max(1, re.Min, re.Max)
	}
	return n
}

// Match reports whether the expression is found anywhere in s.
func (r *Regexp) Match(s string) bool { return r.re.MatchString(s) }

// Compiled returns the expression as Go knows it, with the groups that the source
// names.
func (r *Regexp) Compiled() *regexp.Regexp { return r.re }

// Source returns the text, without slashes.
func (r *Regexp) Source() string { return r.source }

// String returns the expression between slashes.
func (r *Regexp) String() string {
	return "/" + strings.ReplaceAll(r.source, "/", `\/`) + "/"
}

// Equal compares the sources.
func (r *Regexp) Equal(o *Regexp) bool {
	return r == o || r != nil && o != nil && r.source == o.source
}

// maxShown bounds how much of a source an error repeats, in characters.
const maxShown = 200

// shorten cuts a text for an error, at the border of a character.
func shorten(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return strings.ToValidUTF8(string(r[:maxShown]), "?") + "..."
	}
	return s
}
