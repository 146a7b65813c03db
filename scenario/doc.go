// Package scenario tests graphs. A file *_test.yaml names a graph and has tests. Each test runs the graph with the whole
// engine on a simulated machine (package engine/simulate), in virtual time. It compares the outcome with the expectations of the file.
//
// # The life of a test
//
//	prepare   the machine gets its facts, its things and its clock
//	act       the first step alters it
//	start     the engine reads the graph, and runs it
//	settle    the graph comes to rest; the clock moves where the graph waits for a timer
//	pass      the time after which the step expects something passes
//	expect    the things and the runs since the last step are compared
//
// Each further step begins at act. At the end of the last one the engine ends, and its machine is gone.
//
// A failure is never the end of a test: all differences are told at once, as a graph tells all its faults. Only a graph that
// cannot be used, or that does not come to rest, ends the test early.
//
// # Laws
//
//   - Nothing of this machine is altered, and no command is run. A program that makes the graph runs without access to the machine. The engine keeps its state in a temporary folder.
//   - Every fault has its place in the test file: file, line and column.
//   - A command that the test does not script is a failure that says so.
//   - A test does not wait for real time. The clock of the machine moves where a step says after. It moves, too, where the graph
//     is not at rest without that.
//   - The store of a test has this machine alone. The keys hosts and scheduled of a test stand for other hosts.
//   - The machine of a test is its own: no test sees the things of another one.
//
// The verb `mgmt test` is the user of this package.
package scenario
