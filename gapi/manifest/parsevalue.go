package manifest

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// value reads a value.
func (p *parser) value() *schema.Node {
	p.space()
	n := &schema.Node{Pos: p.pos()}
	if p.depth++; p.depth > maxDepth {
		p.fail(n.Pos, "lists and maps nest more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	switch r := p.peek(); {
	case r == '[':
		n.Kind, n.Items = schema.NodeList, p.items()
	case r == '{':
		n.Kind, n.Pairs = schema.NodeMap, p.entries()
	case r == '\'' || r == '"':
		n.Kind, n.Quoted, n.Text = schema.NodeString, true, p.text("")
	case isLetter(r):
		p.wordValue(n)
	case isDigit(r) || r == '-' || r == '+':
		p.number(n)
	case r == '$':
		p.fail(n.Pos, "there are no variables here; text in quotes may begin with a dollar sign")
	default:
		p.fail(n.Pos, "a value is missing; there is %s", p.found())
	}
	return n
}

func (p *parser) items() []*schema.Node {
	p.next()
	var list []*schema.Node
	for !p.take("]") && p.err == nil {
		list = append(list, p.value())
		if !p.take(",") {
			p.want("]", "at the end, or a comma")
			break
		}
	}
	return list
}

// entries reads a map, whose keys are text or numbers.
func (p *parser) entries() []schema.Pair {
	p.next()
	list := p.pairs("}", p.entryKey)
	seen := make(map[string]bool, len(list))
	for _, pair := range list {
		if seen[pair.Key] && p.err == nil {
			p.fail(pair.Pos, "the key %s is given twice", quote(pair.Key))
		}
		seen[pair.Key] = true
	}
	return list
}

func (p *parser) entryKey() string {
	if r := p.peek(); isDigit(r) {
		return p.word()
	}
	return p.text("a key")
}

func (p *parser) wordValue(n *schema.Node) {
	switch w := p.word(); w {
	case "undef":
		n.Kind = schema.NodeNull
	case "true", "false":
		n.Kind, n.Text = schema.NodeBool, w
	default:
		n.Kind, n.Text = schema.NodeString, w
	}
}

func (p *parser) number(n *schema.Node) {
	rest := p.src[p.at:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !isWordRune(r) && r != '.' && r != '+' })
	if end < 0 {
		end = len(rest)
	}
	for range end { // one byte each
		p.next()
	}
	n.Text = rest[:end]
	_, err := strconv.ParseFloat(n.Text, 64)
	switch {
	case isWhole(n.Text):
		n.Kind = schema.NodeInt
	case isDigit(rune(rest[end-1])) && (err == nil || isRange(err)):
		n.Kind = schema.NodeFloat
	default:
		p.fail(n.Pos, "%s is no number; put text in quotes", quote(rest[:min(end, 40)]))
	}
}

// isWhole reports whether a text is digits, or hexadecimal behind 0x.
func isWhole(s string) bool {
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	digits := "0123456789"
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		s, digits = rest, digits+"abcdefABCDEF"
	}
	return s != "" && strings.Trim(s, digits) == ""
}

func isRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

// single reads '...'.
func (p *parser) single() string {
	var b strings.Builder
	begin := p.pos()
	p.next()
	for {
		switch r := p.next(); {
		case r == '\'':
			return b.String()
		case p.err != nil || r == 0 && p.at == len(p.src):
			p.fail(begin, "the quote that begins here does not end")
			return ""
		case r == '\\' && (p.peek() == '\'' || p.peek() == '\\'):
			b.WriteRune(p.next())
		default:
			b.WriteRune(r)
		}
	}
}

// double reads "...".
func (p *parser) double() string {
	var b strings.Builder
	begin := p.pos()
	p.next()
	for {
		pos := p.pos()
		switch r := p.next(); {
		case r == '"':
			return b.String()
		case p.err != nil || r == 0 && p.at == len(p.src):
			p.fail(begin, "the quote that begins here does not end")
			return ""
		case r == '\\':
			p.escape(&b, pos)
		case r == '$' && (p.peek() == '{' || isLetter(p.peek())):
			p.fail(pos, `there are no variables here; write \$ for a dollar sign`)
		default:
			b.WriteRune(r)
		}
	}
}

var unescaped = map[rune]rune{'n': '\n', 't': '\t', 'r': '\r', 's': ' ', '"': '"', '\'': '\'', '\\': '\\', '$': '$'}

// escape reads the rest of an escape, behind its backslash.
func (p *parser) escape(b *strings.Builder, pos schema.Pos) {
	r := p.next()
	if c, ok := unescaped[r]; ok {
		b.WriteRune(c)
		return
	}
	digits := ""
	switch {
	case r == 'x':
		digits = p.hex(2)
		if c, err := strconv.ParseUint(digits, 16, 8); err == nil && len(digits) == 2 {
			b.WriteByte(byte(c))
			return
		}
	case r == 'u' && p.peek() == '{':
		p.next()
		digits = p.hex(6)
		c, err := strconv.ParseUint(digits, 16, 32)
		if err == nil && utf8.ValidRune(rune(c)) && p.next() == '}' {
			b.WriteRune(rune(c))
			return
		}
	}
	p.fail(pos, `what follows this backslash means nothing; there are \n \t \r \s \" \' \\ \$ \u{1f600} and \xff`)
}

// hex takes hexadecimal digits.
func (p *parser) hex(most int) string {
	begin := p.at
	for range most {
		if !strings.ContainsRune("0123456789abcdefABCDEF", p.peek()) {
			break
		}
		p.next()
	}
	return p.src[begin:p.at]
}
