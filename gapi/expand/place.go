package expand

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// locate returns the place in a source of an offset in the text of a scalar. The scalar begins at a place. Its style may be any,
// so the text and the source differ by quotes, escapes, folds and indents. The marks of expressions are the same in both: the offset is looked for
// behind the last mark before it.
func locate(src []byte, begin schema.Pos, text string, at int) schema.Pos {
	raw, ok := indexOf(src, begin)
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
		return posOf(src, begin.File, raw-len(expr.Open))
	}
	return posOf(src, begin.File, follow(src, raw, text[mark+len(expr.Open):at]))
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

// indexOf returns the offset of a place.
func indexOf(src []byte, p schema.Pos) (int, bool) {
	at := 0
	for range p.Line - 1 {
		n := bytes.IndexByte(src[at:], '\n')
		if n < 0 {
			return 0, false
		}
		at += n + 1
	}
	for range p.Col - 1 {
		if at >= len(src) {
			return 0, false
		}
		_, size := utf8.DecodeRune(src[at:])
		at += size
	}
	return at, p.Line > 0
}

// posOf returns the place of an offset.
func posOf(src []byte, file string, at int) schema.Pos {
	before := src[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return schema.Pos{File: file, Line: int32(bytes.Count(before, []byte("\n")) + 1), Col: int32(utf8.RuneCount(before[start:]) + 1)}
}
