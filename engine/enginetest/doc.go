// Package enginetest has the tools for tests of resources. Fake is an Init that records
// its use, FakeHost a machine, and Clock a clock that a test moves. Run is the suite of
// laws that every kind must keep.
//
// A test of a kind is mostly one call:
//
//	func TestSuite(t *testing.T) {
//		enginetest.Run(t, enginetest.Suite{
//			Kind: "motd",
//			New: func(t *testing.T, dir string) engine.Res {
//				return &MotdRes{Path: dir + "/motd", Text: "hello"}
//			},
//			Drifts: map[string]func(t *testing.T, dir string){
//				"deleted": func(t *testing.T, dir string) { os.Remove(dir + "/motd") },
//			},
//		})
//	}
//
// # Laws of this package
//
//   - A Fake and a FakeHost start no goroutine, sleep nowhere, and work inside
//     a testing/synctest bubble. All their methods are safe for concurrent use.
//   - A Fake gives a resource the same as the engine. It fails the test when the
//     resource breaks a rule of Init that can be seen from there: an Event before
//     Running, an unused or twice used Busy.
//   - The suite makes, validates, initialises, reads and cleans up by package lifecycle, as the
//     engine does. So a Shared is open from Init to Cleanup, and each CheckApply and Read comes
//     between its Begin and its End.
//   - Nothing outside testing's temporary folders is touched.
//   - Each law of the suite is a function that returns an error; Run only makes
//     a subtest of each. The suite is tested by kinds that break one law each.
//
// Run counts goroutines and file descriptors of the process, so it must not be
// called from a parallel test.
package enginetest
