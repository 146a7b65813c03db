// Package integration tests the program as a whole: the layers of its packages,
// and later its scripts, hosts and clusters. It has nothing to import.
package integration
