package graphtest

import (
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/graph"
)

// CheckDiff holds the difference of two graphs against its laws: applied to old
// it gives new, it says nothing that is not so, and the other way round it is
// its own mirror image. It returns the difference.
// Both graphs stay as they are. Same decides when two values are equal, and must be
// symmetric.
func CheckDiff[V any](tb TB, old, new *graph.Graph[V], same func(a, b V) bool) graph.Difference {
	tb.Helper()
	d := graph.Diff(old, new, same)
	checkApply(tb, old, new, d)
	checkPairings(tb, old, new, d, same)
	back := graph.Diff(new, old, func(a, b V) bool { return same(b, a) })
	if !slices.Equal(d.Added, back.Removed) || !slices.Equal(d.Removed, back.Added) ||
		len(d.Changed) != len(back.Changed) || len(d.Kept) != len(back.Kept) ||
		!slices.Equal(d.EdgesAdded, back.EdgesRemoved) || !slices.Equal(d.EdgesRemoved, back.EdgesAdded) {
		tb.Errorf("the difference is %+v, the other way round %+v", d, back)
	}
	equal := maps.Equal(flat(tb, old).edges, flat(tb, new).edges) && len(d.Added)+len(d.Removed)+len(d.Changed) == 0
	if d.Empty() != equal {
		tb.Errorf("Empty() = %t for %+v", d.Empty(), d)
	}
	return d
}

// pair is an edge by ids.
// Ids and not indices, since an index means another vertex in the other graph.
type pair struct{ from, to string }

// does is what an edge does.
type does struct{ notify, implied bool }

// flatGraph is a graph as sets.
type flatGraph struct {
	ids   map[string]bool
	edges map[pair]does
}

// flat is a graph as plain sets, which are compared without help of the tested code.
// Several declarations of an edge are one entry here, with their sum.
func flat[V any](tb TB, g *graph.Graph[V]) flatGraph {
	tb.Helper()
	f := flatGraph{map[string]bool{}, map[pair]does{}}
	for _, id := range g.IDs() {
		f.ids[id] = true
	}
	for e := range g.Edges() {
		f.edges[pair{g.ID(e.From), g.ID(e.To)}] = does{e.Notify, e.Implied}
	}
	return f
}

// checkApply does the difference by hand and holds that the result is the new graph.
// The order is that of a swap: edges go before their vertices, and vertices come before
// their edges.
func checkApply[V any](tb TB, old, new *graph.Graph[V], d graph.Difference) {
	tb.Helper()
	f, want := flat(tb, old), flat(tb, new)
	for _, e := range d.EdgesRemoved {
		p := pair{old.ID(e.From), old.ID(e.To)}
		if f.edges[p] != (does{e.Notify, e.Implied}) || want.edges[p] == f.edges[p] && has(want.edges, p) {
			tb.Errorf("the edge %v is removed in vain", p)
		}
		delete(f.edges, p)
	}
	for _, i := range d.Removed {
		if !f.ids[old.ID(i)] {
			tb.Errorf("%q is removed twice", old.ID(i))
		}
		delete(f.ids, old.ID(i))
	}
	for _, i := range d.Added {
		if f.ids[new.ID(i)] {
			tb.Errorf("%q is added, though it is there", new.ID(i))
		}
		f.ids[new.ID(i)] = true
	}
	for _, e := range d.EdgesAdded {
		p := pair{new.ID(e.From), new.ID(e.To)}
		if has(f.edges, p) {
			tb.Errorf("the edge %v is added, though it is there", p)
		}
		f.edges[p] = does{e.Notify, e.Implied}
	}
	if !maps.Equal(f.ids, want.ids) || !maps.Equal(f.edges, want.edges) {
		tb.Errorf("applied to the old graph it gives %v, want %v", f, want)
	}
}

func has[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}

// checkPairings: a vertex in both graphs is changed or kept, never both.
// Every vertex is in exactly one of the four lists, so their lengths add up.
func checkPairings[V any](tb TB, old, new *graph.Graph[V], d graph.Difference, same func(a, b V) bool) {
	tb.Helper()
	check := func(pairs []graph.Pair, want bool) {
		for _, p := range pairs {
			if old.ID(p.Old) != new.ID(p.New) || same(old.Value(p.Old), new.Value(p.New)) != want {
				tb.Errorf("%q and %q are paired as equal: %t", old.ID(p.Old), new.ID(p.New), want)
			}
		}
	}
	check(d.Kept, true)
	check(d.Changed, false)
	if len(d.Kept)+len(d.Changed)+len(d.Added) != new.Len() || len(d.Kept)+len(d.Changed)+len(d.Removed) != old.Len() {
		tb.Errorf("%d kept, %d changed, %d added, %d removed do not add up to %d and %d vertices",
			len(d.Kept), len(d.Changed), len(d.Added), len(d.Removed), old.Len(), new.Len())
	}
}
