package puppettype

import "slices"

const (
	// MaxText bounds the text of a type, in bytes.
	MaxText = 64 << 10
	// maxDepth bounds how deep types nest.
	maxDepth = 64
)

// Parse reads a type. The error is an *Error. The text may have comments and line
// breaks. Any other panic than an *Error goes on, since it is a mistake of this
// package.
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

// MustParse is Parse for a text that is part of a program; it panics on an error. The
// panic has the *Error as its value.
func MustParse(text string) *Type {
	t, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return t
}

// parser reads expressions of Puppet's language, one token ahead, and keeps the parts
// that a type can be. It reads more of the language than a type may have, so that the
// error can say which part is too much.
type parser struct {
	scanner
	tok   token
	last  int // where the token before ends
	depth int
	odd   *Error // the first place that makes an expression no type
}

// expr is an expression as it is written: a token, the list in brackets behind a name,
// or the pairs of a hash. It is kept unread until the whole text is known to be sound.
type expr struct {
	token
	args []expr // of a name with brackets, of a list
	// pairs are those of a hash. A pair without braces is a hash of one pair.
	pairs []pair
	index bool // it has brackets
}

type pair struct{ key, value expr }

// parse reads the text to its end before it looks for types in it. So a fault of the
// notation comes before one of the meaning, as in Puppet.
func (p *parser) parse() *Type {
	if len(p.text) > MaxText {
		p.fail(0, false, "", "it is longer than %d bytes", MaxText)
	}
	p.advance()
	if p.tok.kind == tokEnd {
		p.fail(p.tok.at, false, "", "it is empty; Any takes every value")
	}
	e := p.argument()
	for p.tok.kind != tokEnd {
		p.another()
	}
	if p.odd != nil {
		panic(p.odd)
	}
	return p.typeOf(e)
}

// later is fail for an expression that is not a type: a fault of the text behind it
// comes first.
func (p *parser) later(at int, format string, args ...any) {
	if p.odd == nil {
		p.odd = p.finding(at, false, "", format, args...)
	}
}

// another reads the text behind the type.
func (p *parser) another() {
	switch p.tok.kind {
	case ',':
		p.later(p.tok.at, "a list is no type; Variant[...] takes one of several")
		p.advance()
	case ';':
		p.later(p.tok.at, "one type is enough")
		p.advance()
	case '[':
		p.later(p.tok.at, "no blank may stand before [")
	default:
		p.later(p.tok.at, "one type is enough")
	}
	p.argument()
}

// advance takes the next token. The scanner needs the kind of the token before: a / behind
// an operand divides, else it begins an expression.
func (p *parser) advance() {
	p.behind = p.tok.kind
	p.last, p.tok = p.tok.end, p.next()
}

// unexpected fails at the token in hand.
func (p *parser) unexpected() {
	if p.tok.kind == tokEnd {
		p.fail(p.tok.at, true, "", "syntax error at the end")
	}
	p.fail(p.tok.at, true, "", "syntax error at '%s'", shorten(p.text[p.tok.at:p.tok.end]))
}

// expect takes a token of the kind, or fails at the token in hand.
func (p *parser) expect(k tokenKind) {
	if p.tok.kind != k {
		p.unexpected()
	}
	p.advance()
}

// is reports whether the token in hand is one of the words or operators.
func (p *parser) is(k tokenKind, texts ...string) bool {
	return p.tok.kind == k && slices.Contains(texts, p.tok.text)
}

// argument reads an expression or a pair, which is a hash of one.
func (p *parser) argument() expr {
	e := p.expression()
	if p.tok.kind != tokArrow {
		return e
	}
	p.advance()
	h := expr{token: e.token, pairs: []pair{{e, p.expression()}}}
	h.kind, h.end = '{', p.last
	return h
}

// expression reads one operand; the text behind it keeps it from being a type. Each
// level of nesting comes through here, so the depth is counted once for all notations.
func (p *parser) expression() expr {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok.at, false, "", "it nests deeper than %d levels", maxDepth)
	}
	e := p.operand()
	for p.more(e) {
	}
	p.depth--
	return e
}

