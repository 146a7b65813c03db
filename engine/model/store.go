package model

// Store keeps snapshots in memory and finds them by their indexes. Package model/store has three of them. All methods
// may be called from many goroutines, and none blocks; the context of Source is not looked at.
//
// A nested object with an id is kept under its own model too, for as long as an object that nests it is kept. An index
// that goes through a reference follows its target: a change of the target moves the keys of the objects that refer to
// it. A target that is not there is Missing.
type Store interface {
	Source

	// Put keeps o in the place of the snapshot of its id. A snapshot with a revision never takes the place of one, or of
	// a deletion, of a later revision. An equal snapshot changes nothing. An object without an id,
	// or without a required field that an index reads, is refused with a Validation.
	Put(o *Object) error
	// Fill is Put for an object that was read at a revision: it loses against all knowledge of the same or a later
	// revision. It reports whether o was taken.
	Fill(o *Object, revision int64) bool
	// Delete forgets an object, and remembers that it was gone at the revision (0 remembers nothing). It reports
	// whether there was one.
	Delete(m *Model, id string, revision int64) bool
	// Invalidate marks a snapshot as out of date: Peek says so until the next Put or Fill.
	Invalidate(m *Model, id string)
	// Peek returns a snapshot, nil for none, and whether it is valid.
	Peek(m *Model, id string) (o *Object, valid bool)
	// Stale reports whether the store now has something else than o under its id, or nothing.
	Stale(o *Object) bool
	// Clear forgets everything, the memory of deletions too. Snapshots that were handed over stay as they are.
	Clear()
	// Len returns how many objects of a model there are.
	Len(m *Model) int
}
