package graph

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
)

// Edge says that From comes before To. Both are indices of vertices.
type Edge struct {
	From, To int

	// Name is what the user calls the edge. It is only shown, and may be empty.
	Name string

	// Notify says that a change made by From asks To to refresh.
	Notify bool

	// Pos is where the edge was declared: a file, with Line and Col in it, from 1, or any other text. It is only shown, and may be
	// empty. Place joins the three.
	Pos       string
	Line, Col int32

	// By is the end that has declared it, and to which it belongs. It matters where a part of a graph is changed,
	// and is not shown.
	By Owner

	// Implied says that no one declared the edge as such: it is there because
	// To receives a value from From, or was found to need it.
	Implied bool
}

// Owner is the end of an edge to which it belongs.
type Owner uint8

// The owners of an edge.
const (
	ByNeither Owner = iota // it was declared by itself, or found out
	ByFrom
	ByTo
)

// Place returns where the edge was declared, as file:line:col; empty where that is not known.
func (e Edge) Place() string {
	if e.Line == 0 {
		return e.Pos
	}
	place := strconv.Itoa(int(e.Line))
	if e.Pos != "" {
		place = e.Pos + ":" + place
	}
	if e.Col != 0 {
		place += ":" + strconv.Itoa(int(e.Col))
	}
	return place
}

// decl is a declared edge as it is stored: 16 bytes, whatever its texts.
type decl struct {
	from, to int32
	text     int32 // index into Graph.texts
	flags    uint8
}

// text is what only people read in an edge.
type text struct {
	name, pos string
	line, col int32
}

const (
	flagNotify = 1 << iota
	flagImplied
	flagByFrom
	flagByTo
)

// Connect declares an edge. An edge from a vertex to itself is a *CycleError
// with that path, and an index that is not in the graph an error; neither
// changes anything. Declaring an edge between two vertices again adds a
// declaration to the one edge between them (law 2). An edge that closes a longer
// cycle is taken, and found by Sort or Cycle.
func (g *Graph[V]) Connect(e Edge) error {
	for _, i := range [...]int{e.From, e.To} {
		if i < 0 || i >= len(g.ids) {
			return fmt.Errorf("no vertex has the index %d", i)
		}
	}
	if e.From == e.To {
		id := g.ids[e.From]
		return &CycleError{Path: []string{id, id}, Edges: []Edge{e}, Shortest: true}
	}
	if len(g.decls) >= maxIndex {
		return fmt.Errorf("a graph has at most %d declared edges", maxIndex)
	}
	g.decls = append(g.decls, g.pack(e))
	g.changed()
	return nil
}

// pack stores the texts of an edge and returns the rest.
func (g *Graph[V]) pack(e Edge) decl {
	d := decl{from: int32(e.From), to: int32(e.To)}
	if e.Notify {
		d.flags |= flagNotify
	}
	if e.Implied {
		d.flags |= flagImplied
	}
	switch e.By {
	case ByFrom:
		d.flags |= flagByFrom
	case ByTo:
		d.flags |= flagByTo
	}
	if t := (text{e.Name, e.Pos, e.Line, e.Col}); t == g.texts[len(g.texts)-1] {
		d.text = int32(len(g.texts) - 1) // of many edges of one name
	} else if t != (text{}) {
		d.text = int32(len(g.texts))
		if len(g.texts) == 1 { // in a graph with texts, most edges have one of their own
			g.texts = slices.Grow(g.texts, max(cap(g.decls)-len(g.decls), 0))
		}
		g.texts = append(g.texts, t)
	}
	return d
}

// owner returns the end to which a declaration belongs.
func (d decl) owner() Owner {
	switch {
	case d.flags&flagByFrom != 0:
		return ByFrom
	case d.flags&flagByTo != 0:
		return ByTo
	}
	return ByNeither
}

// unpack undoes pack.
func (g *Graph[V]) unpack(d decl) Edge {
	t := g.texts[d.text]
	return Edge{
		By:   d.owner(),
		From: int(d.from), To: int(d.to),
		Name: t.name, Pos: t.pos, Line: t.line, Col: t.col,
		Notify:  d.flags&flagNotify != 0,
		Implied: d.flags&flagImplied != 0,
	}
}

// Link returns the edge between two vertices and whether there is one. If it was
// declared more than once, it notifies if one declaration does, it is implied if
// all are, and Name and Pos are those of the first declaration that has one, an
// implied one coming last. By is that of the first declaration. Any two numbers may be asked for.
func (g *Graph[V]) Link(from, to int) (Edge, bool) {
	l := g.read()
	k, ok := l.find(from, to)
	if !ok {
		return Edge{}, false
	}
	return g.edge(l, k), true
}

// Declarations yields every declaration of the edge between two vertices in the
// order of declaration, and nothing if there is none.
func (g *Graph[V]) Declarations(from, to int) iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		l := g.read()
		k, ok := l.find(from, to)
		if !ok {
			return
		}
		for _, d := range l.declared(k) {
			if !yield(g.unpack(d)) {
				return
			}
		}
	}
}

// Declared yields every declaration of every edge, in the order of From, then To, then of declaration.
func (g *Graph[V]) Declared() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for _, d := range g.read().decls {
			if !yield(g.unpack(d)) {
				return
			}
		}
	}
}

// Ends are a declaration of an edge without what only people read in it. The fields mean what those of Edge mean.
type Ends struct {
	From, To int
	Notify   bool
	By       Owner
}

// Ends returns the edge without what only people read in it.
func (e Edge) Ends() Ends { return Ends{From: e.From, To: e.To, Notify: e.Notify, By: e.By} }

// DeclaredEnds yields the Ends of what Declared yields, in the same order. It is the faster of both in a large graph, since it
// looks up no texts.
func (g *Graph[V]) DeclaredEnds() iter.Seq[Ends] {
	return func(yield func(Ends) bool) {
		for _, d := range g.read().decls {
			if !yield(Ends{From: int(d.from), To: int(d.to), Notify: d.flags&flagNotify != 0, By: d.owner()}) {
				return
			}
		}
	}
}

// Edges yields every edge as Link shows it, in the order of From, then To.
func (g *Graph[V]) Edges() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		l := g.read()
		for k := range l.succ {
			if !yield(g.edge(l, int32(k))) {
				return
			}
		}
	}
}

// OutEdges yields the edges that leave vertex i, in the order of To.
func (g *Graph[V]) OutEdges(i int) iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		l := g.read()
		for k := l.outStart[i]; k < l.outStart[i+1]; k++ {
			if !yield(g.edge(l, k)) {
				return
			}
		}
	}
}

// InEdges yields the edges that enter vertex i, in the order of From.
func (g *Graph[V]) InEdges(i int) iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		l := g.read()
		for _, k := range l.inEdge[l.inStart[i]:l.inStart[i+1]] {
			if !yield(g.edge(l, k)) {
				return
			}
		}
	}
}

// edge merges the declarations of edge k into one.
func (g *Graph[V]) edge(l *layout, k int32) Edge {
	all := l.declared(k)
	e := g.unpack(all[0])
	for _, d := range all[1:] {
		e = merge(e, g.unpack(d))
	}
	return e
}

// merge adds a later declaration of an edge to what earlier ones said.
func merge(e, later Edge) Edge {
	if e.Implied && !later.Implied {
		e, later = later, e
	}
	if e.Name == "" {
		e.Name = later.Name
	}
	if e.Pos == "" && e.Line == 0 {
		e.Pos, e.Line, e.Col = later.Pos, later.Line, later.Col
	}
	e.Notify = e.Notify || later.Notify
	return e
}
