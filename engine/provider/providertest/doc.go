// Package providertest is the suite of laws that every provider must keep, over a
// world of its own below a temporary folder. A test of a provider is mostly one call:
//
//	func TestSuite(t *testing.T) {
//		providertest.Run(t, providertest.Suite{
//			Definition: definition,
//			New: func(t *testing.T, dir string) func() provider.Provider {
//				return func() provider.Provider { return &notes{dir: dir} }
//			},
//			Thing: func(dir string) providertest.Thing {
//				return providertest.Thing{Title: "milk", Values: providertest.Values{"text": "two bottles"}}
//			},
//			Updates: map[string]providertest.Values{"less": {"text": "one bottle"}},
//			Drifts: map[string]func(t *testing.T, dir string){
//				"deleted": func(t *testing.T, dir string) { os.Remove(dir + "/milk") },
//			},
//		})
//	}
//
// Run calls the methods of the provider one by one, as a transaction does. Then
// enginetest.Run checks the kind that is made of it.
//
// # Laws of this package
//
//   - Each law is a function that returns an error; Run only makes a subtest of each.
//     The suite is tested by a provider with bugs; each of them breaks one law.
//   - Only claims of the definition and things of the suite are checked. A law without
//     its feature, or without things to try it with, holds.
//   - Nothing outside testing's temporary folders is touched.
//
// Run counts goroutines and file descriptors of the process, so it must not be called
// from a parallel test.
package providertest
