package graphtest

import (
	"fmt"

	"github.com/reactivegraph/mgmt/graph"
	"pgregory.net/rapid"
)

// TB is the part of testing.TB that the checks need.
// It is small so that *rapid.T fits, which lacks other methods of testing.TB.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Spec is what a graph is to be built from: ids of vertices, all different, and
// declared edges between their indices, none from a vertex to itself. The same
// pair may be declared more than once.
type Spec struct {
	IDs   []string
	Edges []graph.Edge
}

// Build builds the graph with each vertex's index as its value.
// A specification that the graph refuses fails the test at once.
func (s Spec) Build(tb TB) *graph.Graph[int] {
	tb.Helper()
	g := graph.New[int]("spec")
	for i, id := range s.IDs {
		if _, err := g.Add(id, i); err != nil {
			tb.Fatalf("Add(%q): %v", id, err)
		}
	}
	for _, e := range s.Edges {
		if err := g.Connect(e); err != nil {
			tb.Fatalf("Connect(%+v): %v", e, err)
		}
	}
	return g
}

// Shape bounds the specifications that Draw makes.
// The zero value is a small graph that may have cycles.
type Shape struct {
	Vertices int  // at most that many; 0 means 12
	Edges    int  // at most that many declarations; 0 means 3 times the vertices
	Acyclic  bool // no cycles, in an order that has nothing to do with the indices
}

// Draw makes a random specification.
// All choices are drawn from t, so rapid can repeat and shrink them.
func Draw(t *rapid.T, s Shape) Spec {
	if s.Vertices == 0 {
		s.Vertices = 12
	}
	if s.Edges == 0 {
		s.Edges = 3 * s.Vertices
	}
	spec := Spec{IDs: rapid.SliceOfNDistinct(ids, 0, s.Vertices, rapid.ID).Draw(t, "ids")}
	if len(spec.IDs) < 2 {
		return spec
	}
	order := rapid.Permutation(upTo(len(spec.IDs))).Draw(t, "order")
	for range rapid.IntRange(0, s.Edges).Draw(t, "edges") {
		spec.Edges = append(spec.Edges, drawEdge(t, order, s.Acyclic))
	}
	return spec
}

// Skipping a leaves no edge from a vertex to itself.
func drawEdge(t *rapid.T, order []int, acyclic bool) graph.Edge {
	a := rapid.IntRange(0, len(order)-1).Draw(t, "a")
	b := rapid.IntRange(0, len(order)-2).Draw(t, "b")
	if b >= a {
		b++
	}
	if acyclic && a > b {
		a, b = b, a
	}
	return graph.Edge{
		From: order[a], To: order[b],
		Name:    rapid.SampledFrom([]string{"", "e1", `"` + "\n"}).Draw(t, "name"),
		Pos:     rapid.SampledFrom([]string{"", "g.yaml:1:2"}).Draw(t, "pos"),
		Notify:  rapid.Bool().Draw(t, "notify"),
		Implied: rapid.Bool().Draw(t, "implied"),
	}
}

// ids makes ids like those of resources, and a few that are hard to print, quote
// or tell apart.
var ids = rapid.OneOf(
	rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("file[/%s]", rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "path"))
	}),
	rapid.SampledFrom(Awkward()),
	rapid.String(),
)

// Awkward returns ids that a drawing or a message can easily get wrong. They are
// all different.
// They have quotes, control characters, bytes outside of UTF-8, and words of the
// notations of drawings.
func Awkward() []string {
	return []string{
		"", " ", `"`, `""`, `\`, `\"`, `a\`, "a\nb", `a\nb`, "\r\n", "\t", "\x00", "\x1b[31m", "\xff", "\xfe", "\uFFFD",
		"exec[a \"quoted\" name]", "file[/etc/x]", "file[a]b]", "n0", "node", "digraph", "end", "<b>bold</b>", `"<b>"`,
		"&amp;", "#35;", "#quot;", "`code`", "*a*", "a -> b", "a|b", "{}", "--", "%%", "1. one", "- two", ";", "größe", "日本", "\u200b", "\u202eabc", "😀",
	}
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
