// Package lazy makes an world.World that opens its store at the first use. So a
// daemon whose graph shares nothing pays neither the time nor the memory of a store.
//
// # Laws
//
//   - Until a method needs the store, nothing is opened and no file is made.
//   - An opening that fails is an error of the call, and the next call tries again.
//   - Close closes the opened store, once. A World that was never used closes nothing,
//     and opens nothing after that.
package lazy
