// Package resgraph has the graph that runs: a checked graph of resources, what its vertices are, and
// the states in which they can be. Frontends end in one, the steps of package transform alter it, and
// the reactor runs it. No kind sees it.
package resgraph
