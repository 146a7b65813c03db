package graph

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// DrawOptions steers WriteDOT, WriteMermaid and WriteCytoscape. The zero value
// draws every edge, and every vertex as a plain box with its id in it.
//
// In all three an edge that notifies is thick, an implied one dashed, and an
// edge with a name carries it. Output depends only on the graph and the options.
type DrawOptions struct {
	// Reduce leaves out the edges that only repeat a longer path (see
	// Graph.Reduction). Edges that notify or are implied stay, as they say more.
	// A graph with a cycle is drawn whole.
	Reduce bool

	// Direction is where edges lead: "TB" (the default), "BT", "LR" or "RL".
	// Anything else counts as "TB". Cytoscape lays out by itself and ignores it.
	Direction string

	// Style returns how vertex i looks. It is called once for each, in order. Nil
	// means that all look plain.
	Style func(i int) Style

	// Looks has the colours of classes that Style gives out. A class that is not
	// here is written all the same, for a style sheet to use. Where a vertex has
	// several, a later class wins.
	Looks map[string]Look
}

// Style is how one vertex looks.
type Style struct {
	// Label is shown in place of the id, unless it is empty. It may have several
	// lines.
	Label string

	// Classes are words such as "ok" or "kind-file". Characters other than ASCII
	// letters, digits, "-" and "_" become "_". A class that is empty, begins with
	// a digit or "-", or is a word of Mermaid's own, gets a "_" before it.
	Classes []string

	// Attributes are written as attributes of the node in DOT (where they win over
	// a Look) and as data of the node in Cytoscape JSON; Mermaid has no place for
	// them. They can't replace the drawing's own attributes: "label" and
	// "class" in DOT, "id", "parent" and "label" in Cytoscape.
	Attributes map[string]string
}

// Look is the colours of a class, each as "#rrggbb" or a name that both SVG and
// CSS know. Empty means the default of the program that draws.
type Look struct{ Fill, Stroke, Text string }

// The colours of edges that notify, and of implied ones.
const (
	notifyColor  = "#b45309"
	impliedColor = "#64748b"
)

// The classes of edges.
const (
	notifyClass  = "notify"
	impliedClass = "implied"
)

// edgeClass returns the class of an edge, or nothing if it is plain. An edge that
// notifies counts as such even if it is implied.
func edgeClass(e Edge) string {
	switch {
	case e.Notify:
		return notifyClass
	case e.Implied:
		return impliedClass
	}
	return ""
}

// style returns the style of vertex i with its label and classes cleaned.
func (o *DrawOptions) style(i int, id string) Style {
	var s Style
	if o.Style != nil {
		s = o.Style(i)
	}
	if s.Label == "" {
		s.Label = id
	}
	s.Label = visible(s.Label)
	classes := make([]string, len(s.Classes))
	for c, name := range s.Classes {
		classes[c] = className(name)
	}
	s.Classes = classes
	return s
}

// looks yields the options' looks by class, in one order and with clean names.
func (o *DrawOptions) looks() iter.Seq2[string, Look] {
	return func(yield func(string, Look) bool) {
		for _, name := range slices.Sorted(maps.Keys(o.Looks)) {
			if !yield(className(name), cleanLook(o.Looks[name])) {
				return
			}
		}
	}
}

// look merges the looks of a vertex's clean classes.
func look(looks map[string]Look, classes []string) Look {
	var l Look
	for _, c := range classes {
		k := looks[c]
		l.Fill = lastSet(l.Fill, k.Fill)
		l.Stroke = lastSet(l.Stroke, k.Stroke)
		l.Text = lastSet(l.Text, k.Text)
	}
	return l
}

func lastSet(a, b string) string {
	if b != "" {
		return b
	}
	return a
}

// direction returns a valid Direction.
func (o *DrawOptions) direction() string {
	switch o.Direction {
	case "BT", "LR", "RL":
		return o.Direction
	}
	return "TB"
}

// drawn yields the edges to draw.
func drawn[V any](g *Graph[V], o *DrawOptions) iter.Seq[Edge] {
	l := g.read()
	if !o.Reduce || !l.sorted() {
		return g.Edges()
	}
	spare, _ := l.redundant(reduceBudget)
	return func(yield func(Edge) bool) {
		for k := range l.succ {
			e := g.edge(l, int32(k))
			if spare.has(k) && edgeClass(e) == "" {
				continue
			}
			if !yield(e) {
				return
			}
		}
	}
}

// className turns any string into a name that DOT, CSS and Mermaid take.
func className(s string) string {
	clean := strings.Map(func(r rune) rune {
		if isLetter(r) || '0' <= r && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
	if clean == "" || !isLetter(rune(clean[0])) && clean[0] != '_' || isMermaidWord(clean) {
		return "_" + clean
	}
	return clean
}

// isMermaidWord reports whether Mermaid's flowchart grammar takes a word for
// something other than the name of a class.
func isMermaidWord(s string) bool {
	switch strings.ToLower(s) {
	case "call", "class", "classdef", "click", "default", "direction", "end", "flowchart",
		"graph", "href", "interpolate", "linkstyle", "style", "subgraph":
		return true
	}
	return false
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// cleanLook drops values that can't be a colour, so that none can end a statement.
func cleanLook(l Look) Look {
	return Look{cleanColor(l.Fill), cleanColor(l.Stroke), cleanColor(l.Text)}
}

func cleanColor(s string) string {
	if strings.ContainsFunc(strings.TrimPrefix(s, "#"), func(r rune) bool {
		return !isLetter(r) && (r < '0' || r > '9')
	}) {
		return ""
	}
	return s
}

// visible returns text as a person should see it: characters that do not print, and
// bytes outside of UTF-8, as Go would write them in a string; new lines stay.
// Nothing at all becomes a pair of quotes.
func visible(s string) string {
	if s == "" {
		return `""`
	}
	var b strings.Builder
	for len(s) > 0 {
		r, rest := nextRune(s)
		if r == "\n" || isPrint(r) {
			b.WriteString(r)
		} else {
			q := quoteDOT(r)
			b.WriteString(q[1 : len(q)-1])
		}
		s = rest
	}
	return b.String()
}
