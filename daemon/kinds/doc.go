// Package kinds makes the kinds that a graph may use: those of the program, and what folders of backends, types, providers, targets and
// models add to them.
//
// Laws:
//   - A Set never changes. A folder with a fault makes no Set, so the one before stays in effect.
//   - A folder whose files are as before adds the same values as before, by their address. So a reload that alters nothing makes no
//     resource anew, and a provider keeps its process.
//   - All faults of all folders come together.
//   - A fault of one provider takes away its own kinds alone, with a warning.
package kinds
