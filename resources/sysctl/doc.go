// Package sysctl has the kind sysctl: a parameter of the kernel, its running value, and the value from the next boot on.
// Res is its type, and importing the package registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - The kernel announces no change of a parameter, so the running value is polled.
//   - Values that differ only in blanks are one value.
//   - A value that the kernel shows to root alone is in no change and in no log, unless it is a number.
//   - A parameter is named by its path below /proc/sys, and no name leads out of that tree.
//   - The file keeps all lines of others, in their order. If two lines name one parameter, the last line counts, as for sysctl(8).
//
// # Cost
//
// A look at the running value opens one file of /proc. Watch makes one look every ten seconds for
// each resource with runtime, and none without. The file is watched, and not polled.
package sysctl
