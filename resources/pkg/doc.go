// Package pkg has the kind pkg: a package of the machine's package manager. Res is its type, and importing the package
// registers the kind in engine.DefaultRegistry. The package backends below it knows the package managers.
//
// # Laws
//
//   - Packages that are due together are one transaction where the package manager can do that.
//   - A package that waited in vain for the lock of another process is looked at again as soon as the lock is free.
//   - The database is read once for all packages, and again after each change.
package pkg
