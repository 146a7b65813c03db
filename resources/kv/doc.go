// Package kv has the kind kv: a value that hosts share in their store, under a key. Res is its type, and
// importing the package registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - With a value, the store is brought to it, and brought back when another host or a person alters it.
//   - Without a value nothing is written. The value of the store is sent, and sent anew with each change.
//   - While the store is out of reach, a value that was read before goes on to be sent.
//   - Every host of the topic can read a value, so secrets are refused.
package kv
