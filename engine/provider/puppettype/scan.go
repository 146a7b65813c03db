package puppettype

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind is the sort of a token; punctuation is its own character.
type tokenKind rune

// Kinds below zero are tokens with a text; a kind above zero is the character itself.
const (
	tokEnd  tokenKind = -iota - 1
	tokName           // a, a::b; also true, false, default, undef
	tokType           // Foo, Foo::Bar
	tokString
	tokInt
	tokFloat
	tokRegexp
	tokArrow
	tokOperator // between two operands, or before one
)

// token is a word of a type's text.
type token struct {
	kind tokenKind
	text string // of a name; the content of a string or a regular expression; else as it stands
	// num is the value of a number; whole has it too where it is a whole one.
	num    float64
	whole  int64
	at     int  // where it begins, in bytes
	end    int  // where it ends
	spaced bool // a blank stands before it
}

// scanner cuts a text into tokens. Failures are panics with *Error, which Parse
// catches.
type scanner struct {
	text   string
	pos    int
	behind tokenKind // of the token before: behind an operand / divides and - subtracts
}

// fail ends the parsing with a finding at a place of the text.
func (s *scanner) fail(at int, syntax bool, suggestion, format string, args ...any) {
	panic(s.finding(at, syntax, suggestion, format, args...))
}

// finding makes the error for a place that is given in bytes. Users count characters, so
// the column is counted anew.
func (s *scanner) finding(at int, syntax bool, suggestion, format string, args ...any) *Error {
	before := s.text[:min(at, len(s.text))]
	line := strings.Count(before, "\n")
	col := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &Error{Text: shorten(s.text), Syntax: syntax, Message: fmt.Sprintf(format, args...), Suggestion: suggestion, Line: line + 1, Col: col + 1}
}

// rest is the text that is not read yet.
func (s *scanner) rest() string { return s.text[s.pos:] }

// blank skips blanks and comments. Comments are those of Puppet: from # to the end of
// the line, and between /* and */.
func (s *scanner) blank() {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.pos++
		case c == '#':
			s.skipPast(1, "\n", len(s.text))
		case strings.HasPrefix(s.rest(), "/*"):
			s.skipPast(2, "*/", -1)
		default:
			return
		}
	}
}

// skipPast goes behind the next mark, n bytes ahead or more; without one it goes to
// otherwise, or fails.
func (s *scanner) skipPast(n int, mark string, otherwise int) {
	i := strings.Index(s.text[s.pos+n:], mark)
	switch {
	case i >= 0:
		s.pos += n + i + len(mark)
	case otherwise < 0:
		s.fail(s.pos, true, "", "the comment has no end")
	default:
		s.pos = otherwise
	}
}

// next skips blanks and reads the token behind them. Whether a blank stood there matters:
// a [ belongs to the name only without one.
func (s *scanner) next() token {
	start := s.pos
	s.blank()
	t := token{at: s.pos, spaced: s.pos > start}
	s.read(&t)
	t.end = s.pos
	return t
}

// read reads one token. The order of the cases decides: a minus before a digit belongs to
// the number, unless it stands behind an operand.
func (s *scanner) read(t *token) {
	if s.pos == len(s.text) {
		t.kind = tokEnd
		return
	}
	switch c := s.text[s.pos]; {
	case isLetter(c) || c == '_' || strings.HasPrefix(s.rest(), "::"):
		s.word(t)
	case isDigit(c) || c == '-' && !s.divides() && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]):
		s.number(t)
	case c == '\'' || c == '"':
		s.quoted(t, c)
	case c == '/' && !s.divides():
		s.regexp(t)
	case strings.HasPrefix(s.rest(), "=>"):
		t.kind, t.text = tokArrow, "=>"
		s.pos += 2
	default:
		s.mark(t)
	}
}

// divides reports whether the token before is an operand.
func (s *scanner) divides() bool {
	switch s.behind {
	case tokName, tokType, tokString, tokInt, tokFloat, tokRegexp, ']', ')':
		return true
	}
	return false
}

// operators are those of Puppet's language, long ones first.
var operators = []string{"==", "!=", "=~", "!~", "<=", ">=", "<<", ">>", "->", "~>", "<-", "<~", "+=", "-=", "+", "-", "*", "/", "%", "<", ">", "="}

// mark reads an operator, or a character of punctuation.
func (s *scanner) mark(t *token) {
	for _, op := range operators {
		if strings.HasPrefix(s.rest(), op) {
			t.kind, t.text = tokOperator, op
			s.pos += len(op)
			return
		}
	}
	r, size := utf8.DecodeRuneInString(s.rest())
	t.kind, t.text = tokenKind(r), s.text[s.pos:s.pos+size]
	s.pos += size
}

// The classes of the notation are ASCII: a name with other letters is a fault of syntax in
// Puppet too.
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }
func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }

// word reads a name, in parts with :: between; the first letter says whether of a type.
// Other names may have dashes inside.
func (s *scanner) word(t *token) {
	start := s.pos
	first := strings.TrimPrefix(s.rest(), "::")
	ofType := first != "" && isUpper(first[0])
	for s.part(ofType) {
	}
	switch {
	case ofType && strings.HasPrefix(s.rest(), "::"):
		s.fail(s.pos+1, true, "", "a name of a type goes on in capitals behind ::")
	case s.pos == start:
		s.fail(s.pos+2, true, "", "there is no name behind ::")
	}
	t.kind, t.text = tokName, s.text[start:s.pos]
	if ofType {
		t.kind = tokType
	}
}

