package expand

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// locate returns the place in a source of an offset in the text of a scalar. The scalar begins at a place. Its style may be any,
// so the text and the source differ by quotes, escapes, folds and indents. The marks of expressions are the same in both: the offset is looked for
// behind the last mark before it.
func (d *Document) locate(begin schema.Pos, text string, at int) schema.Pos {
	src := d.Src
	raw, ok := d.indexOf(begin)
	if !ok {
		return begin
	}
	mark := strings.LastIndex(text[:at], expr.Open)
	if mark < 0 && strings.HasPrefix(text[at:], expr.Open) {
		mark = at
	}
	if mark < 0 {
		return begin
	}
	for range strings.Count(text[:mark], expr.Open) + 1 {
		n := bytes.Index(src[raw:], []byte(expr.Open))
		if n < 0 {
			return begin
		}
		raw += n + len(expr.Open)
	}
	if at == mark {
		return d.posOf(raw - len(expr.Open))
	}
	return d.posOf(follow(src, raw, text[mark+len(expr.Open):at]))
}

// follow returns the offset in a source behind some characters of a scalar, whose first one is at raw.
func follow(src []byte, raw int, text string) int {
	for _, c := range text {
		raw = skipFold(src, raw, c)
		switch {
		case raw >= len(src):
			return len(src)
		case src[raw] == '\\' && c != '\\', bytes.HasPrefix(src[raw:], []byte(`\\`)):
			raw += escapeLen(src[raw:])
		case c == '\'' && bytes.HasPrefix(src[raw:], []byte("''")):
			raw += 2
		default:
			r, size := utf8.DecodeRune(src[raw:])
			for r == ' ' && c != ' ' { // the indent of a block
				raw++
				r, size = utf8.DecodeRune(src[raw:])
			}
			if r == c {
				raw += size
			}
		}
	}
	return skipFold(src, raw, 'x')
}

// skipFold goes over the end of a line and the indent of the next one, where a scalar is folded. For the character of the end itself, it goes
// to the beginning of the next line's text.
func skipFold(src []byte, raw int, c rune) int {
	end := raw
	for end < len(src) && (src[end] == ' ' || src[end] == '\t') {
		end++
	}
	if end >= len(src) || src[end] != '\n' && src[end] != '\r' {
		return raw
	}
	if c == ' ' || c == '\n' {
		return end // the end of the line is the character: the default branch of follow may leave it, and the next call skips it
	}
	for end < len(src) && bytes.IndexByte([]byte(" \t\r\n"), src[end]) >= 0 {
		end++
	}
	return end
}

// escapeLen is the length of an escape of a text in double quotes.
func escapeLen(src []byte) int {
	if len(src) < 2 {
		return len(src)
	}
	return min(len(src), map[byte]int{'x': 4, 'u': 6, 'U': 10}[src[1]]|2)
}

// lineAt returns the offset of a line, which counts from 1.
func (d *Document) lineAt(line int) (int, bool) {
	if d.lines == nil {
		d.lines = []int{0}
		for i, c := range d.Src {
			if c == '\n' {
				d.lines = append(d.lines, i+1)
			}
		}
	}
	if line < 1 || line > len(d.lines) {
		return 0, false
	}
	return d.lines[line-1], true
}

// indexOf returns the offset of a place.
func (d *Document) indexOf(p schema.Pos) (int, bool) {
	at, ok := d.lineAt(int(p.Line))
	for range p.Col - 1 {
		if at >= len(d.Src) {
			return 0, false
		}
		_, size := utf8.DecodeRune(d.Src[at:])
		at += size
	}
	return at, ok
}

// posOf returns the place of an offset.
func (d *Document) posOf(at int) schema.Pos {
	d.lineAt(1)
	line, exact := slices.BinarySearch(d.lines, at)
	if exact {
		line++
	}
	start := d.lines[line-1]
	return schema.Pos{File: d.File, Line: int32(line), Col: int32(utf8.RuneCount(d.Src[start:at]) + 1)}
}
