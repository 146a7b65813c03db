// Package simulate is a machine that is not there. A test of a graph runs the graph on it, in the
// shipped program. Package enginetest gives it to the tests of kinds.
//
// A Host has facts, watches and commands that its owner makes up. A Clock stands still until its owner moves it. A Machine
// has things, such as a file, a package or a user, each with the parameters of its kind. Machine.Kinds replaces the kinds of
// a registry by simulated ones. They derive from the types and the methods of the kinds, so a new kind is simulated without
// code of its own.
//
// # Laws of this package
//
//   - Nothing outside the process is touched: no file, no program, no network.
//   - A simulated resource decodes, validates, compares and names its edges by the code of its kind. Only its look at the
//     machine and its work there are simulated.
//   - A parameter that the graph does not set leaves the thing as it is.
//   - It starts no goroutine and reads no clock. All methods are safe for concurrent use.
package simulate
