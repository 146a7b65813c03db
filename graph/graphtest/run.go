package graphtest

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
	"pgregory.net/rapid"
)

// Run checks a way of building graphs: on random specifications the graph must
// keep every law and be what the specification says, with its vertices in the
// order of the specification. It starts subtests.
// A failing specification is made smaller by rapid, and printed with a seed that repeats
// it.
func Run[V any](t *testing.T, build func(tb TB, s Spec) *graph.Graph[V]) {
	t.Helper()
	for name, shape := range map[string]Shape{"acyclic": {Acyclic: true}, "any": {}, "sparse": {Vertices: 30, Edges: 30}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := Draw(t, shape)
				g := build(t, s)
				Check(t, g)
				CheckSpec(t, g, s)
			})
		})
	}
}

// CheckSpec checks that a graph has the vertices and the declared edges of a
// specification and no others.
// Declarations of one edge keep their order, because messages name them in it.
func CheckSpec[V any](tb TB, g *graph.Graph[V], s Spec) {
	tb.Helper()
	var ids []string
	for _, id := range g.IDs() {
		ids = append(ids, id)
	}
	if !slices.Equal(ids, s.IDs) {
		tb.Errorf("the ids are %q, want %q", ids, s.IDs)
	}
	declared := map[[2]int][]graph.Edge{}
	for _, e := range s.Edges {
		p := [2]int{e.From, e.To}
		declared[p] = append(declared[p], e)
	}
	if len(declared) != g.EdgeCount() {
		tb.Errorf("EdgeCount() = %d, want %d", g.EdgeCount(), len(declared))
	}
	for p, want := range declared {
		if got := slices.Collect(g.Declarations(p[0], p[1])); !slices.Equal(got, want) {
			tb.Errorf("the edge %v was declared as %+v, want %+v", p, got, want)
		}
	}
}
