package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteMermaid draws the graph as a Mermaid flowchart. Nodes are named n0, n1 and
// so on by index, as Mermaid takes no other names; the ids are their labels. It
// returns the first error of w.
func (g *Graph[V]) WriteMermaid(w io.Writer, o DrawOptions) error {
	b := bufio.NewWriter(w)
	if g.Name != "" {
		fmt.Fprintf(b, "---\ntitle: %s\n---\n", yamlString(g.Name))
	}
	fmt.Fprintf(b, "flowchart %s\n", o.direction())
	for i, id := range g.ids {
		s := o.style(i, id)
		fmt.Fprintf(b, "  n%d[\"%s\"]\n", i, mermaidText(s.Label))
		for _, c := range s.Classes {
			fmt.Fprintf(b, "  class n%d %s\n", i, c)
		}
	}
	g.mermaidEdges(b, &o)
	for class, l := range o.looks() {
		if def := mermaidLook(l); def != "" {
			fmt.Fprintf(b, "  classDef %s %s\n", class, def)
		}
	}
	return b.Flush()
}

// mermaidEdges writes the edges, and after them the colours of those with a look:
// Mermaid names edges by their number in the text.
func (g *Graph[V]) mermaidEdges(b *bufio.Writer, o *DrawOptions) {
	count, numbers := 0, map[string][]string{}
	for e := range drawn(g, o) {
		class := edgeClass(e)
		label := ""
		if e.Name != "" {
			label = `|"` + mermaidText(visible(e.Name)) + `"|`
		}
		fmt.Fprintf(b, "  n%d %s%s n%d\n", e.From, mermaidArrow(class), label, e.To)
		if class != "" {
			numbers[class] = append(numbers[class], fmt.Sprint(count))
		}
		count++
	}
	for _, c := range [...]struct{ class, color string }{{notifyClass, notifyColor}, {impliedClass, impliedColor}} {
		if n := numbers[c.class]; n != nil {
			fmt.Fprintf(b, "  linkStyle %s stroke:%s\n", strings.Join(n, ","), c.color)
		}
	}
}

func mermaidArrow(class string) string {
	switch class {
	case notifyClass:
		return "==>"
	case impliedClass:
		return "-.->"
	}
	return "-->"
}

// mermaidText writes text as it may stand between quotes: Mermaid reads a "#" as
// the beginning of a character's name, and the rest as Markdown and HTML. A mark
// that begins a list in Markdown is hidden at the start of a line only.
func mermaidText(s string) string {
	var b strings.Builder
	start := true
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("<br/>")
		case strings.ContainsRune("\"#&<>`*_\\~", r), start && strings.ContainsRune("-+.)", r):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
		start = r == '\n' || start && (r == ' ' || '0' <= r && r <= '9')
	}
	return b.String()
}

// yamlString quotes text for the title, in the form that YAML shares with JSON.
func yamlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func mermaidLook(l Look) string {
	var parts []string
	for _, p := range [...]struct{ key, value string }{{"fill", l.Fill}, {"stroke", l.Stroke}, {"color", l.Text}} {
		if p.value != "" {
			parts = append(parts, p.key+":"+p.value)
		}
	}
	return strings.Join(parts, ",")
}
