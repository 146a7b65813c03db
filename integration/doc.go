// Package integration tests the program as a whole: the layers of its packages,
// its scripts, its examples and its documents. It has nothing to import.
package integration
