package toml

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Looks reports whether a text without a name begins with a header or a key of TOML. No graph in YAML begins so.
func Looks(src []byte) bool { return newReader("", src).parser.NextExpression() }

// Format returns a document with one space on each side of an equals sign, none before keys and headers and at the ends of lines, and one blank
// line where there were several. Values, comments and the order stay. The error is schema.Diagnostics.
func Format(src []byte) ([]byte, error) {
	if _, ds := Document("", src); ds.Err() != nil {
		return nil, ds
	}
	r := newReader("", src)
	r.src = slices.Concat([]byte("\n"), r.src, []byte("\n")) // so that each line has a beginning and an end
	r.parser.Reset(r.src)
	out, at := &bytes.Buffer{}, 0
	for r.parser.NextExpression() {
		n := r.parser.Expression()
		keys := keysOf(n)
		first, last := keys[0], keys[len(keys)-1]
		begin, open := int(first.Raw.Offset), 0
		if n.Kind != unstable.KeyValue {
			begin = r.bracket(first)
			open = bytes.Count(r.src[begin:first.Raw.Offset], []byte("["))
		}
		between(out, r.src[at:begin])
		out.WriteString(strings.Repeat("[", open))
		out.Write(r.src[first.Raw.Offset:end(last)])
		if at = r.skip(end(last)) + open; open > 0 {
			out.WriteString(strings.Repeat("]", open))
			continue
		}
		out.WriteString(" = ")
		out.Write(r.src[r.skip(at+1):end(n)])
		at = end(n)
	}
	between(out, r.src[at:])
	return append(bytes.Trim(out.Bytes(), "\n"), '\n'), nil
}

// between writes what stands before the next header or key. The first line is the rest of the one before, and keeps its distance.
func between(out *bytes.Buffer, text []byte) {
	blank, lines := false, strings.Split(string(text), "\n")
	for i, line := range lines[:len(lines)-1] {
		if line = strings.TrimRight(line, " \t"); i > 0 {
			if line = strings.TrimLeft(line, " \t"); blank && line == "" {
				continue
			}
			blank = line == ""
		}
		out.WriteString(line + "\n")
	}
}
