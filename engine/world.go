package engine

import (
	"context"
	"errors"
	"iter"
	"time"
)

// World is one revisioned key-value store, shared by its users.
// Everything richer is a table on it.
type World interface {
	// Get returns the value of a key and the revision of its last change, or
	// ErrNotFound.
	Get(ctx context.Context, key string) (KV, error)
	// List returns the keys with a prefix, sorted, and the revision of the store
	// that the answer is of.
	List(ctx context.Context, prefix string) ([]KV, int64, error)
	// Txn does all operations if every comparison holds, else none. It returns
	// the revision after it and whether they held.
	Txn(ctx context.Context, compares []Compare, ops []Op) (revision int64, ok bool, err error)
	// Watch yields the changes below a prefix in order, from the one after the
	// given revision on, until the context ends. A revision that is too old
	// yields ErrCompacted: list again.
	Watch(ctx context.Context, prefix string, from int64) iter.Seq2[Update, error]
	// Lease makes a lease. Keys put with it vanish when it is not renewed for
	// the given time or is revoked.
	Lease(ctx context.Context, ttl time.Duration) (Lease, error)
}

// Errors of a World.
var (
	ErrNotFound  = errors.New("not found")
	ErrCompacted = errors.New("the revision is too old, list again")
)

// KV is a key with its value and the revision of its last change.
type KV struct {
	Key      string
	Value    []byte
	Revision int64
}

// Compare holds if the key's last change has this revision; 0 means that the key
// is absent.
type Compare struct {
	Key      string
	Revision int64
}

// Op puts a key, or deletes it.
type Op struct {
	Key    string
	Value  []byte
	Delete bool
	Lease  Lease // of a put; may be nil
}

// Update is one change of a key.
type Update struct {
	KV
	Deleted bool
}

// Lease keeps keys alive.
type Lease interface {
	Renew(ctx context.Context) error
	Revoke(ctx context.Context) error
}

// Store keeps the records that must survive the death of the process, as plain
// records in named tables. Commit blocks until all of it is durable, and does all
// of it or nothing; calls may come from many goroutines at once and may be
// committed together.
type Store interface {
	Records(ctx context.Context, table string) iter.Seq2[Record, error]
	Commit(ctx context.Context, writes []Write) error
}

// Record is one entry of a table.
type Record struct {
	Key   string
	Value []byte
}

// Write puts a record, or deletes it where Value is nil.
type Write struct {
	Table, Key string
	Value      []byte
}

// Shared is what all vertices of one SharedRes key have in common. The reactor
// opens it for the first and closes it after the last.
type Shared interface {
	Begin() // the first vertex of the key is due
	End()   // none of them is dirty or running any more
	Close() error
}

// Forgetter is a Shared that keeps its readings of the machine.
type Forgetter interface {
	Shared
	// Forget says that something above a vertex of the key has altered the machine:
	// readings from before the call, and errors of reading too, must not be used for
	// later readers. It comes before Begin, or between Begin and End, from the run that
	// needs it, and must not wait for another run.
	Forget()
}

// Rereader is a Forgetter that reads again what its own vertices have altered.
type Rereader interface {
	Forgetter
	// Reread reports whether everything was read since the last change by a vertex of the key. Such a
	// change then leads to no Forget. It comes when a run of the key has ended, and must not block.
	Reread() bool
}
