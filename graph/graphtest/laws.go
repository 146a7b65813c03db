package graphtest

import (
	"errors"
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/graph"
	gonum "gonum.org/v1/gonum/graph"
)

// Check holds a graph against every law that concerns one graph.
// It takes time in proportion to the edges above MaxModel vertices, and cubic time up to
// it.
func Check[V any](tb TB, g *graph.Graph[V]) {
	tb.Helper()
	CheckDirected(tb, g)
	checkIDs(tb, g)
	checkEdges(tb, g)
	checkOrder(tb, g)
	checkSearch(tb, g)
}

// CheckDirected holds any gonum graph against the laws of graph.Directed: From
// and To mirror each other, hold no node twice, agree with HasEdgeFromTo,
// HasEdgeBetween and Edge, and edges point the way they were asked for.
// It needs no method beyond the interface, so it also holds wrappers and filtered views.
func CheckDirected(tb TB, g gonum.Directed) {
	tb.Helper()
	all := gonum.NodesOf(g.Nodes())
	seen := map[int64]bool{}
	out, in := 0, 0
	for _, n := range all {
		id := n.ID()
		if seen[id] {
			tb.Errorf("Nodes has %d twice", id)
		}
		seen[id] = true
		if got := g.Node(id); got == nil || got.ID() != id {
			tb.Errorf("Node(%d) = %v, though Nodes has it", id, got)
		}
		out += checkFrom(tb, g, id)
		in += checkTo(tb, g, id)
	}
	if out != in {
		tb.Errorf("%d edges by From, %d by To", out, in)
	}
	if len(all) <= MaxModel {
		checkPairs(tb, g, all)
	}
}

// checkFrom checks the edges that leave a node and returns how many there are.
func checkFrom(tb TB, g gonum.Directed, u int64) int {
	tb.Helper()
	row := nodeIDs(tb, g.From(u))
	for _, v := range row {
		if !g.HasEdgeFromTo(u, v) || !g.HasEdgeBetween(u, v) || !g.HasEdgeBetween(v, u) {
			tb.Errorf("From(%d) has %d, but HasEdgeFromTo or HasEdgeBetween does not", u, v)
		}
		e := g.Edge(u, v)
		if e == nil || e.From().ID() != u || e.To().ID() != v {
			tb.Errorf("Edge(%d, %d) = %v, though From has it", u, v, e)
		}
	}
	return len(row)
}

// checkTo checks the edges that enter a node and returns how many there are.
func checkTo(tb TB, g gonum.Directed, v int64) int {
	tb.Helper()
	row := nodeIDs(tb, g.To(v))
	for _, u := range row {
		if !g.HasEdgeFromTo(u, v) {
			tb.Errorf("To(%d) has %d, but HasEdgeFromTo does not", v, u)
		}
	}
	return len(row)
}

// checkPairs checks that no other method finds an edge that From does not have.
// It asks for every pair of nodes, so callers bound their number.
func checkPairs(tb TB, g gonum.Directed, all []gonum.Node) {
	tb.Helper()
	for _, u := range all {
		row := nodeIDs(tb, g.From(u.ID()))
		for _, v := range all {
			want := slices.Contains(row, v.ID())
			if got := g.HasEdgeFromTo(u.ID(), v.ID()); got != want {
				tb.Errorf("HasEdgeFromTo(%d, %d) = %t, by From %t", u.ID(), v.ID(), got, want)
			}
			if got := g.Edge(u.ID(), v.ID()) != nil; got != want {
				tb.Errorf("Edge(%d, %d) is there: %t, by From %t", u.ID(), v.ID(), got, want)
			}
			between := g.HasEdgeFromTo(u.ID(), v.ID()) || g.HasEdgeFromTo(v.ID(), u.ID())
			if got := g.HasEdgeBetween(u.ID(), v.ID()); got != between {
				tb.Errorf("HasEdgeBetween(%d, %d) = %t, want %t", u.ID(), v.ID(), got, between)
			}
		}
	}
}

