package mvcc

// Version is what a key held from a revision on.
type Version struct {
	Key     string
	Rev     int64
	Created int64 // the revision that created the key; 0 of a deletion
	Lease   int64 // the number of its lease; 0 for none
	Deleted bool
	Value   []byte
}

// FirstRev is the revision of an empty Backend. It is not 0: a page of an empty store could not be told from one as it is
// now, and a list of several pages would lose what is written between them.
const FirstRev = 1

// State is what a Backend knows of itself.
type State struct {
	Rev   int64 // the newest revision; FirstRev before the first Put
	Floor int64 // changes up to this revision are forgotten
	Log   int   // changes in the history
}

// Change is one entry of the history.
type Change struct {
	Rev  int64
	Time int64 // of the commit, in seconds since 1970; it only bounds the history
	Key  string
}

// Reader sees one moment of a Backend. What it yields is valid until View or Update
// returns, and is never altered; yield must not call the Backend.
type Reader interface {
	State() State
	// Last returns the newest version of a key up to a revision, also a deletion.
	Last(key string, at int64) (v Version, ok bool, err error)
	// Scan yields, sorted by key, the newest version up to a revision of each key with
	// the prefix that is greater than after. Deletions are left out.
	Scan(prefix, after string, at int64, yield func(Version) bool) error
	// Changes yields the history behind a revision, in order.
	Changes(after int64, yield func(Change) bool) error
}

// Writer alters a Backend within an Update.
type Writer interface {
	Reader
	// Put adds a version, its entry in the history, and raises State.Rev to its own.
	// Its Rev is State.Rev or the one after it; its Value belongs to the Backend.
	Put(v Version, time int64) error
	// Forget removes the oldest entry of the history, and the versions that no Reader
	// at its revision or later can see. Floor becomes its revision.
	Forget() error
}

// Backend keeps versions. View and Update may be called by many goroutines.
type Backend interface {
	// View calls do once with one moment.
	View(do func(Reader) error) error
	// Update calls do, at times again from the beginning, and makes its work durable.
	// With an error all is as it was. Only one Update runs at a time.
	Update(do func(Writer) error) error
	// Close lets go of it. It comes after the last call.
	Close() error
}
