// Package kindtest has the helpers of the tests of all kinds: a resource at work on a fake host,
// files that are laid and compared, namespaces, and a fake systemd. Only tests import it.
//
// # Laws
//
//   - A helper that prepares ends the test on an error. A helper that compares marks the
//     test as failed and goes on.
//   - Everything that a helper starts ends with the test.
//   - Waits end after enginetest.Patience, and no test depends on the length of a sleep.
package kindtest
