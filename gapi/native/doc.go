// Package native is the frontend of stored objects: the objects of this host's topics are declarations of the graph. A
// change of an object in the store reaches the graph without a file.
//
// # Laws
//
//   - The graph is that of one revision of the store. Objects that changed together are declared together.
//   - Changes that come while a graph is put into effect make one graph together. At most one change of each object
//     waits, so a slow engine never makes the memory grow.
//   - A graph is yielded as its difference to the one before (gapi.Part), so that the cost of a change is that of its objects.
//   - Every object is optional (gapi.Declaration). An object that cannot be read or built is put aside with its
//     dependents. Its Status says why, and all others go on.
//   - A store that goes away changes nothing: the last graph goes on, and one warning says so. The frontend catches up
//     when the store is back. A store that is away at the start does not hold back other frontends: until it answers, the
//     graph of objects is empty.
//   - A Status is written only where it has changed, at most ten times a second, and wakes no Watch of objects.
//   - A Status of an object that has left this host's topics is removed.
//
// # Ownership
//
// The program owns the World and closes it after Run. The pump is the one goroutine that reads the World, and it ends
// with the sequence of graphs. Writer.Run is on a goroutine of the program, and alone writes to it.
package native
