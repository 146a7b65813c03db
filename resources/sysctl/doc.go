// Package sysctl has the kind sysctl: a parameter of the kernel, its running value, and the value from the next boot on.
// Res is its type, and importing the package registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - The kernel announces no change of a parameter, so the running value is polled.
//   - Values that differ only in blanks are one value.
//   - A value that the kernel shows to root alone is in no change and in no log, unless it is a number.
package sysctl
