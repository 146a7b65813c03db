package puppet

import (
	"container/heap"
	"maps"
	"slices"
)

// maxSearched bounds what looking for cycles through automatic relations costs, in
// edges followed. Relations beyond it are left out.
// The bound is for one catalog, over all its relations.
const maxSearched = 1 << 24

// order is the graph of a catalog by number.
// It is of one catalog and one goroutine.
type order struct {
	number map[vertex]int32
	list   []vertex
	out    [][]int32
	// How many edges may still be followed; see maxSearched.
	budget int
}

// newOrder numbers the vertices of the edges. The numbers make the search for cycles work
// on slices, since a catalog may have 100,000 edges.
func newOrder(edges []relation) *order {
	o := &order{number: map[vertex]int32{}, budget: maxSearched}
	for _, e := range edges {
		o.add(e)
	}
	return o
}

// of returns the number of a vertex, and gives it one at its first place.
func (o *order) of(v vertex) int32 {
	n, ok := o.number[v]
	if !ok {
		n = int32(len(o.list))
		o.number[v] = n
		o.list = append(o.list, v)
		o.out = append(o.out, nil)
	}
	return n
}

// add notes an edge. Edges that are given twice do no harm here.
func (o *order) add(e relation) {
	from, to := o.of(e.from), o.of(e.to)
	o.out[from] = append(o.out[from], to)
}

// join adds the relations that close no cycle, and returns them.
// The usual case is that none closes a cycle: then one sort is enough. Otherwise each relation
// is tried by itself, in the order of the catalog, so that the earlier one is kept.
func (o *order) join(soft []relation) []relation {
	if all := o.with(soft); all.sorted() != nil {
		*o = *all
		return soft
	}
	var kept []relation
	for _, e := range soft {
		if !o.leads(o.of(e.to), o.of(e.from)) {
			o.add(e)
			kept = append(kept, e)
		}
	}
	return kept
}

// with returns a copy with more relations.
// The rows are copied, so o stays as it is.
func (o *order) with(more []relation) *order {
	c := &order{number: maps.Clone(o.number), list: slices.Clone(o.list), budget: o.budget}
	for _, row := range o.out {
		c.out = append(c.out, slices.Clone(row))
	}
	for _, e := range more {
		c.add(e)
	}
	return c
}

// leads reports whether there is a path, or may be one: the budget is spent.
// A spent budget answers yes, which leaves a relation out: a missing automatic relation is
// better than a cycle.
func (o *order) leads(from, to int32) bool {
	seen := map[int32]bool{from: true}
	todo := []int32{from}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if v == to {
			return true
		}
		for _, next := range o.out[v] {
			if o.budget--; o.budget < 0 {
				return true
			}
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return false
}

// sorted returns the vertices in an order that fits all edges, and else that of the
// catalog; nil if there is a cycle.
// It is Kahn's algorithm with a heap: the cost is linear in the edges, times the logarithm of
// the ready vertices.
func (o *order) sorted() []vertex {
	before := make([]int, len(o.list))
	for _, row := range o.out {
		for _, to := range row {
			before[to]++
		}
	}
	ready := &queue{list: o.list}
	for v, n := range before {
		if n == 0 {
			heap.Push(ready, int32(v))
		}
	}
	sorted := make([]vertex, 0, len(o.list))
	for ready.Len() > 0 {
		v := heap.Pop(ready).(int32)
		sorted = append(sorted, o.list[v])
		for _, to := range o.out[v] {
			if before[to]--; before[to] == 0 {
				heap.Push(ready, to)
			}
		}
	}
	if len(sorted) < len(o.list) {
		return nil
	}
	return sorted
}

// queue gives the vertex that stands first in the catalog.
type queue struct {
	list  []vertex
	ready []int32
}

// The queue orders the vertices that are ready by their places in the catalog. So the
// order of a catalog is a law: equal catalogs give equal orders.
func (q *queue) Len() int      { return len(q.ready) }
func (q *queue) Swap(i, j int) { q.ready[i], q.ready[j] = q.ready[j], q.ready[i] }
func (q *queue) Less(i, j int) bool {
	a, b := q.list[q.ready[i]], q.list[q.ready[j]]
	if a.res.index != b.res.index {
		return a.res.index < b.res.index
	}
	return a.side < b.side
}
func (q *queue) Push(x any) { q.ready = append(q.ready, x.(int32)) }
func (q *queue) Pop() any {
	last := q.ready[len(q.ready)-1]
	q.ready = q.ready[:len(q.ready)-1]
	return last
}

// inManifestOrder returns relations that put all resources into one row: the order
// of the catalog, as far as the other relations allow.
// Containers have no place in the row. It needs an order without a cycle, and returns nothing
// for one with a cycle.
func (rs *relations) inManifestOrder(o *order, known []relation) []relation {
	o.join(known)
	for _, r := range rs.cat.resources {
		if !r.container {
			o.of(vertex{res: r})
		}
	}
	var chain []relation
	var last *resource
	for _, v := range o.sorted() {
		if v.side != itself {
			continue
		}
		if last != nil {
			chain = append(chain, relation{vertex{res: last}, v, "manifest order", v.res.at, false})
		}
		last = v.res
	}
	return chain
}
