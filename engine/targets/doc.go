// Package targets is about resources whose thing is on another machine or device, and about the
// names that they have in a graph.
package targets
