package graph

import "slices"

// Clone returns a graph with the same name, vertices and edges. The values are
// the same ones, not copies. Changing one of the two graphs does not change the
// other; the known order is kept.
func (g *Graph[V]) Clone() *Graph[V] {
	l := g.read() // so that decls are in the order that the layout has
	c := &Graph[V]{
		Name:   g.Name,
		ids:    slices.Clip(g.ids), // only ever appended to
		values: slices.Clone(g.values),
		index:  g.index.clone(),
		decls:  slices.Clip(g.decls),
		texts:  slices.Clip(g.texts),
	}
	c.layout.Store(l)
	return c
}

// Bare returns a clone whose values are the zero V: the ids and edges, for a caller that must not keep the values.
func (g *Graph[V]) Bare() *Graph[V] {
	c := g.Clone()
	clear(c.values)
	return c
}

// Shape stands for the ids and edges of a graph. Two shapes are equal only if both are the same, so that nothing has to be
// compared. Those of a graph and of its clone are equal until one of the two changes; others never are.
// The zero Shape is of no graph.
type Shape struct{ l *layout }

// Shape returns the shape of the graph as it is now.
func (g *Graph[V]) Shape() Shape { return Shape{g.read()} }
