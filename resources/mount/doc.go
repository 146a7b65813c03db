// Package mount has the kind mount: a file system at a folder, now and at the next boot. Res is its type, and importing
// the package registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - The table of the kernel and the one of the next boot are both looked at before each step, and again behind it. So
//     changes of other programs are met, and not undone blindly.
//   - A busy file system is never taken away, unless the graph says lazy. The error names the programs that use it.
//   - Only the lines of the wanted mount point are altered in the table.
package mount
