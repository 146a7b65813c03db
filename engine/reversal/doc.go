// Package reversal has the records by which a resource can be undone: the state before its first
// change, and all that it has managed since. The reactor writes them, step reverse of package
// transform makes resources of them when an id has left the graph, and the reactor deletes them when
// all is as before.
package reversal
