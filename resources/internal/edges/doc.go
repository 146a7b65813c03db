// Package edges collects the wishes of a resource for automatic edges: paths, accounts, packages and
// services. The transform asks for them in the graph, nearest folder first.
//
// # Laws
//
//   - It does no I/O: a wish follows from the declared values alone.
//   - A path that no resource manages is asked for again as its folder, up to the root.
//   - A found thing ends the search of its path, and of no other path.
package edges
