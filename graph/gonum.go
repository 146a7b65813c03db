package graph

import (
	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/encoding"
)

// Vertex is a vertex of a graph as gonum sees it: the nodes that Node, Nodes,
// From and To return are of this type. Two of them are equal if they are the
// same vertex of the same graph.
type Vertex[V any] struct {
	g *Graph[V]
	i int32
}

// ID returns the vertex's index, which is its gonum node id.
func (v Vertex[V]) ID() int64 { return int64(v.i) }

// String returns the vertex's id in the graph.
func (v Vertex[V]) String() string { return v.g.ids[v.i] }

// Value returns the vertex's value.
func (v Vertex[V]) Value() V { return v.g.values[v.i] }

// DOTID returns the vertex's id, quoted, for gonum's DOT encoding.
func (v Vertex[V]) DOTID() string { return quoteDOT(v.g.ids[v.i]) }

// Arc is an edge of a graph as gonum sees it, and as the Edge method returns it.
type Arc[V any] struct {
	g    *Graph[V]
	edge Edge
}

// From returns the vertex that the edge leaves.
func (a Arc[V]) From() gonum.Node { return Vertex[V]{a.g, int32(a.edge.From)} }

// To returns the vertex that the edge enters.
func (a Arc[V]) To() gonum.Node { return Vertex[V]{a.g, int32(a.edge.To)} }

// ReversedEdge returns the edge as it is: its direction does not depend on the
// caller.
func (a Arc[V]) ReversedEdge() gonum.Edge { return a }

// Link returns the edge as this package has it.
func (a Arc[V]) Link() Edge { return a.edge }

// Attributes returns how gonum's DOT encoding draws the edge: as WriteDOT does.
func (a Arc[V]) Attributes() []encoding.Attribute { return edgeAttributes(a.edge) }

// DOTID returns the graph's name, quoted, for gonum's DOT encoding.
func (g *Graph[V]) DOTID() string { return quoteDOT(g.Name) }

// Node returns the vertex with this index as a Vertex[V], or nil.
func (g *Graph[V]) Node(id int64) gonum.Node {
	if !g.has(id) {
		return nil
	}
	return Vertex[V]{g, int32(id)}
}

// Nodes returns all vertices in the order of their indices.
func (g *Graph[V]) Nodes() gonum.Nodes {
	if len(g.ids) == 0 {
		return gonum.Empty
	}
	return &nodes[V]{g: g, n: len(g.ids), at: -1}
}

// From returns the direct successors of the vertex with this index, and nothing
// if there is no such vertex.
func (g *Graph[V]) From(id int64) gonum.Nodes {
	if !g.has(id) {
		return gonum.Empty
	}
	return g.row(g.Succ(int(id)))
}

// To returns the direct predecessors, as From does.
func (g *Graph[V]) To(id int64) gonum.Nodes {
	if !g.has(id) {
		return gonum.Empty
	}
	return g.row(g.Pred(int(id)))
}

// HasEdgeFromTo reports whether there is an edge from one index to the other.
func (g *Graph[V]) HasEdgeFromTo(uid, vid int64) bool {
	_, ok := g.read().find(int(uid), int(vid))
	return ok
}

// HasEdgeBetween reports whether there is an edge in either direction.
func (g *Graph[V]) HasEdgeBetween(xid, yid int64) bool {
	return g.HasEdgeFromTo(xid, yid) || g.HasEdgeFromTo(yid, xid)
}

// Edge returns the edge from one index to the other as an Arc[V], or nil. It is
// gonum's form of Link.
func (g *Graph[V]) Edge(uid, vid int64) gonum.Edge {
	e, ok := g.Link(int(uid), int(vid))
	if !ok {
		return nil
	}
	return Arc[V]{g, e}
}

func (g *Graph[V]) has(id int64) bool { return id >= 0 && id < int64(len(g.ids)) }

func (g *Graph[V]) row(r []int32) gonum.Nodes {
	if len(r) == 0 {
		return gonum.Empty
	}
	return &nodes[V]{g: g, row: r, n: len(r), at: -1}
}

// nodes iterates over a row, or over all n vertices if there is none.
type nodes[V any] struct {
	g   *Graph[V]
	row []int32
	n   int
	at  int // -1 before the first, n after the last
}

func (it *nodes[V]) Len() int { return max(it.n-it.at-1, 0) }

func (it *nodes[V]) Next() bool {
	it.at = min(it.at+1, it.n)
	return it.at < it.n
}

func (it *nodes[V]) Reset() { it.at = -1 }

func (it *nodes[V]) Node() gonum.Node {
	if it.at < 0 || it.at >= it.n {
		return nil
	}
	return it.vertex(it.at)
}

// NodeSlice returns the nodes that are left, and leaves none.
func (it *nodes[V]) NodeSlice() []gonum.Node {
	if it.Len() == 0 {
		return nil
	}
	s := make([]gonum.Node, 0, it.Len())
	for it.Next() {
		s = append(s, it.vertex(it.at))
	}
	return s
}

func (it *nodes[V]) vertex(at int) Vertex[V] {
	if it.row == nil {
		return Vertex[V]{it.g, int32(at)}
	}
	return Vertex[V]{it.g, it.row[at]}
}

var (
	_ gonum.Directed      = (*Graph[any])(nil)
	_ gonum.Nodes         = (*nodes[any])(nil)
	_ gonum.NodeSlicer    = (*nodes[any])(nil)
	_ encoding.Attributer = Arc[any]{}
)
