// Package declaration has what a kind may say about a declaration before any resource runs: how a
// parameter is written on a command line, what is valid and seldom meant, where parameters end up in a
// file, and by what a resource is identified. Each is an interface that a resource may implement.
package declaration