// more reads an operator behind e with its operand, if there is one. It only reads on,
// to find a fault of syntax behind; e itself is refused by then.
func (p *parser) more(e expr) bool {
	switch {
	case p.tok.kind == '[' && !p.tok.spaced:
		p.later(e.at, "%s takes no more parameters", p.source(e))
		p.list(1)
	case p.tok.kind == '(' && !p.tok.spaced:
		p.later(e.at, "a type is not called")
		p.between('(', ')')
	case p.tok.kind == '{':
		p.later(p.tok.at, "a type is followed by [, not by {")
		p.hash()
	case p.tok.kind == '?':
		p.later(e.at, "a type is not chosen")
		p.selector()
	case p.tok.kind == '.':
		p.later(e.at, "a type is not called")
		if p.advance(); p.tok.kind != tokName && p.tok.kind != tokType {
			p.unexpected()
		}
		p.advance()
	case p.tok.kind == tokOperator || p.is(tokName, "and", "or", "in"):
		p.later(e.at, "a type is not calculated; Variant[...] takes one of several")
		p.advance()
		p.operand()
	default:
		return false
	}
	return true
}

// selector reads the choice behind a question mark.
func (p *parser) selector() {
	if p.advance(); p.tok.kind == '{' {
		p.hash()
		return
	}
	p.expression()
	p.expect(tokArrow)
	p.expression()
}

// operand reads one value as the language has it: a name with its list, a literal, a
// list or a hash. It reads an expression that cannot be a type, too.
func (p *parser) operand() expr {
	e := expr{token: p.tok}
	switch p.tok.kind {
	// A blank before the bracket makes it a list of its own, as in Puppet.
	case tokName, tokType:
		p.keyword()
		p.advance()
		if p.tok.kind == '[' && !p.tok.spaced {
			e.index = true
			e.args = p.list(1)
		}
	case tokString, tokInt, tokFloat, tokRegexp:
		p.advance()
	case '(':
		p.later(e.at, "a type is not put in parentheses")
		p.advance()
		p.argument()
		p.expect(')')
	case '!', '@', '$', tokOperator:
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

// The words that Puppet's language keeps for itself: words that join parts of a
// statement, words that begin a statement, and words kept for later. No name prints
// as one of them.
var (
	joining   = []string{"and", "or", "in", "elsif", "else", "inherits"}
	beginning = []string{"case", "class", "define", "function", "if", "node", "type", "unless"}
	reserved  = []string{"attr", "private"}
)

// keyword refuses the words that begin or join statements of Puppet's language.
func (p *parser) keyword() {
	switch {
	case p.is(tokName, joining...):
		p.unexpected()
	case p.is(tokName, beginning...):
		p.advance()
		p.unexpected()
	case p.is(tokName, reserved...):
		p.later(p.tok.at, "%s is a reserved word; write '%s' in quotes", p.tok.text, p.tok.text)
	}
}

// prefixed reads an expression that is never a type: !x, -x, *x, $x, @x.
func (p *parser) prefixed() {
	if p.tok.kind == tokOperator && !p.is(tokOperator, "-", "*") {
		p.unexpected()
	}
	mark := p.tok.kind
	p.later(p.tok.at, "%s is no part of a type", p.tok.text)
	p.advance()
	if mark == '$' && (p.tok.kind != tokName || p.tok.spaced) {
		p.unexpected()
	}
	p.expression()
}

// between reads a list of arguments in parentheses. A comma may stand behind the last
// argument.
func (p *parser) between(open, end tokenKind) {
	p.expect(open)
	for p.tok.kind != end {
		p.argument()
		if p.tok.kind != ',' {
			break
		}
		p.advance()
	}
	p.expect(end)
}

// list reads [a, b] with no fewer than least elements. Pairs that follow one another
// are one hash.
func (p *parser) list(least int) []expr {
	p.expect('[')
	if least == 0 && p.tok.kind == ']' {
		p.advance()
		return nil
	}
	args := []expr{p.argument()}
	paired := args[0].isPair()
	for p.tok.kind == ',' {
		p.advance()
		if p.tok.kind == ']' {
			break
		}
		a := p.argument()
		if last := &args[len(args)-1]; paired && a.isPair() {
			last.pairs, last.end = append(last.pairs, a.pairs...), a.end
			continue
		}
		args, paired = append(args, a), a.isPair()
	}
	p.expect(']')
	return args
}

// isPair reports whether e is a pair without braces.
func (e expr) isPair() bool { return e.kind == '{' && e.text != "{" }

// hash reads {key => value, ...}; a comma may stand behind the last pair.
func (p *parser) hash() []pair {
	p.expect('{')
	var pairs []pair
	for p.tok.kind != '}' {
		key := p.hashKey()
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

// hashKey reads an expression; some keywords are plain words in its place.
func (p *parser) hashKey() expr {
	if !p.is(tokName, "type", "function") {
		return p.expression()
	}
	e := expr{token: p.tok}
	p.advance()
	return e
}
