package graph

import (
	"iter"
	"slices"
)

// Reachable reports whether edges lead from one vertex to another. Every vertex
// reaches itself. It searches from both ends at once, always on the side that
// has less to do, and without a cycle only among the vertices that stand between
// the two in Sort's order: often little, at worst the whole graph.
func (g *Graph[V]) Reachable(from, to int) bool {
	_, _ = g.ids[from], g.ids[to]
	ok, _ := g.read().reaches(from, to)
	return ok
}

// reaches is Reachable, and says how many edges it looked at.
func (l *layout) reaches(from, to int) (ok bool, steps int) {
	if _, ok := l.find(from, to); ok || from == to {
		return true, 0
	}
	within := func(int32) bool { return true }
	if l.sorted() {
		low, high := l.rank[from], l.rank[to]
		if low > high {
			return false, 0
		}
		within = func(v int32) bool { return low <= l.rank[v] && l.rank[v] <= high }
	}
	down, up := newWave(l, from, l.out), newWave(l, to, l.in)
	for len(down.front) > 0 && len(up.front) > 0 {
		if len(down.front) > len(up.front) {
			down, up = up, down
		}
		if down.step(within, up.seen) {
			return true, down.steps + up.steps
		}
	}
	return false, down.steps + up.steps
}

// wave is a breadth-first search in one direction.
type wave struct {
	row         func(int) []int32
	seen        bitset
	front, next []int32
	steps       int
}

func newWave(l *layout, from int, row func(int) []int32) *wave {
	w := &wave{row: row, seen: newBitset(l.n), front: []int32{int32(from)}}
	w.seen.add(from)
	return w
}

// step goes on by one edge from all of the front, and reports whether it came to
// a vertex that the other wave has seen.
func (w *wave) step(within func(int32) bool, other bitset) bool {
	w.next = w.next[:0]
	for _, u := range w.front {
		for _, v := range w.row(int(u)) {
			w.steps++
			if w.seen.has(int(v)) || !within(v) {
				continue
			}
			if other.has(int(v)) {
				return true
			}
			w.seen.add(int(v))
			w.next = append(w.next, v)
		}
	}
	w.front, w.next = w.next, w.front
	return false
}

// Descendants yields every vertex other than i that edges lead to from i, the
// near ones first.
func (g *Graph[V]) Descendants(i int) iter.Seq[int] {
	l := g.read()
	return l.spread(i, l.out)
}

// Ancestors yields every vertex other than i from which edges lead to i, the
// near ones first.
func (g *Graph[V]) Ancestors(i int) iter.Seq[int] {
	l := g.read()
	return l.spread(i, l.in)
}

func (l *layout) spread(i int, row func(int) []int32) iter.Seq[int] {
	return func(yield func(int) bool) {
		seen := newBitset(l.n)
		seen.add(i)
		queue := []int32{int32(i)}
		for at := 0; at < len(queue); at++ {
			for _, v := range row(int(queue[at])) {
				if seen.has(int(v)) {
					continue
				}
				seen.add(int(v))
				queue = append(queue, v)
				if !yield(int(v)) {
					return
				}
			}
		}
	}
}

// Reduction yields the edges without which the graph would reach less: all but the
// ones that a longer path replaces. The order is that of Edges. If there is a
// cycle, the error is the *CycleError of Cycle.
//
// At worst it costs vertices times edges. It gives up after 2^27 steps (about a
// second), and yields all edges from there on, which loses no reachability.
func (g *Graph[V]) Reduction() (iter.Seq[Edge], error) {
	l := g.read()
	if !l.sorted() {
		return nil, g.Cycle()
	}
	spare, _ := l.redundant(reduceBudget)
	return func(yield func(Edge) bool) {
		for k := range l.succ {
			if !spare.has(k) && !yield(g.edge(l, int32(k))) {
				return
			}
		}
	}, nil
}

const reduceBudget = 1 << 27

// redundant returns the edges of an acyclic graph that a longer path stands in
// for, and how many edges it looked at.
func (l *layout) redundant(budget int) (bitset, int) {
	r := reducer{l: l, seen: make([]int32, l.n), spare: newBitset(len(l.succ))}
	for u := range l.n {
		if r.steps > budget {
			break
		}
		if l.outStart[u+1]-l.outStart[u] > 1 {
			r.vertex(int32(u))
		}
	}
	return r.spare, r.steps
}

type reducer struct {
	l     *layout
	seen  []int32 // u+1: reached from u by a path of at least two edges, or walked from
	spare bitset
	edges []int64 // the rank of the successor, and the number of the edge below
	stack []int32
	steps int
}

// vertex marks the redundant edges that leave u. The successors come in
// topological order, so a path to one of them begins with an earlier one.
func (r *reducer) vertex(u int32) {
	l := r.l
	r.edges = r.edges[:0]
	for k := l.outStart[u]; k < l.outStart[u+1]; k++ {
		r.edges = append(r.edges, int64(l.rank[l.succ[k]])<<32|int64(k))
	}
	slices.Sort(r.edges)
	last := int32(r.edges[len(r.edges)-1] >> 32)
	for _, key := range r.edges {
		k := int32(key) // its lower half
		v := l.succ[k]
		if r.seen[v] == u+1 {
			r.spare.add(int(k))
			continue
		}
		r.walk(v, u+1, last)
	}
}

// walk marks all that can be reached from v and stands no later than last.
func (r *reducer) walk(v, mark, last int32) {
	r.seen[v] = mark
	r.stack = append(r.stack[:0], v)
	for len(r.stack) > 0 {
		v = r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		row := r.l.out(int(v))
		r.steps += len(row)
		for _, w := range row {
			if r.seen[w] != mark && r.l.rank[w] <= last {
				r.seen[w] = mark
				r.stack = append(r.stack, w)
			}
		}
	}
}
