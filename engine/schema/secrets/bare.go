package secrets

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// mapped is a text, and where each of its bytes comes from.
type mapped struct {
	text     []byte
	from, to []int32 // nil where each byte comes from its own place
}

func (m *mapped) start(i int) int32 {
	if m.from == nil {
		return int32(i)
	}
	return m.from[i]
}

func (m *mapped) end(i int) int32 {
	if m.to == nil {
		return int32(i) + 1
	}
	return m.to[i]
}

// maxReadings bounds how often a text is read that is quoted again and again.
const maxReadings = 12

// bareOf returns a text with all escapes read, and then without quotes, backslashes and
// blanks. With where, it also says where each byte comes from.
func bareOf(s string, where bool) *mapped {
	m := &mapped{text: []byte(s)}
	for range maxReadings {
		next := m.room(where)
		if !m.read(next, where) {
			break
		}
		m = next
	}
	out := m.room(where)
	for i, c := range m.text {
		if !isFrill[c] {
			out.put(m, c, i, i, where)
		}
	}
	return out
}

// isBare reports whether a text has nothing that would be read or left out.
func isBare(s string) bool {
	for i := range len(s) {
		if mayEscape[s[i]] || isFrill[s[i]] {
			return false
		}
	}
	return true
}

// room returns an empty text that has room for all of m.
func (m *mapped) room(where bool) *mapped {
	out := &mapped{text: make([]byte, 0, len(m.text))}
	if where {
		out.from, out.to = make([]int32, 0, len(m.text)), make([]int32, 0, len(m.text))
	}
	return out
}

// read reads the escapes of a text once, and reports whether there were any.
func (m *mapped) read(out *mapped, where bool) bool {
	if !slices.ContainsFunc(m.text, func(c byte) bool { return mayEscape[c] }) {
		return false
	}
	escapes := false
	var wide [utf8.UTFMax]byte
	for i := 0; i < len(m.text); {
		if c := m.text[i]; !mayEscape[c] {
			out.put(m, c, i, i, where)
			i++
			continue
		}
		got, n := unit(m.text[i:], wide[:0])
		escapes = escapes || len(got) != n
		for _, c := range got {
			out.put(m, c, i, i+n-1, where)
		}
		i += n
	}
	return escapes
}

// put appends a byte that the bytes of another one from first to last stand for.
func (m *mapped) put(of *mapped, c byte, first, last int, where bool) {
	m.text = append(m.text, c)
	if where {
		m.from, m.to = append(m.from, of.start(first)), append(m.to, of.end(last))
	}
}

var (
	mayEscape = table(func(c byte) bool { return c == '\\' || c == '%' || c == '&' || c >= utf8.RuneSelf })
	inEscape  = table(func(c byte) bool { return strings.IndexByte("#xXuU{0123456789abcdefABCDEF", c) >= 0 })
	isFrill   = table(func(c byte) bool { return c <= ' ' || c == 0x7f || strings.IndexByte("'\"`$+%;\\", c) >= 0 })
)

func table(has func(byte) bool) (t [256]bool) {
	for c := range t {
		t[c] = has(byte(c))
	}
	return t
}

// unit reads the first character of a text, or the first escape. It appends its
// meaning to buf, and returns how long it was.
func unit(s, buf []byte) ([]byte, int) {
	switch c := s[0]; {
	case c == '\\':
		return backslash(s, buf)
	case c == '%':
		if b, ok := number(s[1:], 2, 16); ok {
			return append(buf, byte(b)), 3
		}
	case c == '&':
		return entity(s, buf)
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRune(s)
		if r == utf8.RuneError && n == 1 { // as some languages write it
			return utf8.AppendRune(buf, rune(c)), 1
		}
		return append(buf, s[:n]...), n
	}
	return append(buf, s[0]), 1
}

// number reads exactly digits digits.
func number(s []byte, digits, base int) (uint64, bool) {
	if len(s) < digits {
		return 0, false
	}
	x, err := strconv.ParseUint(string(s[:digits]), base, 32)
	return x, err == nil
}

// backslash reads an escape that begins with one.
func backslash(s, buf []byte) ([]byte, int) {
	if len(s) == 1 {
		return append(buf, s[0]), 1
	}
	switch c := s[1]; c {
	case 'a', 'b', 'e', 'E', 'f', 'n', 'r', 't', 'v':
		return append(buf, ' '), 2
	case 'x', 'u', 'U':
		if r, n := coded(s); n > 0 {
			if c == 'x' && r < 256 {
				return append(buf, byte(r)), n
			}
			return utf8.AppendRune(buf, r), n
		}
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := 1
		for n < min(4, len(s)) && s[n] >= '0' && s[n] <= '7' {
			n++
		}
		x, _ := number(s[1:n], n-1, 8)
		return append(buf, byte(x)), n
	default:
		if c < utf8.RuneSelf && c > ' ' && !isWord(c) {
			return append(buf, c), 2
		}
	}
	return append(buf, s[0]), 1
}

func isWord(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// coded reads \xHH, \uHHHH, \UHHHHHHHH and \x{H}, \u{H}; the length is 0 if it is none.
func coded(s []byte) (rune, int) {
	if len(s) > 2 && s[2] == '{' {
		end := slices.Index(s[:min(len(s), 12)], '}')
		if end < 4 {
			return 0, 0
		}
		x, ok := number(s[3:end], end-3, 16)
		return rune(x), whenever(ok, end+1)
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
	x, ok := number(s[2:], digits, 16)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(rune(x)) && len(s) > 7 && s[6] == '\\' && s[7] == 'u' {
		if low, ok := number(s[8:], 4, 16); ok {
			return utf16.DecodeRune(rune(x), rune(low)), 12
		}
	}
	return rune(x), 2 + digits
}

func whenever(ok bool, n int) int {
	if ok {
		return n
	}
	return 0
}

// entity reads a character of HTML or XML.
func entity(s, buf []byte) ([]byte, int) {
	end := slices.Index(s[:min(len(s), 12)], ';')
	if end < 2 {
		return append(buf, '&'), 1
	}
	text := string(s[:end+1])
	read := html.UnescapeString(text)
	r, n := utf8.DecodeRuneInString(read)
	if read == text || n != len(read) {
		return append(buf, '&'), 1
	}
	return utf8.AppendRune(buf, r), end + 1
}
