package graph

import "slices"

// components says which vertices lie on cycles.
type components struct {
	of    []int32 // number of the strongly connected component, -1 if it has one vertex
	heads []int32 // where a depth-first search came back to: every cycle has one
	steps int
}

// components finds the strongly connected components of more than one vertex.
// Heads come by the size of their component, then by index.
func (l *layout) components() components {
	_, waits := l.kahn()
	t := newTarjan(l)
	for v := range l.n {
		if waits[v] > 0 && t.number[v] == 0 {
			t.walk(int32(v))
		}
	}
	var keys []int64 // the size of the component, and the index of its head below
	for v := range l.n {
		if t.head.has(v) {
			keys = append(keys, int64(t.size[t.comp[v]])<<32|int64(v))
		}
	}
	slices.Sort(keys)
	heads := make([]int32, len(keys))
	for i, key := range keys {
		heads[i] = int32(key) // its lower half
	}
	return components{of: t.comp, heads: heads, steps: t.steps}
}

// tarjan is Tarjan's algorithm with a stack of its own in place of recursion.
type tarjan struct {
	l      *layout
	number []int32 // in the order of discovery, from 1; 0: not discovered
	low    []int32
	next   []int32 // the next edge to follow
	comp   []int32
	path   []int32 // the vertices being walked through
	stack  []int32 // the vertices whose component is not known yet
	onPath bitset
	open   bitset // on the stack
	head   bitset
	size   []int // of each component
	count  int32
	steps  int
}

func newTarjan(l *layout) *tarjan {
	t := &tarjan{
		l:      l,
		number: make([]int32, l.n),
		low:    make([]int32, l.n),
		next:   slices.Clone(l.outStart[:l.n]),
		comp:   make([]int32, l.n),
		onPath: newBitset(l.n),
		open:   newBitset(l.n),
		head:   newBitset(l.n),
	}
	for v := range t.comp {
		t.comp[v] = -1
	}
	return t
}

// walk discovers all that can be reached from a vertex.
func (t *tarjan) walk(root int32) {
	t.enter(root)
	for len(t.path) > 0 {
		v := t.path[len(t.path)-1]
		if t.next[v] == t.l.outStart[v+1] {
			t.leave(v)
			continue
		}
		w := t.l.succ[t.next[v]]
		t.next[v]++
		t.follow(v, w)
	}
}

func (t *tarjan) enter(v int32) {
	t.count++
	t.number[v], t.low[v] = t.count, t.count
	t.path = append(t.path, v)
	t.stack = append(t.stack, v)
	t.onPath.add(int(v))
	t.open.add(int(v))
}

func (t *tarjan) follow(v, w int32) {
	t.steps++
	switch {
	case t.number[w] == 0:
		t.enter(w)
	case t.open.has(int(w)):
		t.low[v] = min(t.low[v], t.number[w])
		if t.onPath.has(int(w)) {
			t.head.add(int(w))
		}
	}
}

// leave ends the walk through v, and closes the component that v is the first
// vertex of, if it is.
func (t *tarjan) leave(v int32) {
	t.path = t.path[:len(t.path)-1]
	t.onPath.remove(int(v))
	if len(t.path) > 0 {
		up := t.path[len(t.path)-1]
		t.low[up] = min(t.low[up], t.low[v])
	}
	if t.low[v] == t.number[v] {
		t.close(v)
	}
}

func (t *tarjan) close(first int32) {
	at := len(t.stack) - 1
	for t.stack[at] != first {
		at--
	}
	members := t.stack[at:]
	t.stack = t.stack[:at]
	for _, v := range members {
		t.open.remove(int(v))
		if len(members) > 1 {
			t.comp[v] = int32(len(t.size))
		}
	}
	if len(members) > 1 {
		t.size = append(t.size, len(members))
	}
}

// bitset is a set of indices.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) remove(i int)   { b[i/64] &^= 1 << (i % 64) }
