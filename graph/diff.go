package graph

import "slices"

// Difference says what leads from one graph to another. Vertices are the same if
// their ids are. All lists are in the order of the graph that their indices
// belong to; Changed and Kept in that of the new one.
type Difference struct {
	Added   []int  // indices in the new graph
	Removed []int  // indices in the old graph
	Changed []Pair // in both, with different values
	Kept    []Pair // in both, with the same value

	// EdgesAdded has indices of the new graph, EdgesRemoved of the old one. An
	// edge in both graphs that differs in Notify or Implied is in both lists, an
	// edge that differs only in Name or Pos in neither.
	EdgesAdded   []Edge
	EdgesRemoved []Edge
}

// Pair is the index of one vertex in each of two graphs.
type Pair struct{ Old, New int }

// Empty reports whether the two graphs are the same.
func (d *Difference) Empty() bool {
	return len(d.Added) == 0 && len(d.Removed) == 0 && len(d.Changed) == 0 &&
		len(d.EdgesAdded) == 0 && len(d.EdgesRemoved) == 0
}

// Diff compares two graphs. It calls same once for each vertex that is in both,
// with the old value and the new one, in the order of the new graph. The order
// of vertices, the graphs' names and the number of declarations of an edge make
// no difference. Takes O(vertices + edges), and a binary search for each edge of a
// vertex that does not lead to the same vertices in the same order in both.
func Diff[V any](old, new *Graph[V], same func(a, b V) bool) Difference {
	var d Difference
	m := match(old, new)
	d.vertices(m, func(p Pair) bool { return same(old.values[p.Old], new.values[p.New]) })
	d.EdgesAdded = missing(new, old, m.toOld)
	d.EdgesRemoved = missing(old, new, m.toNew)
	return d
}

// matching has the index of each vertex in the other graph, or -1.
type matching struct{ toOld, toNew []int32 }

// match finds the vertices that two graphs share. A vertex that has the same
// index in both is found without a lookup.
func match[V any](old, new *Graph[V]) matching {
	m := matching{make([]int32, new.Len()), slices.Repeat([]int32{-1}, old.Len())}
	for i, id := range new.ids {
		o := int32(i)
		if i >= len(old.ids) || old.ids[i] != id {
			o = -1
			if at, ok := old.Index(id); ok {
				o = int32(at)
			}
		}
		m.toOld[i] = o
		if o >= 0 {
			m.toNew[o] = int32(i)
		}
	}
	return m
}

func (d *Difference) vertices(m matching, same func(Pair) bool) {
	for i, o := range m.toOld {
		p := Pair{int(o), i}
		switch {
		case o < 0:
			d.Added = append(d.Added, i)
		case same(p):
			d.Kept = append(d.Kept, p)
		default:
			d.Changed = append(d.Changed, p)
		}
	}
	for o, i := range m.toNew {
		if i < 0 {
			d.Removed = append(d.Removed, o)
		}
	}
}

// missing returns the edges of g that other does not have, or has in another way.
// A vertex that leads to the same vertices in both, in the same order, costs no
// search.
func missing[V any](g, other *Graph[V], there []int32) []Edge {
	var edges []Edge
	l, o := g.read(), other.read()
	for u, to := range there {
		if to >= 0 && sameRow(l, o, u, int(to), there) {
			continue
		}
		for e := range g.OutEdges(u) {
			x, ok := other.Link(int(to), int(there[e.To]))
			if !ok || !x.same(e) {
				edges = append(edges, e)
			}
		}
	}
	return edges
}

// sameRow reports whether vertex u of one layout and its counterpart in the other
// have the same edges, each declared once and in the same way. False means that
// it takes a closer look to know.
func sameRow(l, other *layout, u, counterpart int, there []int32) bool {
	row, orow := l.out(u), other.out(counterpart)
	if len(row) != len(orow) {
		return false
	}
	first, ofirst := l.outStart[u], other.outStart[counterpart]
	for at, v := range row {
		d, o := l.declared(first+int32(at)), other.declared(ofirst+int32(at))
		if there[v] != orow[at] || len(d) != 1 || len(o) != 1 || (d[0].flags^o[0].flags)&flagsShown != 0 {
			return false
		}
	}
	return true
}
