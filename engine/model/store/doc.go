// Package store has three stores for the snapshots of models, which answer alike:
//
//   - Maps finds by nested maps, and is the default: a get is one look into a map.
//   - BTree finds in ordered trees, so a query by the beginning of a tuple reads just what it finds.
//   - Linear looks at every object. It is what the others are tested against.
//
// # Laws
//
//   - The meaning of the calls is that of model.Store. No answer depends on which store gives it.
//   - A list is sorted by id, and has each object once.
//   - A call that fails has changed nothing.
//   - A snapshot is kept and handed over as it is; nothing is copied.
package store
