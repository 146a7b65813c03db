package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CycleError is a cycle, as a path that ends where it began.
type CycleError struct {
	// Path has the ids of the vertices, the first one again at the end. It begins
	// with the vertex of the cycle that was added first.
	Path []string

	// Edges has the edges of the path: Edges[i] leads from Path[i] to Path[i+1].
	// Pos of each says where it was declared, Graph.Declarations all the places.
	Edges []Edge

	// Shortest says that no cycle of the graph is shorter. It is false only if
	// the search gave up (see Cycle).
	Shortest bool
}

// maxShown bounds the ids in the text of a CycleError.
const maxShown = 16

// Error returns "cycle: a -> b -> a". The middle of a long path is left out, and
// ids that would garble a line are quoted.
func (e *CycleError) Error() string {
	head, tail := e.Path, e.Path[:0]
	var ids []string
	if len(e.Path) > maxShown {
		head, tail = e.Path[:maxShown/2], e.Path[len(e.Path)-maxShown/2:]
	}
	for _, id := range head {
		ids = append(ids, show(id))
	}
	if cut := len(e.Path) - len(head) - len(tail); cut > 0 {
		ids = append(ids, fmt.Sprintf("(%d more)", cut))
	}
	for _, id := range tail {
		ids = append(ids, show(id))
	}
	return "cycle: " + strings.Join(ids, " -> ")
}

// show returns an id as it stands in an error: itself, or quoted if it is empty
// or has characters that do not print.
func show(id string) string {
	if id == "" || strings.ContainsFunc(id, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(id)
	}
	return id
}

// Cycle returns the shortest cycle, or nil if there is none; of several, always
// the same one.
//
// It looks only inside strongly connected components, and searches in breadth
// from every vertex that a depth-first search came back to: each cycle has one.
// A search goes no deeper than the best cycle so far, and leaves out the
// vertices searched from before. So a graph that is acyclic but for a few edges,
// and a graph full of short cycles, both cost little more than reading it. An exact
// search could cost vertices times edges; the search gives up after 2^25 steps
// (about half a second), and Shortest is then false.
func (g *Graph[V]) Cycle() *CycleError {
	l := g.read()
	if l.sorted() {
		return nil
	}
	l.cycleOnce.Do(func() { l.cycle = l.findCycle(cycleBudget) })
	return g.cycleError(l.cycle)
}

// cycleError turns the vertices of a cycle into the error.
func (g *Graph[V]) cycleError(c foundCycle) *CycleError {
	e := &CycleError{Shortest: c.shortest}
	for at, v := range c.path {
		edge, _ := g.Link(int(v), int(c.path[(at+1)%len(c.path)]))
		e.Path = append(e.Path, g.ids[v])
		e.Edges = append(e.Edges, edge)
	}
	e.Path = append(e.Path, e.Path[0])
	return e
}

const cycleBudget = 1 << 25

// foundCycle is a cycle as its vertices, each once, the lowest index first.
type foundCycle struct {
	path     []int32
	shortest bool
	steps    int // what finding it cost, in edges looked at
}

// findCycle returns the shortest cycle of a graph that has one. Beyond the
// budget it starts no new search.
func (l *layout) findCycle(budget int) foundCycle {
	c := l.components()
	s := cycleSearch{l: l, comp: c.of, steps: c.steps, seen: make([]int32, l.n), parent: make([]int32, l.n)}
	shortest := true
	for _, head := range c.heads {
		if len(s.best) == 2 {
			break // there are no self edges
		}
		if s.best != nil && s.steps > budget {
			shortest = false
			break
		}
		s.from(head)
	}
	least := slices.Index(s.best, slices.Min(s.best))
	path := slices.Concat(s.best[least:], s.best[:least])
	return foundCycle{path: path, shortest: shortest, steps: s.steps}
}

// cycleSearch is one breadth-first search after the other, each for the shortest
// cycle through one vertex that avoids those searched before.
type cycleSearch struct {
	l      *layout
	comp   []int32 // negative: in no cycle, or searched
	seen   []int32 // the number of the search that saw the vertex last
	parent []int32
	queue  []int32
	round  int32
	best   []int32 // the shortest cycle so far
	steps  int
}

// from searches the shortest cycle through a vertex, keeps it if it is shorter
// than the best one, and takes the vertex out of all later searches.
func (s *cycleSearch) from(head int32) {
	s.round++
	s.queue = append(s.queue[:0], head)
	s.seen[head] = s.round
	for at, depth := 0, 1; at < len(s.queue) && (s.best == nil || depth < len(s.best)); depth++ {
		for end := len(s.queue); at < end; at++ {
			if s.expand(s.queue[at], head) {
				s.keep(s.queue[at], head)
				at = len(s.queue)
				break
			}
		}
	}
	s.comp[head] = -1
}

// expand queues the successors of a vertex, and reports whether one is head.
func (s *cycleSearch) expand(v, head int32) bool {
	row := s.l.out(int(v))
	s.steps += len(row)
	for _, w := range row {
		switch {
		case w == head:
			return true
		case s.comp[w] == s.comp[head] && s.seen[w] != s.round:
			s.seen[w] = s.round
			s.parent[w] = v
			s.queue = append(s.queue, w)
		}
	}
	return false
}

// keep stores the path from head to last, from which an edge leads to head.
func (s *cycleSearch) keep(last, head int32) {
	s.best = s.best[:0]
	for v := last; v != head; v = s.parent[v] {
		s.best = append(s.best, v)
	}
	s.best = append(s.best, head)
	slices.Reverse(s.best)
}
