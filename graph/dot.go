package graph

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/graph/encoding"
)

// WriteDOT draws the graph in Graphviz's language. The nodes are named by the
// vertices' ids, quoted as Go does it, so no two coincide and a reader that undoes
// Go's quoting has the ids back. It returns the first error of w.
func (g *Graph[V]) WriteDOT(w io.Writer, o DrawOptions) error {
	b := bufio.NewWriter(w)
	b.WriteString("strict digraph " + g.DOTID() + " {\n")
	b.WriteString("  rankdir=" + o.direction() + ";\n")
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n")
	looks := maps.Collect(o.looks())
	for i, id := range g.ids {
		b.WriteString("  " + quoteDOT(id))
		writeAttributes(b, dotAttributes(o.style(i, id), looks))
	}
	for e := range drawn(g, &o) {
		b.WriteString("  " + quoteDOT(g.ids[e.From]) + " -> " + quoteDOT(g.ids[e.To]))
		writeAttributes(b, edgeAttributes(e))
	}
	b.WriteString("}\n")
	return b.Flush()
}

// dotAttributes returns the attributes of a node in a fixed order.
func dotAttributes(s Style, looks map[string]Look) []encoding.Attribute {
	a := []encoding.Attribute{{Key: "label", Value: s.Label}}
	add := func(key, value string) {
		if _, own := s.Attributes[key]; value != "" && !own {
			a = append(a, encoding.Attribute{Key: key, Value: value})
		}
	}
	l := look(looks, s.Classes)
	add("fillcolor", l.Fill)
	add("color", l.Stroke)
	add("fontcolor", l.Text)
	if len(s.Classes) > 0 {
		a = append(a, encoding.Attribute{Key: "class", Value: strings.Join(s.Classes, " ")})
	}
	for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
		if key != "label" && key != "class" {
			a = append(a, encoding.Attribute{Key: key, Value: s.Attributes[key]})
		}
	}
	return a
}

// edgeAttributes returns the attributes of an edge in a fixed order.
func edgeAttributes(e Edge) []encoding.Attribute {
	var a []encoding.Attribute
	switch edgeClass(e) {
	case notifyClass:
		a = append(a,
			encoding.Attribute{Key: "style", Value: "bold"},
			encoding.Attribute{Key: "color", Value: notifyColor},
			encoding.Attribute{Key: "class", Value: notifyClass})
	case impliedClass:
		a = append(a,
			encoding.Attribute{Key: "style", Value: "dashed"},
			encoding.Attribute{Key: "color", Value: impliedColor},
			encoding.Attribute{Key: "class", Value: impliedClass})
	}
	if e.Name != "" {
		a = append(a, encoding.Attribute{Key: "label", Value: visible(e.Name)})
	}
	return a
}

// writeAttributes writes an attribute list and ends the statement. After
// visible, Go's quoting escapes just what DOT wants escaped: quotes, backslashes
// and new lines. In a label Graphviz also reads entities such as &lt;, so an & is
// written as one.
func writeAttributes(b *bufio.Writer, attributes []encoding.Attribute) {
	for i, a := range attributes {
		if i == 0 {
			b.WriteString(" [")
		} else {
			b.WriteString(", ")
		}
		value := visibleValue(a.Value)
		if a.Key == "label" {
			value = strings.ReplaceAll(value, "&", "&amp;")
		}
		b.WriteString(dotKey(a.Key) + "=" + quoteDOT(value))
	}
	if len(attributes) > 0 {
		b.WriteByte(']')
	}
	b.WriteString(";\n")
}

// dotKey returns an attribute's name, quoted if it is not a plain word.
func dotKey(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isLetter(r) && r != '_' })
	switch strings.ToLower(s) {
	case "node", "edge", "graph", "digraph", "subgraph", "strict":
		plain = false
	}
	if plain {
		return s
	}
	return quoteDOT(s)
}

// quoteDOT returns a quoted string. It is Go's quoting, which no two texts share,
// but for the replacement character, which gonum's parser refuses as it stands.
func quoteDOT(s string) string {
	return strings.ReplaceAll(strconv.Quote(s), string(utf8.RuneError), `\ufffd`)
}

func visibleValue(s string) string {
	if s == "" {
		return ""
	}
	return visible(s)
}

// nextRune splits off the first character, or the first byte that is not part
// of one.
func nextRune(s string) (char, rest string) {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n], s[n:]
}

// isPrint reports whether a string of one character prints as itself.
func isPrint(char string) bool {
	r, _ := utf8.DecodeRuneInString(char)
	return r != utf8.RuneError && strconv.IsPrint(r)
}
