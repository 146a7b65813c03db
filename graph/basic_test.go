package graph_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// build makes a graph of vertices named by ids and edges between them.
func build(tb testing.TB, ids []string, edges ...graph.Edge) *graph.Graph[int] {
	tb.Helper()
	g := graph.New[int]("test")
	for i, id := range ids {
		if _, err := g.Add(id, i); err != nil {
			tb.Fatal(err)
		}
	}
	for _, e := range edges {
		if err := g.Connect(e); err != nil {
			tb.Fatal(err)
		}
	}
	return g
}

// numbered returns n ids: v0, v1, ...
func abc(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = string(rune('a' + i))
	}
	return ids
}

func TestSmoke(t *testing.T) {
	g := build(t, abc(4), graph.Edge{From: 2, To: 0}, graph.Edge{From: 0, To: 1, Notify: true}, graph.Edge{From: 1, To: 3}, graph.Edge{From: 0, To: 3, Implied: true})
	order, err := g.Sort()
	if err != nil || !slices.Equal(order, []int{2, 0, 1, 3}) {
		t.Fatal(order, err)
	}
	if err := g.WriteDOT(os.Stdout, graph.DrawOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := g.WriteMermaid(os.Stdout, graph.DrawOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := g.Connect(graph.Edge{From: 3, To: 2}); err != nil {
		t.Fatal(err)
	}
	_, err = g.Sort()
	c, ok := errors.AsType[*graph.CycleError](err)
	if !ok || c.Error() != "cycle: a -> d -> c -> a" {
		t.Fatal(err)
	}
}
