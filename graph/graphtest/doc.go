// Package graphtest has the laws of package graph as code, for the tests of
// graph itself and of everything that builds graphs or turns one into another.
//
// # Use
//
// Check holds one graph against all laws that concern a single graph; call it on
// what a loader, builder or transformation made. CheckDirected is the part that
// holds for any gonum graph.Directed. Run checks a way of building graphs on
// random specifications, acyclic and not, with ids that are hard to draw.
//
// The models that the laws compare with are naive on purpose: matrices, and
// cubic in the number of vertices. Up to MaxModel vertices everything is
// checked; above, only laws that take linear time.
//
// All checks report through TB, which *testing.T, *testing.B, *testing.F and
// *rapid.T are, and go on after a broken law where that makes sense.
//
// # Cost
//
// Up to MaxModel vertices a check takes cubic time. Above, it takes time in proportion to the
// vertices and the edges.
//
// # Ownership
//
// A check reads the graph and alters nothing in it. It keeps nothing after its return, and starts
// no goroutine. Two checks may read one graph at the same time.
package graphtest
