package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// maxDepth bounds how deep lists and maps nest.
const maxDepth = 100

// Parse reads resources. file is its name, for positions. The error is
// schema.Diagnostics. Whether a kind has such parameters, and whether their values fit, is for
// gapi.Build to say.
func Parse(file, src string) ([]gapi.Declaration, error) {
	p := &parser{file: file, src: src, line: 1, col: 1}
	var list []gapi.Declaration
	for p.space(); p.err == nil && p.at < len(p.src); p.space() {
		list = append(list, p.resource())
	}
	if p.err != nil {
		return nil, p.err
	}
	return list, nil
}

// parser reads a text from its beginning to its end. With the first error, it is at
// the end: a further read gives nothing.
type parser struct {
	file, src string
	at        int
	line, col int32
	depth     int
	err       schema.Diagnostics
}

func (p *parser) pos() schema.Pos { return schema.Pos{File: p.file, Line: p.line, Col: p.col} }

func (p *parser) fail(pos schema.Pos, format string, args ...any) {
	if p.err == nil {
		p.err.Errorf(pos, format, args...)
	}
	p.at = len(p.src)
}

// peek returns the next character, 0 at the end.
func (p *parser) peek() rune {
	r, _ := utf8.DecodeRuneInString(p.src[p.at:])
	if p.at == len(p.src) {
		return 0
	}
	return r
}

// next takes a character.
func (p *parser) next() rune {
	if p.at == len(p.src) {
		return 0
	}
	r, size := utf8.DecodeRuneInString(p.src[p.at:])
	if r == utf8.RuneError && size == 1 {
		p.fail(p.pos(), `the byte 0x%02x is not UTF-8; write it in double quotes, as \x%02x`, p.src[p.at], p.src[p.at])
		return 0
	}
	p.at += size
	p.col++
	if r == '\n' {
		p.line, p.col = p.line+1, 1
	}
	return r
}

// space takes blanks, line ends and comments.
func (p *parser) space() {
	for {
		switch p.peek() {
		case ' ', '\t', '\r', '\n':
			p.next()
		case '#':
			for p.at < len(p.src) && p.next() != '\n' {
			}
		default:
			return
		}
	}
}

// take takes a mark if it comes next.
func (p *parser) take(mark string) bool {
	p.space()
	if !strings.HasPrefix(p.src[p.at:], mark) {
		return false
	}
	for range mark {
		p.next()
	}
	return true
}

// want takes a mark, or says what should be there.
func (p *parser) want(mark, where string) {
	if !p.take(mark) {
		p.fail(p.pos(), "%s is missing %s; there is %s", mark, where, p.found())
	}
}

// found names the next token, for a message.
func (p *parser) found() string {
	r := p.peek()
	switch {
	case p.at == len(p.src):
		return "nothing more"
	case isWordRune(r):
		return fmt.Sprintf("%q", p.ahead())
	default:
		return fmt.Sprintf("%q", string(r))
	}
}

// ahead returns the word that comes next, without taking it.
func (p *parser) ahead() string {
	rest := p.src[p.at:]
	if end := strings.IndexFunc(rest, func(r rune) bool { return !isWordRune(r) }); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// resource reads kind { name: key => value, ... }.
func (p *parser) resource() gapi.Declaration {
	d := gapi.Declaration{Pos: p.pos(), KindPos: p.pos()}
	d.Kind = p.kind()
	p.want("{", "behind the kind")
	p.space()
	d.NamePos = p.pos()
	d.Name = p.text("a name")
	p.want(":", "behind the name")
	d.Value = &schema.Node{Kind: schema.NodeMap, Pos: d.Pos}
	d.Value.Pairs = p.pairs("}", p.key)
	return d
}

// kind takes all up to a blank or a brace.
func (p *parser) kind() string {
	end := strings.IndexAny(p.src[p.at:], "{ \t\r\n#'\"")
	if end <= 0 {
		p.fail(p.pos(), "a resource begins with its kind, as in: file { '/etc/motd': }; there is %s", p.found())
		return ""
	}
	kind := p.src[p.at : p.at+end]
	for p.err == nil && end > 0 {
		before := p.at
		p.next()
		end -= p.at - before
	}
	return kind
}

// text reads a word or a text in quotes.
func (p *parser) text(what string) string {
	switch r := p.peek(); {
	case r == '\'':
		return p.single()
	case r == '"':
		return p.double()
	case isLetter(r):
		return p.word()
	default:
		p.fail(p.pos(), "%s is missing; there is %s", what, p.found())
		return ""
	}
}

func (p *parser) word() string {
	w := p.ahead()
	for range w {
		p.next()
	}
	return w
}

func (p *parser) key() string { return p.text("a parameter") }

// pairs reads key => value, ... up to a closing brace.
func (p *parser) pairs(end string, key func() string) []schema.Pair {
	var list []schema.Pair
	for !p.take(end) && p.err == nil {
		pair := schema.Pair{Pos: p.pos()}
		pair.Key = key()
		p.want("=>", "behind "+keyText(pair.Key))
		pair.Value = p.value()
		list = append(list, pair)
		if !p.take(",") {
			p.want(end, "at the end, or a comma")
			break
		}
	}
	return list
}
