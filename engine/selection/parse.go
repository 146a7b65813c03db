package selection

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Error says what is wrong with the text of a selection.
type Error struct {
	Text    string
	At      int // the character, counted from 1
	Message string
	Hint    string // a question or an advice; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("the selection %q, character %d: %s", schema.Shorten(e.Text), e.At, e.Message)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Of reads a text: as the one resource of which it is the id, if there is such a one, else as Parse does.
func Of(text string, exists func(id string) bool) (Selection, error) {
	if exists(text) {
		return Exact(text), nil
	}
	return Parse(text)
}

// mostTerms bounds the work for a selection of a stranger.
const mostTerms = 256

// Parse reads a selection of at most 256 terms. The error is an *Error.
func Parse(text string) (Selection, error) {
	p := parser{text: text}
	s := Selection{any: []all{nil}}
	for count := 0; ; count++ {
		if count == mostTerms {
			return Selection{}, p.fail(p.at, "use a pattern", "more than %d terms", mostTerms)
		}
		t, err := p.term()
		if err != nil {
			return Selection{}, err
		}
		last := &s.any[len(s.any)-1]
		*last = append(*last, t)
		switch {
		case p.at == len(text):
			return s, nil
		case text[p.at] == ',':
			s.any = append(s.any, nil)
		}
		p.at++
	}
}

// Last parts a selection that is being written into what stands before its last term, and that term.
func Last(text string) (before, last string) {
	p := parser{text: text}
	from := 0
	for {
		if _, err := p.term(); err != nil || p.at == len(text) {
			return text[:from], text[from:]
		}
		p.at++
		from = p.space(p.at)
	}
}

type parser struct {
	text string
	at   int // the next byte
}

func (p *parser) fail(at int, hint, format string, args ...any) error {
	return &Error{p.text, utf8.RuneCountInString(p.text[:at]) + 1, fmt.Sprintf(format, args...), hint}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// ends reports whether a term ends at a place.
func (p *parser) ends(at int) bool {
	return at == len(p.text) || p.text[at] == ',' || p.text[at] == '&'
}

// space returns the next place that has no space.
func (p *parser) space(at int) int {
	for at < len(p.text) && isSpace(p.text[at]) {
		at++
	}
	return at
}

// term reads a term, up to what parts it from the next one.
func (p *parser) term() (t term, err error) {
	p.at = p.space(p.at)
	begin := p.at
	if p.ends(begin) {
		return t, p.fail(begin, "write a kind, kind[name], module:NAME, label:KEY=VALUE or state:WORD", "a term is missing")
	}
	for _, w := range words {
		if strings.HasPrefix(p.text[begin:], w+":") {
			p.at += len(w) + 1
			return p.worded(w)
		}
	}
	if t.head, err = p.glob(func(at int) bool { return p.ends(at) || p.text[at] == '[' }, true); err != nil {
		return t, err
	}
	if p.ends(p.at) {
		return t, p.meant(begin)
	}
	open := p.at
	p.at++
	t.tail, err = p.glob(func(at int) bool { return at == len(p.text) || p.text[at] == ']' && p.ends(p.space(at+1)) }, false)
	switch {
	case err != nil:
		return t, err
	case p.at == len(p.text):
		return t, p.fail(open, "write kind[name]", `the "[" has no "]" before the end of the term`)
	case open == begin:
		return t, p.fail(open, "write *[...] for all kinds", "there is no kind before the name")
	case len(t.tail) == 1 && t.tail[0] == "":
		return t, p.fail(open, "write [*], or the kind alone, for all names", "the name is empty")
	}
	p.at = p.space(p.at + 1)
	return t, nil
}

// meant refuses a kind that looks like a mistaken word.
func (p *parser) meant(begin int) error {
	written := p.text[begin:p.at]
	if i := strings.IndexAny(written, ":="); i >= 0 && !strings.Contains(written[:i+1], `\`) {
		head, rest := written[:i], written[i+1:]
		if near := schema.Nearest(head, words); near != "" {
			return p.fail(begin, fmt.Sprintf("did you mean %q?", near+":"+strings.TrimSpace(rest)), "%q is no word of a selection", head+written[i:i+1])
		}
	}
	return nil
}

// worded reads what follows the colon of a word.
func (p *parser) worded(word string) (t term, err error) {
	t.word = word
	begin := p.space(p.at)
	p.at = begin
	if t.head, err = p.glob(func(at int) bool { return p.ends(at) || word == wordLabel && p.text[at] == '=' }, true); err != nil {
		return t, err
	}
	if len(t.head) == 1 && t.head[0] == "" {
		return t, p.fail(begin, "", `nothing follows "%s:"`, word)
	}
	if !p.ends(p.at) { // at the = of a label
		p.at = p.space(p.at + 1)
		t.tail, err = p.glob(p.ends, true)
		return t, err
	}
	if word == wordState {
		return t, p.state(begin, t.head)
	}
	return t, nil
}

// state refuses a word that is no state.
func (p *parser) state(at int, g glob) error {
	states := States()
	written := strings.Join(g, "*")
	for _, word := range states {
		if len(g) == 1 && word == written {
			return nil
		}
	}
	hint := "write one of " + strings.Join(states, ", ")
	if near := schema.Nearest(written, states); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return p.fail(at, hint, "%q is no state", written)
}

// States returns the words for states.
func States() (list []string) {
	for s := range resgraph.State(resgraph.NumStates) {
		list = append(list, s.String())
	}
	return list
}

// glob reads a pattern up to a place at which stop reports true, or to the end. With trim, spaces at its end do not count.
func (p *parser) glob(stop func(at int) bool, trim bool) (glob, error) {
	g := glob{}
	var part []byte
	kept := 0 // how much of part stays if only spaces follow
	for p.at < len(p.text) && !stop(p.at) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == '\\' && p.at == len(p.text):
			return nil, p.fail(p.at-1, `write \\ for a backslash`, "the backslash stands before nothing")
		case c == '\\':
			part = append(part, p.text[p.at])
			p.at++
			kept = len(part)
		case c == '*':
			if len(g) == 0 || len(part) > 0 { // two stars are one
				g = append(g, string(part))
			}
			part, kept = part[:0], 0
		default:
			part = append(part, c)
			if !isSpace(c) {
				kept = len(part)
			}
		}
	}
	if trim {
		part = part[:kept]
	}
	return append(g, string(part)), nil
}
