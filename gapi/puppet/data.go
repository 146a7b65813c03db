package puppet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

// errNoYAML says that nothing here reads YAML.
// An embedder gives a reader by Options.YAML.
var errNoYAML = errors.New("this program reads no fragments of YAML")

// readData reads a fragment of a file of data.
// The text comes from a catalog, so its bounds are those of the catalog.
func readData(format, text string, yaml func([]byte) (*schema.Node, error)) (*schema.Node, error) {
	if format == "yaml" {
		if yaml == nil {
			return nil, errNoYAML
		}
		n, err := yaml([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("it is no YAML: %w", err)
		}
		return asRuby(n), nil
	}
	n, found := jsonnode.Parse([]byte(text), jsonnode.Options{What: "it is no JSON"})
	if n == nil {
		return nil, errors.New(found[0].Message)
	}
	return n, nil // of a key that is there twice, Puppet takes one too
}

// writeJSON writes a value as Ruby does.
// The pretty form has two spaces for each level, as JSON.pretty_generate.
func writeJSON(n *schema.Node, pretty bool) string {
	w := &jsonWriter{pretty: pretty}
	w.value(n, 0)
	return w.b.String()
}

// jsonWriter writes one value, and is thrown away then.
type jsonWriter struct {
	b      strings.Builder
	pretty bool
}

// value writes a node as Ruby's JSON library does, byte by byte. So a file that mgmt
// writes equals the file that Puppet has written.
func (w *jsonWriter) value(n *schema.Node, depth int) {
	switch n.Kind {
	case schema.NodeNull:
		w.b.WriteString("null")
	case schema.NodeString:
		w.b.WriteString(rubyText(n.Text))
	case schema.NodeFloat:
		w.b.WriteString(rubyFloat(n.Text))
	case schema.NodeList:
		w.many('[', ']', len(n.Items), depth, func(i int) { w.value(n.Items[i], depth+1) })
	case schema.NodeMap:
		w.many('{', '}', len(n.Pairs), depth, func(i int) {
			w.b.WriteString(rubyText(n.Pairs[i].Key))
			w.b.WriteByte(':')
			if w.pretty {
				w.b.WriteByte(' ')
			}
			w.value(n.Pairs[i].Value, depth+1)
		})
	default:
		w.b.WriteString(n.Text)
	}
}

// many writes the text in brackets. Ruby has a line for each, and an empty line in
// an empty list.
func (w *jsonWriter) many(open, end byte, count, depth int, each func(int)) {
	w.b.WriteByte(open)
	if count == 0 && open == '[' {
		w.line(-1)
	}
	for i := range count {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.line(depth + 1)
		each(i)
	}
	w.line(depth)
	w.b.WriteByte(end)
}

// line begins a line where the JSON is pretty; the compact form has none.
func (w *jsonWriter) line(depth int) {
	if w.pretty {
		w.b.WriteByte('\n')
		w.b.WriteString(strings.Repeat("  ", max(depth, 0)))
	}
}

// rubyText writes a text as JSON. Nothing is escaped that need not be.
// Only quotes, the backslash and control characters need an escape; a slash and other alphabets
// stay.
func rubyText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch short := strings.IndexRune("\"\\\b\f\n\r\t", c); {
		case short >= 0:
			b.WriteString(`\` + `"\bfnrt`[short:short+1])
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// rubyFloat writes a number with a fraction. Ruby writes a number from 1e-4 to 1e16 with a
// point, and any other with an exponent of two digits.
func rubyFloat(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	if a := max(f, -f); a != 0 && (a < 1e-4 || a >= 1e16) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		mantissa, exp, _ := strings.Cut(s, "e")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		return mantissa + "e" + exp
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
