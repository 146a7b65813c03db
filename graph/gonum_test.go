package graph_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/graph/graphtest"
	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/testgraph"
	"gonum.org/v1/gonum/graph/topo"
	"pgregory.net/rapid"
)

// testBuilder builds a graph for gonum's own suite. Our indices are dense and
// self edges are refused, so nodes are numbered anew and other inputs declined.
func testBuilder(nodes []gonum.Node, edges []testgraph.WeightedLine, _, _ float64) (
	gonum.Graph, []gonum.Node, []testgraph.Edge, float64, float64, bool,
) {
	g := graph.New[int64]("gonum")
	at := map[int64]int{}
	for _, n := range nodes {
		i, err := g.Add(string(rune('A'+g.Len())), n.ID())
		if err != nil {
			return nil, nil, nil, 0, 0, false
		}
		at[n.ID()] = i
	}
	for _, e := range edges {
		if g.Connect(graph.Edge{From: at[e.From().ID()], To: at[e.To().ID()]}) != nil {
			return nil, nil, nil, 0, 0, false
		}
	}
	var es []testgraph.Edge
	for e := range g.Edges() {
		es = append(es, g.Edge(int64(e.From), int64(e.To)))
	}
	return g, gonum.NodesOf(g.Nodes()), es, 0, 0, true
}

// gonum's suite for anything that calls itself a graph.
func TestGonumSuite(t *testing.T) {
	t.Run("ReturnAllNodes", func(t *testing.T) { testgraph.ReturnAllNodes(t, testBuilder, true) })
	t.Run("ReturnNodeSlice", func(t *testing.T) { testgraph.ReturnNodeSlice(t, testBuilder, true) })
	t.Run("NodeExistence", func(t *testing.T) { testgraph.NodeExistence(t, testBuilder) })
	t.Run("EdgeExistence", func(t *testing.T) { testgraph.EdgeExistence(t, testBuilder, false) })
	t.Run("ReturnAdjacentNodes", func(t *testing.T) { testgraph.ReturnAdjacentNodes(t, testBuilder, true, false) })
}

// gonum's algorithms give what ours give.
func TestGonumTopo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := graphtest.Draw(t, graphtest.Shape{Acyclic: rapid.Bool().Draw(t, "acyclic")})
		g := s.Build(t)
		_, err := topo.SortStabilized(g, nil)
		if (err == nil) != (g.Cycle() == nil) {
			t.Fatalf("gonum says %v, Cycle %v", err, g.Cycle())
		}
		for i := range g.Len() {
			for j := range g.Len() {
				if topo.PathExistsIn(g, g.Node(int64(i)), g.Node(int64(j))) != g.Reachable(i, j) {
					t.Fatalf("Reachable(%d, %d) differs from gonum's answer", i, j)
				}
			}
		}
		if u, ok := errors.AsType[topo.Unorderable](err); ok && !inOne(u, g.Cycle()) {
			t.Fatalf("%v is in none of %v", g.Cycle(), u)
		}
	})
}

// inOne reports whether a cycle lies in one of gonum's cyclic components.
func inOne(components topo.Unorderable, c *graph.CycleError) bool {
	return slices.ContainsFunc(components, func(members []gonum.Node) bool {
		return !slices.ContainsFunc(c.Edges, func(e graph.Edge) bool {
			return !slices.ContainsFunc(members, func(n gonum.Node) bool { return n.ID() == int64(e.From) })
		})
	})
}

func TestGonumUnknownIDs(t *testing.T) {
	g := build(t, "ab", "ab")
	for _, id := range []int64{-1, 2, 1 << 40} {
		if g.Node(id) != nil || g.From(id).Len() != 0 || g.To(id).Len() != 0 {
			t.Errorf("there is a node %d", id)
		}
		if g.HasEdgeFromTo(0, id) || g.HasEdgeBetween(id, 1) || g.Edge(id, 0) != nil {
			t.Errorf("there is an edge at %d", id)
		}
	}
}

func TestGonumValues(t *testing.T) {
	g := build(t, "ab", "ab!")
	v, ok := g.Node(1).(graph.Vertex[int])
	if !ok || v.String() != "b" || v.Value() != 1 || v != g.Node(1) || v == g.Node(0) {
		t.Errorf("node 1 is %v", v)
	}
	a, ok := g.Edge(0, 1).(graph.Arc[int])
	if !ok || !a.Link().Notify || a.ReversedEdge() != gonum.Edge(a) {
		t.Errorf("the edge is %+v", a)
	}
	if it := g.Nodes(); it.(gonum.Iterator).Len() != 2 || it.Node() != nil {
		t.Error("an iterator has a node before Next")
	}
}