// part reads one part of a name, with the :: before it.
func (s *scanner) part(ofType bool) bool {
	rest := strings.TrimPrefix(s.rest(), "::")
	if rest == "" || isUpper(rest[0]) != ofType || !isLetter(rest[0]) && (ofType || rest[0] != '_') {
		return false
	}
	n := 1
	for n < len(rest) && (isWord(rest[n]) || !ofType && rest[n] == '-') {
		n++
	}
	s.pos = len(s.text) - len(rest) + len(strings.TrimRight(rest[:n], "-"))
	return true
}

// number reads a literal. A letter right behind the digits is part of the text that fails,
// so that the error shows 1a and not 1.
func (s *scanner) number(t *token) {
	start := s.pos
	s.pos++
	for s.pos < len(s.text) && (isWord(s.text[s.pos]) || s.fraction() || s.exponentSign(start)) {
		s.pos++
	}
	t.text = s.text[start:s.pos]
	n, ok := parseNumber(t.text)
	switch n := n.(type) {
	case int64:
		t.kind, t.whole, t.num = tokInt, n, float64(n)
	case float64:
		t.kind, t.num = tokFloat, n
		ok = !math.IsInf(n, 0)
	default:
		ok = false
	}
	if !ok {
		// Puppet's column is behind the first digit, or at a leading zero.
		digits := strings.TrimPrefix(t.text, "-")
		at := s.pos - len(digits)
		if digits[0] != '0' {
			at++
		}
		s.fail(at, true, "", "%s is no number of 64 bits", shorten(t.text))
	}
}

// fraction reports whether the dot in hand begins a fraction: 1.x is not one.
func (s *scanner) fraction() bool {
	return s.text[s.pos] == '.' && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1])
}

// exponentSign reports whether the sign in hand belongs to an exponent. In hexadecimal
// digits an e is a digit.
func (s *scanner) exponentSign(start int) bool {
	c, before := s.text[s.pos], s.text[s.pos-1]
	return (c == '-' || c == '+') && (before == 'e' || before == 'E') && !strings.HasPrefix(strings.ToLower(s.text[start:]), "0x")
}

// quoted reads a string in single or double quotes.
func (s *scanner) quoted(t *token, mark byte) {
	start := s.pos
	var b strings.Builder
	for s.pos++; s.pos < len(s.text) && s.text[s.pos] != mark; s.pos++ {
		c := s.text[s.pos]
		switch {
		case c == '\\' && s.pos+1 < len(s.text):
			s.pos++
			s.escape(&b, mark)
		// A type is read without a scope, so a variable would have no value.
		case c == '$' && mark == '"' && s.pos+1 < len(s.text) && (s.text[s.pos+1] == '{' || isWord(s.text[s.pos+1])):
			s.fail(s.pos, false, "", "a type has no variables; write \\$ for a dollar")
		default:
			b.WriteByte(c)
		}
	}
	if s.pos >= len(s.text) {
		s.fail(start+1, true, "", "the string has no end")
	}
	s.pos++
	t.kind, t.text = tokString, b.String()
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 's': " ", '"': `"`, '\'': "'", '\\': `\`, '$': "$"}

// escape writes the character of the escape at pos; in single quotes only the quote and
// the backslash are escaped. An unknown escape keeps its backslash, as in Puppet.
func (s *scanner) escape(b *strings.Builder, mark byte) {
	c := s.text[s.pos]
	switch {
	case mark == '\'' && c != '\'' && c != '\\':
		b.WriteByte('\\')
		b.WriteByte(c)
	case mark == '"' && c == 'u':
		s.unicode(b)
	case escapes[c] != "":
		b.WriteString(escapes[c])
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
}

// unicode reads \u00e9 or \u{1f600}; pos is at the u.
func (s *scanner) unicode(b *strings.Builder) {
	digits, length := "", 0
	if rest := s.text[s.pos+1:]; strings.HasPrefix(rest, "{") {
		inner, _, ok := strings.Cut(rest[1:min(len(rest), 8)], "}")
		if ok {
			digits, length = inner, len(inner)+2
		}
	} else if len(rest) >= 4 {
		digits, length = rest[:4], 4
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		s.fail(s.pos-1, true, "", `\u is followed by four hexadecimal digits, or by up to six in {}`)
	}
	b.WriteRune(rune(n))
	s.pos += length
}

// regexp reads /source/; an escaped slash is a slash. Every other escape is left to the
// package rubyre.
func (s *scanner) regexp(t *token) {
	start := s.pos
	var b strings.Builder
	for s.pos++; s.pos < len(s.text) && s.text[s.pos] != '/'; s.pos++ {
		if s.text[s.pos] == '\\' && s.pos+1 < len(s.text) {
			s.pos++
			if s.text[s.pos] != '/' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(s.text[s.pos])
	}
	if s.pos >= len(s.text) {
		s.fail(start, true, "", "the regular expression has no end")
	}
	s.pos++
	t.kind, t.text = tokRegexp, b.String()
}
