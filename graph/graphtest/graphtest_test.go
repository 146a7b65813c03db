package graphtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/graph/graphtest"
	"go.uber.org/goleak"
	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/simple"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder keeps what a check complains about.
type recorder struct{ said []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); panic(r) }

// complaints returns what a check says about something.
func complaints(check func(tb graphtest.TB)) (said string) {
	r := &recorder{}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		said = strings.Join(r.said, "\n")
	}()
	check(r)
	return ""
}

// broken is a graph of 0 -> 1 -> 2 that lies in one method.
type broken struct {
	*simple.DirectedGraph
	from, to  func(int64) gonum.Nodes
	edge      func(u, v int64) gonum.Edge
	between   func(u, v int64) bool
	hasFromTo func(u, v int64) bool
}

func (b broken) From(id int64) gonum.Nodes {
	if b.from != nil {
		return b.from(id)
	}
	return b.DirectedGraph.From(id)
}

func (b broken) To(id int64) gonum.Nodes {
	if b.to != nil {
		return b.to(id)
	}
	return b.DirectedGraph.To(id)
}

func (b broken) Edge(u, v int64) gonum.Edge {
	if b.edge != nil {
		return b.edge(u, v)
	}
	return b.DirectedGraph.Edge(u, v)
}

func (b broken) HasEdgeBetween(u, v int64) bool {
	if b.between != nil {
		return b.between(u, v)
	}
	return b.DirectedGraph.HasEdgeBetween(u, v)
}

func (b broken) HasEdgeFromTo(u, v int64) bool {
	if b.hasFromTo != nil {
		return b.hasFromTo(u, v)
	}
	return b.DirectedGraph.HasEdgeFromTo(u, v)
}

func path() *simple.DirectedGraph {
	g := simple.NewDirectedGraph()
	g.SetEdge(simple.Edge{F: simple.Node(0), T: simple.Node(1)})
	g.SetEdge(simple.Edge{F: simple.Node(1), T: simple.Node(2)})
	return g
}

// same is an iterator that gives one node n times.
func same(n int) gonum.Nodes {
	return iterator.NewOrderedNodes(slices.Repeat([]gonum.Node{simple.Node(1)}, n))
}

func TestCheckDirected(t *testing.T) {
	g := path()
	if said := complaints(func(tb graphtest.TB) { graphtest.CheckDirected(tb, g) }); said != "" {
		t.Errorf("gonum's own graph: %s", said)
	}
	for name, b := range map[string]broken{
		"edges only in To":   {from: func(int64) gonum.Nodes { return gonum.Empty }},
		"edges only in From": {to: func(int64) gonum.Nodes { return gonum.Empty }},
		"a node twice":       {from: func(int64) gonum.Nodes { return same(2) }},
		"reversed edges": {edge: func(u, v int64) gonum.Edge {
			if e := g.Edge(u, v); e != nil {
				return simple.Edge{F: e.To(), T: e.From()}
			}
			return nil
		}},
		"an edge too many":    {edge: func(u, v int64) gonum.Edge { return simple.Edge{F: simple.Node(u), T: simple.Node(v)} }},
		"between is directed": {between: g.HasEdgeFromTo},
		"between is always":   {between: func(int64, int64) bool { return true }},
		"from-to both ways":   {hasFromTo: g.HasEdgeBetween},
		"no from-to":          {hasFromTo: func(int64, int64) bool { return false }},
	} {
		b.DirectedGraph = g
		if said := complaints(func(tb graphtest.TB) { graphtest.CheckDirected(tb, b) }); said == "" {
			t.Errorf("%s: passes", name)
		}
	}
}

func TestCheckSpec(t *testing.T) {
	spec := graphtest.Spec{IDs: []string{"a", "b", "c"}, Edges: []graph.Edge{{From: 0, To: 1}, {From: 0, To: 1, Notify: true}}}
	g := spec.Build(t)
	graphtest.CheckSpec(t, g, spec)
	for name, other := range map[string]graphtest.Spec{
		"another vertex":      {IDs: []string{"a", "b", "d"}, Edges: spec.Edges},
		"another order":       {IDs: []string{"a", "c", "b"}, Edges: spec.Edges},
		"a declaration more":  {IDs: spec.IDs, Edges: append(slices.Clone(spec.Edges), graph.Edge{From: 0, To: 1})},
		"a declaration less":  {IDs: spec.IDs, Edges: spec.Edges[:1]},
		"declared otherwise":  {IDs: spec.IDs, Edges: []graph.Edge{spec.Edges[1], spec.Edges[0]}},
		"an edge more":        {IDs: spec.IDs, Edges: append(slices.Clone(spec.Edges), graph.Edge{From: 1, To: 0})},
		"an edge elsewhere":   {IDs: spec.IDs, Edges: []graph.Edge{{From: 1, To: 2}}},
		"no edges, as in a b": {IDs: spec.IDs},
	} {
		if said := complaints(func(tb graphtest.TB) { graphtest.CheckSpec(tb, g, other) }); said == "" {
			t.Errorf("%s: passes", name)
		}
	}
}

// The models' own answers, by hand.
func TestModel(t *testing.T) {
	m := graphtest.NewModel(4)
	for _, e := range [][2]int{{2, 0}, {0, 1}, {1, 3}, {2, 3}} {
		m.Edge[e[0]][e[1]] = true
	}
	if got := fmt.Sprint(m.Order(), m.ShortestCycle(), m.Path(2, 3), m.Path(3, 2), m.Path(0, 0), m.Redundant(2, 3), m.Redundant(2, 0)); got !=
		"[2 0 1 3] 0 true false false true false" {
		t.Errorf("got %s", got)
	}
	ring := graphtest.NewModel(4)
	for _, e := range [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {3, 1}} {
		ring.Edge[e[0]][e[1]] = true
	}
	if got := fmt.Sprint(ring.Order(), ring.ShortestCycle(), ring.Path(0, 0)); got != "[] 3 true" {
		t.Errorf("got %s", got)
	}
}

// Draw keeps its promises.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := graphtest.Shape{Vertices: 9, Edges: 20, Acyclic: rapid.Bool().Draw(t, "acyclic")}
		s := graphtest.Draw(t, shape)
		if len(s.IDs) > 9 || len(s.Edges) > 20 {
			t.Fatalf("%d vertices, %d edges", len(s.IDs), len(s.Edges))
		}
		if g := s.Build(t); shape.Acyclic && g.Cycle() != nil {
			t.Fatalf("a cycle in %+v: %v", s, g.Cycle())
		}
	})
}

func TestAwkwardIDsDiffer(t *testing.T) {
	ids := slices.Sorted(slices.Values(graphtest.Awkward()))
	if n := len(ids); len(slices.Compact(ids)) != n {
		t.Error("two of them are the same")
	}
}
