package puppettype

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// String returns the canonical text of t: one blank after a comma, words of an Enum in
// order, strings in single quotes. Parse reads it back. Equal types print the same. The
// text is built anew for each call.
func (t *Type) String() string {
	var p printer
	p.typ(t)
	return p.b.String()
}

type printer struct {
	b    strings.Builder
	open bool // the list in hand has an element
}

// list writes name, and the result of fill in brackets; without an element it writes no
// brackets. The state of the outer list is kept on the stack, so lists nest.
func (p *printer) list(name string, fill func()) {
	outer := p.open
	p.b.WriteString(name)
	p.open = false
	fill()
	if p.open {
		p.b.WriteByte(']')
	}
	p.open = outer
}

// next begins an element of the list in hand.
func (p *printer) next() {
	if p.open {
		p.b.WriteString(", ")
	} else {
		p.b.WriteByte('[')
	}
	p.open = true
}

// item writes an element of the list in hand.
func (p *printer) item(s string) {
	p.next()
	p.b.WriteString(s)
}

// types writes each type as an element.
func (p *printer) types(ts ...*Type) {
	for _, t := range ts {
		p.next()
		p.typ(t)
	}
}

// typ writes a type with its parameters. A reference prints under the name of its
// target.
func (p *printer) typ(t *Type) {
	name := t.kind.String()
	switch t.kind {
	case KindResource:
		p.resource(t)
		return
	case KindClass:
		p.list(name, func() { p.items(apply(t.words, nameOrQuote)) })
		return
	}
	p.list(name, func() { p.parameters(t) })
}

// items writes each word as an element, as it is.
func (p *printer) items(words []string) {
	for _, w := range words {
		p.item(w)
	}
}

// parameters writes the text in the brackets. The order of the cases is that of the
// structure: collections, members, lists of types, holders, values.
func (p *printer) parameters(t *Type) {
	switch t.kind {
	case KindArray, KindHash:
		p.collection(t)
	case KindStruct:
		p.members(t)
	case KindVariant, KindTuple, KindCallable:
		p.types(t.types...)
		p.size(t.size)
	case KindOptional, KindNotUndef, KindSensitive, KindType, KindIterable, KindInit:
		p.inner(t)
	case KindString, KindCollection:
		p.size(t.size)
	case KindRuntime:
		p.runtime(t.words)
	default:
		p.scalar(t)
	}
}

// scalar writes the parameters of a type that is not a collection and holds no
// type.
func (p *printer) scalar(t *Type) {
	switch t.kind {
	case KindBoolean:
		if t.truth != nil {
			p.item(strconv.FormatBool(*t.truth))
		}
	// A number beyond 64 bits prints as the range of that one value.
	case KindInteger:
		if t.big != nil {
			p.items([]string{t.big.String(), t.big.String()})
		}
		bounds(p, t.ints, func(n int64) string { return strconv.FormatInt(n, 10) })
	case KindFloat:
		bounds(p, t.floats, formatFloat)
	case KindTimestamp:
		bounds(p, t.times, func(at time.Time) string { return quote(FormatTimestamp(at)) })
	case KindTimespan:
		bounds(p, t.ints, func(n int64) string { return quote(FormatTimespan(time.Duration(n))) })
	case KindEnum:
		for _, w := range t.words {
			p.item(quote(w))
		}
		if t.fold {
			p.item("true")
		}
	case KindPattern, KindRegexp:
		for _, re := range t.patterns {
			p.item(re.String())
		}
	case KindSemVer:
		for _, r := range t.versions {
			p.item(quote(r.String()))
		}
	}
}

// bounds writes the bounds of a range: the upper one is left out where there is none, the
// lower one is the word default.
func bounds[T any](p *printer, s span[T], format func(T) string) {
	if s.open() {
		return
	}
	if s.lo == nil {
		p.item("default")
	} else {
		p.item(format(*s.lo))
	}
	if s.hi != nil {
		p.item(format(*s.hi))
	}
}

// size writes the bounds of a length. The lower one is always there, so a lone number is a
// lower bound.
func (p *printer) size(s *Size) {
	if s == nil {
		return
	}
	p.item(strconv.FormatInt(s.Min, 10))
	if s.Max != noLimit {
		p.item(strconv.FormatInt(s.Max, 10))
	}
}

