// Package names has the rules for the names of packages, services and machines. The kinds, the backends and
// the automatic edges share them, and none of these needs another one for a name.
//
// # Laws
//
//   - A name that passes is no option, no path, and no pattern of a tool.
//   - A look at a name does no I/O.
package names
