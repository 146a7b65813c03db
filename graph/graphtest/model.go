package graphtest

import gonum "gonum.org/v1/gonum/graph"

// MaxModel is the number of vertices up to which graphs are compared with the
// naive model.
// The model takes the cube of that number in steps.
const MaxModel = 200

// Model is a directed graph as a matrix, with slow and plain answers to what
// package graph answers fast. Node ids must be 0 to n-1.
// It may be altered only before the first question, since the distances are kept.
type Model struct {
	N    int
	Edge [][]bool
	dist [][]int // least number of edges from one to another, at least 1; 0 if none
}

// NewModel returns an empty model of n vertices.
func NewModel(n int) *Model {
	m := &Model{N: n, Edge: make([][]bool, n)}
	for i := range m.Edge {
		m.Edge[i] = make([]bool, n)
	}
	return m
}

// ModelOf reads a model from HasEdgeFromTo of each pair.
// It asks for each pair, so it does not depend on the iterators that are also tested.
func ModelOf(g gonum.Directed) *Model {
	m := NewModel(g.Nodes().Len())
	for u := range m.N {
		for v := range m.N {
			m.Edge[u][v] = g.HasEdgeFromTo(int64(u), int64(v))
		}
	}
	return m
}

// distances is the algorithm of Floyd and Warshall.
// It is computed once and then kept.
func (m *Model) distances() [][]int {
	if m.dist != nil {
		return m.dist
	}
	d := make([][]int, m.N)
	for u := range d {
		d[u] = make([]int, m.N)
		for v, edge := range m.Edge[u] {
			if edge {
				d[u][v] = 1
			}
		}
	}
	for k := range d {
		for u := range d {
			for v := range d {
				if by := d[u][k] + d[k][v]; d[u][k] > 0 && d[k][v] > 0 && (d[u][v] == 0 || by < d[u][v]) {
					d[u][v] = by
				}
			}
		}
	}
	m.dist = d
	return d
}

// Path reports whether at least one edge leads from u to v, by whatever way.
func (m *Model) Path(u, v int) bool { return m.distances()[u][v] > 0 }

// ShortestCycle returns the number of edges of the shortest cycle, 0 if none.
func (m *Model) ShortestCycle() int {
	least := 0
	for u := range m.N {
		if d := m.distances()[u][u]; d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// Order places, again and again, the first vertex whose predecessors are all
// placed. It is shorter than N if there is a cycle.
// It is the one order that package graph promises: the least free index comes next.
func (m *Model) Order() []int {
	var order []int
	placed := make([]bool, m.N)
	for {
		v := m.nextFree(placed)
		if v < 0 {
			return order
		}
		placed[v] = true
		order = append(order, v)
	}
}

// It returns -1 where none is free: all are placed, or there is a cycle.
func (m *Model) nextFree(placed []bool) int {
	for v := range m.N {
		free := !placed[v]
		for u := range m.N {
			free = free && (!m.Edge[u][v] || placed[u])
		}
		if free {
			return v
		}
	}
	return -1
}

// Redundant reports whether the edge from u to v repeats a longer path. The graph
// must be acyclic.
// Such an edge can be left out of a drawing, and no order changes.
func (m *Model) Redundant(u, v int) bool {
	for w := range m.N {
		if m.Edge[u][w] && m.Path(w, v) {
			return true
		}
	}
	return false
}