// collection writes an Array or a Hash. The empty one has a form of its own, since its
// types do not matter.
func (p *printer) collection(t *Type) {
	switch {
	case t.size.or().empty():
		p.items([]string{"0", "0"})
	case t.size == nil && t.elem.kind == KindAny && (t.key == nil || t.key.kind == KindAny):
	case t.kind == KindHash:
		p.types(t.key, t.elem)
		p.size(t.size)
	default:
		p.types(t.elem)
		p.size(t.size)
	}
}

// inner writes the one type inside; a single string is its text. Puppet reads
// Optional['a'] as the type of that text.
func (p *printer) inner(t *Type) {
	switch {
	case t.elem == nil:
	case t.elem.value != nil && (t.kind == KindOptional || t.kind == KindNotUndef):
		p.item(quote(*t.elem.value))
	default:
		p.types(t.elem)
	}
}

// runtime writes the names of a runtime and of a type in it; Puppet puts only the second
// in quotes.
func (p *printer) runtime(words []string) {
	for i, w := range words {
		if i > 0 {
			p.item(quote(w))
			continue
		}
		p.item(nameOrQuote(w))
	}
}

// nameOrQuote writes a word without quotes where it reads back so, as Puppet does.
func nameOrQuote(w string) string {
	for part := range strings.SplitSeq(w, "::") {
		if part == "" || part[0] < 'a' || part[0] > 'z' || strings.ContainsFunc(part, func(r rune) bool { return r > 'z' || !isWord(byte(r)) }) {
			return quote(w)
		}
	}
	if slices.Contains(slices.Concat(joining, beginning, reserved), w) {
		return quote(w)
	}
	return w
}

// members writes the members of a Struct in the order in which they were given.
func (p *printer) members(t *Type) {
	if len(t.members) == 0 {
		return
	}
	p.next()
	for i, m := range t.members {
		p.b.WriteString([]string{"{", ", "}[min(i, 1)])
		p.key(m)
		p.b.WriteString(" => ")
		p.typ(m.Type)
	}
	p.b.WriteByte('}')
}

// key writes the key of a member: a value that may be undef makes it optional by
// itself.
func (p *printer) key(m Member) {
	undef := m.Type.mayBeUndef()
	switch {
	case m.Optional && !undef:
		p.b.WriteString("Optional[" + quote(m.Key) + "]")
	case !m.Optional && undef:
		p.b.WriteString("NotUndef[" + quote(m.Key) + "]")
	default:
		p.b.WriteString(quote(m.Key))
	}
}

// resource writes a reference. Types that every Puppet knows print by their own name,
// others as Resource['name'], since File[...] alone reads back.
func (p *printer) resource(t *Type) {
	switch {
	case len(t.words) == 0:
		p.b.WriteString("Resource")
	case !knownResources[t.words[0]]:
		p.list("Resource", func() {
			for _, w := range t.words {
				p.item(quote(w))
			}
		})
	default:
		p.list(capitalized(t.words[0]), func() {
			for _, title := range t.words[1:] {
				p.item(quote(title))
			}
		})
	}
}

// capitalized is the name of a resource type as a manifest writes it.
func capitalized(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// formatFloat writes a float as Ruby does: always with a fraction.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	// From here on Ruby writes an exponent, and at least one digit behind the dot.
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		return mantissa + "e" + exponent
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// quote writes a string as a Puppet literal: in single quotes, unless it has control
// characters.
func quote(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
		return quoteDouble(s)
	}
	var b strings.Builder
	b.WriteByte('\'')
	// A backslash is doubled only where it would escape the next character.
	for i := range len(s) {
		if s[i] == '\'' || s[i] == '\\' && (i+1 == len(s) || s[i+1] == '\'' || s[i+1] == '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('\'')
	return b.String()
}

// quoteDouble writes a string in double quotes, the only ones with escapes for control
// characters.
func quoteDouble(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		writeEscaped(&b, s[i])
	}
	b.WriteByte('"')
	return b.String()
}

// writeEscaped writes one byte inside of double quotes. Bytes from 0x80 on belong to a
// character and stay as they are.
func writeEscaped(b *strings.Builder, c byte) {
	switch c {
	case '"', '\\', '$':
		b.WriteByte('\\')
		b.WriteByte(c)
	case '\n':
		b.WriteString(`\n`)
	case '\r':
		b.WriteString(`\r`)
	case '\t':
		b.WriteString(`\t`)
	default:
		if c >= ' ' {
			b.WriteByte(c)
			return
		}
		fmt.Fprintf(b, `\u{%X}`, c)
	}
}
