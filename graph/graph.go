package graph

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// maxIndex bounds the number of vertices and of declared edges, as both are
// stored as 32-bit numbers.
const maxIndex = math.MaxInt32 - 1

// ErrDuplicate is what Add's error wraps when the id is already there.
var ErrDuplicate = errors.New("duplicate vertex")

// Graph is a directed graph whose vertices have a unique id and a value. Make
// one with New; it must not be copied. The package comment has its laws.
type Graph[V any] struct {
	// Name is the graph's own name, used as the title of drawings. May be empty.
	Name string

	ids    []string
	values []V
	index  *index

	decls []decl // every declared edge; in order of (from, to) once laid out
	texts []text // what decl.text points to; texts[0] is empty

	mu     sync.Mutex             // held while the layout is made
	layout atomic.Pointer[layout] // nil after a change
}

// New returns an empty graph.
func New[V any](name string) *Graph[V] {
	return &Graph[V]{Name: name, index: newIndex(), texts: make([]text, 1)}
}

// Grow makes room for that many more vertices and declared edges, so that
// adding them allocates once. It is never needed. Negative numbers count as 0.
func (g *Graph[V]) Grow(vertices, edges int) {
	g.ids = slices.Grow(g.ids, max(vertices, 0))
	g.values = slices.Grow(g.values, max(vertices, 0))
	g.decls = slices.Grow(g.decls, max(edges, 0))
	g.index.room(len(g.ids) + max(vertices, 0))
}

// Add puts a vertex into the graph and returns its index, which is the number
// of vertices that were there before. An id that is already there is an error
// that wraps ErrDuplicate, with the index of the vertex that has it, and changes
// nothing. The empty string is an id like any other.
func (g *Graph[V]) Add(id string, v V) (int, error) {
	sum := g.index.sum(id)
	if i := g.index.find(sum, func(at int32) bool { return g.ids[at] == id }); i >= 0 {
		return int(i), fmt.Errorf("%w: %s", ErrDuplicate, show(id))
	}
	if len(g.ids) >= maxIndex {
		return -1, fmt.Errorf("no room for %s: a graph has at most %d vertices", show(id), maxIndex)
	}
	i := len(g.ids)
	g.index.add(sum, int32(i))
	g.ids = append(g.ids, id)
	g.values = append(g.values, v)
	g.changed()
	return i, nil
}

// Len returns the number of vertices.
func (g *Graph[V]) Len() int { return len(g.ids) }

// EdgeCount returns the number of edges: ordered pairs of vertices between which
// at least one edge was declared.
func (g *Graph[V]) EdgeCount() int { return len(g.read().succ) }

// Index returns the index of the vertex with this id, and whether there is one.
func (g *Graph[V]) Index(id string) (int, bool) {
	i := g.index.find(g.index.sum(id), func(at int32) bool { return g.ids[at] == id })
	return max(int(i), 0), i >= 0
}

// IndexBytes is Index of an id that the caller has put together, and that need not become a string for it.
func (g *Graph[V]) IndexBytes(id []byte) (int, bool) {
	i := g.index.find(g.index.sumBytes(id), func(at int32) bool { return g.ids[at] == string(id) })
	return max(int(i), 0), i >= 0
}

// ID returns the id of vertex i.
func (g *Graph[V]) ID(i int) string { return g.ids[i] }

// Value returns the value of vertex i.
func (g *Graph[V]) Value(i int) V { return g.values[i] }

// SetValue replaces the value of vertex i. It does not touch the edges, and
// costs no new layout.
func (g *Graph[V]) SetValue(i int, v V) { g.values[i] = v }

// AllIDs returns the ids of all vertices, in the order of indices. The slice is the graph's own: the caller must
// not change it, and may keep it for ever.
func (g *Graph[V]) AllIDs() []string { return slices.Clip(g.ids) }

// All yields the index and the value of every vertex, in the order of indices.
func (g *Graph[V]) All() iter.Seq2[int, V] { return slices.All(g.values) }

// IDs yields the index and the id of every vertex, in the order of indices.
func (g *Graph[V]) IDs() iter.Seq2[int, string] { return slices.All(g.ids) }

// Succ returns the direct successors of vertex i, in rising order. The slice is
// the graph's own: the caller must not change it, and may keep it for ever.
func (g *Graph[V]) Succ(i int) []int32 { return g.read().out(i) }

// Pred returns the direct predecessors of vertex i, as Succ does.
func (g *Graph[V]) Pred(i int) []int32 { return g.read().in(i) }
