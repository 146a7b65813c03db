// Package pkglock has the locks of package managers: which process holds one now, and a wait until it is let go of. The
// backends of packages use it, and so do services, which no package manager may start behind the back of the graph.
//
// # Laws
//
//   - A look takes no lock, waits for nothing and alters nothing.
//   - A wait ends with the events of the kernel where there are some, and polls only where there are none.
//   - One goroutine waits for all resources of a Waits, and has ended when Close returns.
package pkglock
