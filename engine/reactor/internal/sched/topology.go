package sched

import (
	"errors"
	"fmt"
	"slices"
)

// Topology is a graph, as the difference to the one before.
type Topology struct {
	// N bounds the slots: they are 0 to N-1. A slot with no vertex is a hole.
	N int
	// Removed and Added are the slots whose vertices go and come. A slot in both
	// gets a new vertex. All others keep theirs, with all their state.
	Removed, Added []Vertex
	// Edges are all edges of the new graph, each from the earlier vertex to the later one. Doubles
	// do no harm.
	Edges [][2]Vertex
	// Batch is the batch key of each slot, or -1. Nil: no vertex has one. A key
	// is a small number that means the same over swaps.
	Batch []int32
}

// CycleError says that a topology has a cycle, and cannot be run.
type CycleError struct {
	Path []Vertex // along the edges; the first one follows the last
}

func (e *CycleError) Error() string { return fmt.Sprintf("sched: cycle of %d vertices", len(e.Path)) }

// ErrSlot is the error of a topology whose slots contradict each other or those
// in use.
var ErrSlot = errors.New("sched: bad slot")

// shape is what the machine derives from a topology.
type shape struct {
	off   []int32
	pred  []Vertex
	succ  []Vertex // of v: succ[out[v]:out[v+1]]
	out   []int32
	level []int32
	depth int      // levels in use
	order []Vertex // all vertices, each after its ancestors
}

// presence returns which slots hold a vertex after the swap to t.
func (t Topology) presence(m *Machine) ([]bool, error) {
	if t.Batch != nil && len(t.Batch) != t.N {
		return nil, fmt.Errorf("%w: %d batch keys for %d slots", ErrSlot, len(t.Batch), t.N)
	}
	in := make([]bool, max(t.N, len(m.vs)))
	for v := range m.vs {
		in[v] = m.vs[v].phase != phaseHole
	}
	for _, v := range t.Removed {
		if v < 0 || int(v) >= len(in) || !in[v] {
			return nil, fmt.Errorf("%w: %d is removed but not there", ErrSlot, v)
		}
		in[v] = false
	}
	for _, v := range t.Added {
		switch {
		case v < 0 || int(v) >= t.N:
			return nil, fmt.Errorf("%w: %d is added to %d slots", ErrSlot, v, t.N)
		case in[v]:
			return nil, fmt.Errorf("%w: %d is added but there", ErrSlot, v)
		case int(v) < len(m.vs) && (m.vs[v].is(running) || m.vs[v].is(zombie)):
			return nil, fmt.Errorf("%w: %d is added before its last run was forgotten", ErrSlot, v)
		}
		in[v] = true
	}
	for v := t.N; v < len(in); v++ {
		if in[v] {
			return nil, fmt.Errorf("%w: %d is kept beyond %d slots", ErrSlot, v, t.N)
		}
	}
	return in, nil
}

// newShape sorts the edges among the slots that are in.
func newShape(in []bool, edges [][2]Vertex) (*shape, error) {
	n := len(in)
	s := &shape{off: make([]int32, n+1), out: make([]int32, n+1), level: make([]int32, n)}
	for _, e := range edges {
		for _, v := range e {
			if v < 0 || int(v) >= n || !in[v] {
				return nil, fmt.Errorf("%w: an edge ends at %d, a hole", ErrSlot, v)
			}
		}
		s.out[e[0]+1]++
		s.off[e[1]+1]++
	}
	for v := range n {
		s.out[v+1] += s.out[v]
		s.off[v+1] += s.off[v]
	}
	s.fill(edges)
	s.sort(in)
	for v, there := range in {
		if there && s.level[v] < 0 {
			return nil, &CycleError{Path: s.cycle(Vertex(v))}
		}
	}
	return s, nil
}

// fill makes the lists of successors in the order of the edges and from them the
// lists of predecessors in ascending order.
func (s *shape) fill(edges [][2]Vertex) {
	room := len(edges) + spare(len(edges)) // rowsOf keeps them
	s.succ = make([]Vertex, len(edges), room)
	s.pred = make([]Vertex, len(edges), room)
	n := len(s.off) - 1
	at := make([]int32, n)
	copy(at, s.out)
	for _, e := range edges {
		s.succ[at[e[0]]] = e[1]
		at[e[0]]++
	}
	copy(at, s.off)
	for v := range Vertex(n) {
		for _, w := range s.after(v) {
			s.pred[at[w]] = v
			at[w]++
		}
	}
}

func (s *shape) after(v Vertex) []Vertex { return s.succ[s.out[v]:s.out[v+1]] }

// sort finds the order and the levels. On a cycle, or after one, the level stays
// negative.
func (s *shape) sort(in []bool) {
	s.order = make([]Vertex, 0, len(in))
	wait := make([]int32, len(in))
	for v, there := range in {
		if wait[v] = s.off[v+1] - s.off[v]; wait[v] > 0 {
			s.level[v] = -1
		} else if there {
			s.order = append(s.order, Vertex(v))
		}
	}
	for i := 0; i < len(s.order); i++ {
		v := s.order[i]
		for _, w := range s.after(v) {
			if wait[w]--; wait[w] == 0 {
				s.level[w] = s.level[v] + 1
				s.depth = max(s.depth, int(s.level[w]))
				s.order = append(s.order, w)
			}
		}
	}
	s.depth++
}

// cycle returns a cycle above v, which is on one or after one.
func (s *shape) cycle(v Vertex) []Vertex {
	return walkBack(v, func(v Vertex) Vertex {
		preds := s.pred[s.off[v]:s.off[v+1]]
		return preds[slices.IndexFunc(preds, func(p Vertex) bool { return s.level[p] < 0 })]
	})
}

// walkBack goes from v by back until it meets itself, and returns the cycle along the edges.
func walkBack(v Vertex, back func(Vertex) Vertex) []Vertex {
	seen := make(map[Vertex]int)
	var path []Vertex
	for {
		if i, ok := seen[v]; ok {
			path = path[i:]
			break
		}
		seen[v] = len(path)
		path = append(path, v)
		v = back(v)
	}
	slices.Reverse(path)
	return path
}
