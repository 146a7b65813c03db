package graph_test

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
)

// TestDeclaredEnds: the ends come as the declarations do, with what the engine reads in them and in the same order.
func TestDeclaredEnds(t *testing.T) {
	g := graph.New[int]("g")
	for i, id := range []string{"a", "b", "c", "d"} {
		if _, err := g.Add(id, i); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []graph.Edge{
		{From: 2, To: 3, Notify: true, Name: "last", By: graph.ByTo},
		{From: 0, To: 2, By: graph.ByFrom, Pos: "x.yaml", Line: 3},
		{From: 0, To: 1, Implied: true},
		{From: 0, To: 2, Notify: true},
	} {
		if err := g.Connect(e); err != nil {
			t.Fatal(err)
		}
	}
	want := []graph.Ends{
		{From: 0, To: 1},
		{From: 0, To: 2, By: graph.ByFrom},
		{From: 0, To: 2, Notify: true},
		{From: 2, To: 3, Notify: true, By: graph.ByTo},
	}
	if got := slices.Collect(g.DeclaredEnds()); !slices.Equal(got, want) {
		t.Errorf("the ends are %v, want %v", got, want)
	}
	var declared []graph.Ends
	for e := range g.Declared() {
		declared = append(declared, e.Ends())
	}
	if !slices.Equal(declared, want) {
		t.Errorf("the ends of the declarations are %v, want %v", declared, want)
	}
	for range g.DeclaredEnds() {
		break // as a caller may
	}
}