// nodeIDs reads an iterator twice, the second time after Reset, and returns the
// ids, all different.
// gonum allows an iterator without a known length; ours always knows it.
func nodeIDs(tb TB, it gonum.Nodes) []int64 {
	tb.Helper()
	read := func() (ids []int64) {
		for left := it.Len(); it.Next(); {
			left--
			if it.Len() != left {
				tb.Errorf("an iterator says %d are left, want %d", it.Len(), left)
			}
			ids = append(ids, it.Node().ID())
		}
		return ids
	}
	ids := read()
	it.Reset()
	if again := read(); !slices.Equal(ids, again) {
		tb.Errorf("an iterator gives %v, after Reset %v", ids, again)
	}
	sorted := slices.Sorted(slices.Values(ids))
	if len(slices.Compact(sorted)) != len(ids) {
		tb.Errorf("an iterator gives a node twice: %v", ids)
	}
	return ids
}

// checkIDs: indices are dense, ids unique, and each finds the other.
func checkIDs[V any](tb TB, g *graph.Graph[V]) {
	tb.Helper()
	count := 0
	for i, id := range g.IDs() {
		if i != count || g.ID(i) != id {
			tb.Errorf("IDs has %q at %d, want index %d with %q", id, i, count, g.ID(i))
		}
		if at, ok := g.Index(id); !ok || at != i {
			tb.Errorf("Index(%q) = %d, %t, want %d", id, at, ok, i)
		}
		count++
	}
	if count != g.Len() {
		tb.Errorf("Len() = %d, but there are %d ids", g.Len(), count)
	}
}

// checkEdges: every way to list edges gives the same edges in the same order,
// and each is the sum of its declarations.
func checkEdges[V any](tb TB, g *graph.Graph[V]) {
	tb.Helper()
	var byOut []graph.Edge
	in := 0
	for i := range g.Len() {
		byOut = slices.AppendSeq(byOut, g.OutEdges(i))
		checkRow(tb, g.Succ(i), g.OutEdges(i), func(e graph.Edge) (int, int) { return e.From, e.To }, i)
		checkRow(tb, g.Pred(i), g.InEdges(i), func(e graph.Edge) (int, int) { return e.To, e.From }, i)
		in += len(g.Pred(i))
	}
	if all := slices.Collect(g.Edges()); !slices.Equal(all, byOut) {
		tb.Errorf("Edges gives %v, OutEdges %v", all, byOut)
	}
	if len(byOut) != g.EdgeCount() || in != g.EdgeCount() {
		tb.Errorf("EdgeCount() = %d, but there are %d out and %d in", g.EdgeCount(), len(byOut), in)
	}
	for _, e := range byOut {
		checkDeclarations(tb, g, e)
	}
}

// checkRow: a row of indices rises, and the iterator over its edges agrees.
// Rows rise strictly, because two edges between the same vertices are one.
func checkRow(tb TB, row []int32, edges iter.Seq[graph.Edge], ends func(graph.Edge) (self, other int), i int) {
	tb.Helper()
	at := 0
	for e := range edges {
		self, other := ends(e)
		if self != i || at >= len(row) || other != int(row[at]) {
			tb.Errorf("edge %d of vertex %d is %+v, its row is %v", at, i, e, row)
			return
		}
		if at > 0 && row[at-1] >= row[at] {
			tb.Errorf("the row of vertex %d does not rise: %v", i, row)
		}
		at++
	}
	if at != len(row) {
		tb.Errorf("vertex %d has %d edges, its row is %v", i, at, row)
	}
}

// An edge notifies if one declaration does, and is implied if all are.
func checkDeclarations[V any](tb TB, g *graph.Graph[V], e graph.Edge) {
	tb.Helper()
	if l, ok := g.Link(e.From, e.To); !ok || l != e {
		tb.Errorf("Link(%d, %d) = %+v, %t, want %+v", e.From, e.To, l, ok, e)
	}
	notify, implied, count := false, true, 0
	for d := range g.Declarations(e.From, e.To) {
		if d.From != e.From || d.To != e.To {
			tb.Errorf("%+v has the declaration %+v", e, d)
		}
		notify = notify || d.Notify
		implied = implied && d.Implied
		count++
	}
	if count == 0 || notify != e.Notify || implied != e.Implied {
		tb.Errorf("%+v has %d declarations with notify %t, implied %t", e, count, notify, implied)
	}
}

