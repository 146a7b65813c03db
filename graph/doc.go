// Package graph holds directed graphs of named vertices on dense storage. It is
// the form that a graph of resources has from the moment a frontend has read it
// until the reactor runs it, and the source of the drawings.
//
// # Laws
//
//  1. Dense. A vertex is an index from 0 to Len()-1, given out by Add in order,
//     and never changes or goes away; a smaller graph is a new graph. Its id is
//     a string that no other vertex of the graph has, such as "file[/etc/x]".
//  2. One edge per pair. However often an edge between two vertices is declared,
//     it is one edge for counting, order, cycles and drawing; Declarations
//     yields each declaration. The edge notifies if one of its declarations
//     does, and is implied only if all of them are.
//  3. Stable. Every list, iterator, order, error and drawing depends only on
//     the order in which vertices and edges were added, and, as far as edges
//     between different pairs go, not even on that: neighbours come in the
//     order of their indices.
//  4. No panic on bad input. A self edge, a duplicate id and an unknown index in
//     Connect are errors; a cycle is found by Sort and Cycle and returned as a
//     path. A graph with a cycle can still be read, compared and drawn. An
//     index that this graph never gave out, passed to one of the methods that
//     read a vertex, is a bug of the caller, and panics as a slice does.
//  5. Cost. Add and Connect take constant time. The first read after writing
//     lays out both adjacencies in O(vertices + edges) and keeps them; so write
//     first, then read: each change from reading back to writing costs that
//     again. Succ and Pred then cost nothing, Link and the HasEdge methods one
//     binary search in the shorter of two rows, Sort is linear. No recursion:
//     a chain of a million is as good as a star.
//  6. Many readers or one writer. Methods that read may run at once on any
//     number of goroutines, the first of them included; Add, Connect, Grow and
//     SetValue may run at the same time as nothing else. No method blocks on anything but
//     that first layout.
//
// # gonum
//
// *Graph[V] is a gonum graph.Directed whose node ids are the indices, so
// everything in gonum's topo, traverse, path and encoding packages works on it.
// gonum's interface takes the method name Edge; the edge between two indices,
// as a value of this package, is Link. Do not call topo.DirectedCyclesIn on a
// graph that a user wrote: it lists all cycles, and there are exponentially
// many. Cycle returns one, the shortest.
package graph
