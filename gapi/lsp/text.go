package lsp

import (
	"net/url"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// text is a document with the offsets of its lines. It is immutable.
type text struct {
	src   string
	lines []int // the offset of each line
}

// newText indexes the lines of a source. It costs one pass, for each edit anew.
func newText(src string) *text {
	t := &text{src: src, lines: []int{0}}
	for i := range len(src) {
		// A carriage return ends a line, too, and the two together end one.
		if src[i] == '\n' || src[i] == '\r' && (i+1 == len(src) || src[i+1] != '\n') {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns a line without its end. It is empty behind the last line.
func (t *text) line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	end := len(t.src)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	return strings.TrimRight(t.src[t.lines[n]:end], "\r\n")
}

// offset returns the byte at a position of the protocol. The protocol says that a position behind the end of a line is that
// end. A line behind the last one is the end of the text.
func (t *text) offset(p position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(t.lines):
		return len(t.src)
	}
	line, units := t.line(p.Line), 0
	for i, r := range line {
		if units >= p.Character {
			return t.lines[p.Line] + i
		}
		units += utf16Len(r)
	}
	return t.lines[p.Line] + len(line)
}

// position returns the place of a byte in the units of the protocol.
func (t *text) position(offset int) position {
	offset = max(0, min(offset, len(t.src)))
	n := sort.SearchInts(t.lines, offset+1) - 1
	units := 0
	for _, r := range t.src[t.lines[n]:offset] {
		units += utf16Len(r)
	}
	return position{n, units}
}

// offsetOf returns the byte at a place of a finding, which counts characters from 1.
func (t *text) offsetOf(p schema.Pos) int {
	n := int(p.Line) - 1
	if n < 0 {
		return 0
	}
	if n >= len(t.lines) {
		return len(t.src)
	}
	line, chars := t.line(n), int(p.Col)-1
	for i := range line {
		if chars <= 0 {
			return t.lines[n] + i
		}
		chars--
	}
	return t.lines[n] + len(line)
}

// span returns the part between two bytes.
func (t *text) span(from, to int) span { return span{t.position(from), t.position(to)} }

// edited returns the text after a change of the protocol. A change without a range is the whole new text. A range that ends before its
// beginning counts as empty, since a fault of the client must not end the server.
func (t *text) edited(c contentChange) *text {
	if c.Range == nil {
		return newText(c.Text)
	}
	from, to := t.offset(c.Range.Start), t.offset(c.Range.End)
	return newText(t.src[:from] + c.Text + t.src[max(from, to):])
}

// utf16Len is how many units a character takes. An invalid byte counts as the one character that replaces it.
func utf16Len(r rune) int {
	if r > 0xffff && r != utf8.RuneError {
		return 2
	}
	return 1
}

// word returns the part of a line that a finding at an offset is about. A finding has the place of a beginning, and editors underline up to an
// end. The part is a quoted scalar, a name in an expression, or a plain scalar.
func (t *text) word(offset int) (from, to int) {
	n := sort.SearchInts(t.lines, offset+1) - 1
	end := t.lines[n] + len(t.line(n))
	rest := t.src[offset:max(offset, end)]
	if rest == "" {
		return offset, offset
	}
	if q := rest[0]; q == '"' || q == '\'' {
		if i := strings.IndexByte(rest[1:], q); i >= 0 {
			return offset, offset + i + 2
		}
	}
	// Findings about expressions begin at a name or an operator inside of the scalar.
	if size := wordLen(rest); size > 0 && inExpression(t.src[t.lines[n]:offset]) {
		return offset, offset + size
	}
	return offset, offset + max(1, plainLen(rest))
}

// wordLen is how many bytes at the beginning of a text are a name.
func wordLen(s string) int {
	return len(s) - len(strings.TrimLeftFunc(s, isNameRune))
}

// isNameRune reports whether a character may stand in a name of an expression. Other letters than those of ASCII may not.
func isNameRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// plainLen is how many bytes at the beginning of a text are one plain scalar of YAML, or a key.
func plainLen(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ':' && (i+1 == len(s) || s[i+1] == ' '), c == '#' && i > 0 && s[i-1] == ' ':
			return len(strings.TrimRight(s[:i], " "))
		case (c == ',' || c == ']' || c == '}') && (i+1 == len(s) || strings.IndexByte(" ,]}", s[i+1]) >= 0):
			return i
		}
	}
	return len(strings.TrimRight(s, " "))
}

// inExpression reports whether a line up to the cursor has an expression that goes on.
func inExpression(before string) bool {
	return strings.LastIndex(before, "${{") > strings.LastIndex(before, "}}")
}

// pathOf returns the path of a file from its URI. It is empty for another scheme: a document that was never saved has no path.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	path := u.Path
	if len(path) > 2 && path[2] == ':' { // /C:/graph.yaml
		path = path[1:]
	}
	return filepath.Clean(filepath.FromSlash(path))
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
