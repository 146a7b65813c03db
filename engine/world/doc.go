// Package world is the store that hosts share: one key-value store with revisions, watchers and
// leases. The packages below it implement World, and worldtest has the suite that each of them
// passes.
//
// A kind meets it as Init.World, and only if what it manages lies in the store, as kv and schedule
// do.
package world