// checkOrder: the order respects edges, or there is a cycle that is one.
// Here only the edges count. Up to MaxModel vertices checkSearch compares the very order.
func checkOrder[V any](tb TB, g *graph.Graph[V]) {
	tb.Helper()
	order, err := g.Sort()
	if err != nil {
		checkCycle(tb, g, err)
		return
	}
	if c := g.Cycle(); c != nil {
		tb.Errorf("Sort gives an order, Cycle gives %v", c)
	}
	place := make([]int, g.Len())
	for at, v := range order {
		place[v] = at + 1
	}
	if len(order) != g.Len() || slices.Contains(place, 0) {
		tb.Errorf("Sort gives %v for %d vertices", order, g.Len())
	}
	for e := range g.Edges() {
		if place[e.From] >= place[e.To] {
			tb.Errorf("Sort puts %d at %d and %d at %d, against the edge between them",
				e.From, place[e.From], e.To, place[e.To])
		}
	}
}

// checkCycle holds that the error names a real cycle: each step is an edge, and the last
// vertex is the first.
// A cycle that begins with its least vertex is the same text in every run.
func checkCycle[V any](tb TB, g *graph.Graph[V], err error) {
	tb.Helper()
	c, ok := errors.AsType[*graph.CycleError](err)
	if !ok || len(c.Path) < 3 || len(c.Edges) != len(c.Path)-1 || c.Path[0] != c.Path[len(c.Path)-1] {
		tb.Fatalf("Sort fails with %v, which is no cycle", err)
	}
	seen := map[string]bool{}
	for at, e := range c.Edges {
		if l, ok := g.Link(e.From, e.To); !ok || l != e || g.ID(e.From) != c.Path[at] || g.ID(e.To) != c.Path[at+1] {
			tb.Errorf("step %d of %v is %+v, which the graph does not have", at, c, e)
		}
		if e.From < c.Edges[0].From {
			tb.Errorf("%v does not begin with its first vertex", c)
		}
		if seen[c.Path[at]] {
			tb.Errorf("%v comes twice through %q", c, c.Path[at])
		}
		seen[c.Path[at]] = true
	}
}

// checkSearch compares with the model.
func checkSearch[V any](tb TB, g *graph.Graph[V]) {
	tb.Helper()
	if g.Len() > MaxModel {
		return
	}
	m := ModelOf(g)
	for u := range m.N {
		checkReach(tb, g, m, u)
	}
	if least := m.ShortestCycle(); least > 0 {
		if c := g.Cycle(); c == nil || c.Shortest && len(c.Edges) != least {
			tb.Errorf("Cycle() = %v, the shortest has %d edges", c, least)
		}
		if _, err := g.Reduction(); err == nil {
			tb.Errorf("Reduction gives no error, though there is a cycle")
		}
		return
	}
	if order, err := g.Sort(); err != nil || !slices.Equal(order, m.Order()) {
		tb.Errorf("Sort() = %v, %v, want %v", order, err, m.Order())
	}
	checkReduction(tb, g, m)
}

// checkReach compares reachability with that of the model, in both directions.
func checkReach[V any](tb TB, g *graph.Graph[V], m *Model, u int) {
	tb.Helper()
	var below, above []int
	for v := range m.N {
		if got, want := g.Reachable(u, v), u == v || m.Path(u, v); got != want {
			tb.Errorf("Reachable(%d, %d) = %t", u, v, got)
		}
		if u != v && m.Path(u, v) {
			below = append(below, v)
		}
		if u != v && m.Path(v, u) {
			above = append(above, v)
		}
	}
	if got := slices.Sorted(g.Descendants(u)); !slices.Equal(got, below) {
		tb.Errorf("Descendants(%d) gives %v, want %v", u, got, below)
	}
	if got := slices.Sorted(g.Ancestors(u)); !slices.Equal(got, above) {
		tb.Errorf("Ancestors(%d) gives %v, want %v", u, got, above)
	}
}

// checkReduction: the edges that are left out are exactly those which repeat a
// longer path, and so nothing is reached less.
func checkReduction[V any](tb TB, g *graph.Graph[V], m *Model) {
	tb.Helper()
	edges, err := g.Reduction()
	if err != nil {
		tb.Errorf("Reduction: %v", err)
		return
	}
	r := NewModel(m.N)
	for e := range edges {
		r.Edge[e.From][e.To] = true
	}
	for u := range m.N {
		for v := range m.N {
			if r.Edge[u][v] != (m.Edge[u][v] && !m.Redundant(u, v)) {
				tb.Errorf("Reduction has the edge %d to %d: %t", u, v, r.Edge[u][v])
			}
			if r.Path(u, v) != m.Path(u, v) {
				tb.Errorf("after Reduction there is a path from %d to %d: %t", u, v, r.Path(u, v))
			}
		}
	}
}
