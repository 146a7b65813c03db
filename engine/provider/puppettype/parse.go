package puppettype

import (
	"strings"
)

const (
	// MaxText bounds the text of a type, in bytes.
	MaxText = 64 << 10
	// maxDepth bounds how deep types nest.
	maxDepth = 64
)

// Parse reads a type. The error is an *Error. The text may have comments and line breaks.
func Parse(text string) (t *Type, err error) {
	p := parser{scanner: scanner{text: text}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			t, err = nil, e
		}
	}()
	return p.parse(), nil
}

// MustParse is Parse for a text that is part of a program; it panics on an error.
func MustParse(text string) *Type {
	t, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return t
}

// parser reads expressions, one token ahead.
type parser struct {
	scanner
	tok   token
	last  int // where the token before ends
	depth int
}

// expr is an expression as it is written: a token, the list in brackets behind a
// name, or the pairs of a hash.
type expr struct {
	token
	args  []expr // of a name with brackets, of a list
	pairs []pair
	index bool // it has brackets
}

type pair struct{ key, value expr }

func (p *parser) parse() *Type {
	if len(p.text) > MaxText {
		p.fail(0, false, "", "it is longer than %d bytes", MaxText)
	}
	p.advance()
	if p.tok.kind == tokEnd {
		p.fail(p.tok.at, false, "", "it is empty; Any takes every value")
	}
	e := p.expression()
	switch p.tok.kind {
	case tokEnd:
	case ',':
		p.fail(p.tok.at, false, "", "a list is no type; Variant[...] takes one of several")
	case '[':
		p.fail(p.tok.at, false, "", "no blank may stand before [")
	case tokName, tokType, tokString, tokInt, tokFloat, tokRegexp, '{', '(', '$':
		p.fail(p.tok.at, false, "", "one type is enough")
	default:
		p.unexpected()
	}
	return p.typeOf(e)
}

func (p *parser) advance() { p.last, p.tok = p.tok.end, p.next() }

// unexpected fails at the token in hand.
func (p *parser) unexpected() {
	if p.tok.kind == tokEnd {
		p.fail(p.tok.at, true, "", "syntax error at the end")
	}
	p.fail(p.tok.at, true, "", "syntax error at '%s'", shorten(p.text[p.tok.at:p.tok.end]))
}

func (p *parser) expect(k tokenKind) {
	if p.tok.kind != k {
		p.unexpected()
	}
	p.advance()
}

// expression reads one operand; an operator behind it makes it no type.
func (p *parser) expression() expr {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok.at, false, "", "it nests deeper than %d levels", maxDepth)
	}
	e := p.operand()
	p.depth--
	if p.tok.kind == tokRegexp || strings.ContainsRune("+-*%<>.?", rune(p.tok.kind)) || p.tok.kind == tokInt && p.tok.text[0] == '-' {
		p.fail(e.at, false, "", "a type is not calculated")
	}
	return e
}

func (p *parser) operand() expr {
	e := expr{token: p.tok}
	switch p.tok.kind {
	case tokName, tokType:
		p.advance()
		if p.tok.kind == '[' && !p.tok.spaced {
			e.index = true
			e.args = p.list(1)
		}
	case tokString, tokInt, tokFloat, tokRegexp:
		p.advance()
	case '(', '!', '-', '$':
		p.prefixed()
	case '[':
		e.args = p.list(0)
	case '{':
		e.pairs = p.hash()
	default:
		p.unexpected()
	}
	e.end = p.last
	return e
}

// prefixed reads what is an expression and never a type: (x), !x, -x, $x.
func (p *parser) prefixed() {
	mark := p.tok.kind
	p.advance()
	p.expression()
	if mark == '(' {
		p.expect(')')
	}
}

// list reads [a, b] with no fewer than least elements.
func (p *parser) list(least int) []expr {
	p.expect('[')
	if least == 0 && p.tok.kind == ']' {
		p.advance()
		return nil
	}
	args := []expr{p.expression()}
	for p.tok.kind == ',' {
		p.advance()
		if p.tok.kind == ']' {
			break
		}
		args = append(args, p.expression())
	}
	p.expect(']')
	return args
}

func (p *parser) hash() []pair {
	p.expect('{')
	var pairs []pair
	for p.tok.kind != '}' {
		key := p.expression()
		p.expect(tokArrow)
		pairs = append(pairs, pair{key, p.expression()})
		if p.tok.kind != ',' {
			break
		}
		p.advance()
	}
	p.expect('}')
	return pairs
}
