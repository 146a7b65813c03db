package world

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// World is one revisioned key-value store, shared by its users: by the parts of one
// daemon, or by many hosts. Everything richer is a table on it. A World is
// more than a Store: a Store belongs to one process, and has neither revisions nor
// watchers. The records of the journal need a commit and no more.
//
// All methods may be called from many goroutines. Those with a context may block on
// the network or on a disk, and end with their context's error when it ends. The
// maker of a World closes it. Package worldtest has the suite that every World passes.
type World interface {
	// Get returns a key with its value, or ErrNotFound. The answer is never older
	// than any change that was acknowledged before the call.
	Get(ctx context.Context, key string) (KV, error)
	// List returns a page of the keys with a prefix, sorted by their bytes.
	List(ctx context.Context, prefix string, o ListOptions) (Page, error)
	// Txn does all operations if every comparison holds, else none. It returns the
	// revision after it, or the one at which a comparison did not hold, and whether
	// all of them held. A LimitError tells of more than Limits allows. An ended lease is
	// refused, whether the comparisons hold or not. An error of the class
	// ErrUnavailable leaves it open whether the operations were done.
	Txn(ctx context.Context, compares []Compare, ops []Op) (revision int64, ok bool, err error)
	// Watch yields the changes below a prefix in order, whole revisions at a time. It
	// begins after the given revision, and ends without an error when the context ends.
	// A revision that is too old yields ErrCompacted, and so does a revision that the
	// store has never had: it was restored from an older copy. List again then.
	Watch(ctx context.Context, prefix string, from int64) iter.Seq2[Batch, error]
	// Lease makes a lease. The World renews it as long as it can reach the store.
	// Keys put with it vanish when it is revoked. They vanish at most ttl after the
	// World has closed, or its process has died or has lost the store. A cluster that
	// changes its leader in that time may count ttl once more. A World rounds ttl up.
	Lease(ctx context.Context, ttl time.Duration) (Lease, error)
	// Held returns the lease of this World with an ID, nil where it has none, or that has ended. It never blocks.
	// KV.Lease names the lease of a key, so a reader learns whether a key is its own, and for how long that is proved.
	Held(id string) Lease
	// Limits returns what one Txn may have. It never changes.
	Limits() Limits
	// Close revokes the leases, ends every Watch with ErrClosed, and lets go of the
	// store. Every later call answers ErrClosed; a second Close does nothing.
	Close() error
}

// Errors of a World, for errors.Is. ErrUnavailable and ErrRefused are classes: a call
// that met the first may be repeated as it is. A call that met the second may not.
var (
	ErrNotFound    = errors.New("not found")
	ErrCompacted   = errors.New("the store does not have this revision any more, list again")
	ErrClosed      = errors.New("the store is closed")
	ErrUnavailable = errors.New("the store cannot be reached or written to now")
	ErrRefused     = errors.New("the store refuses this")
)

// ErrLeaseEnded is the ErrRefused of a key whose lease has ended, which may be known before Lease.Done is closed.
var ErrLeaseEnded = fmt.Errorf("%w: the lease of a key has ended", ErrRefused)

// UnreadError tells a plan that something can't be read: what depends on it is unknown there, and has not failed.
type UnreadError struct {
	What string // "the store"
	Err  error
}

// Error implements error.
func (e *UnreadError) Error() string { return e.What + " can't be read: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *UnreadError) Unwrap() error { return e.Err }

// Limits is what one Txn may have. Every World has the same by default, so that a
// program which runs on one of them runs on all.
type Limits struct {
	Ops   int // operations, and as many comparisons
	Bytes int // all keys and values together, with the keys of the comparisons
	Key   int // bytes of one key
}

// DefaultLimits are those of etcd as it is installed, with room for its own fields.
func DefaultLimits() Limits { return Limits{Ops: 128, Bytes: 3<<19 - 1<<14, Key: 4 << 10} }

// LimitError tells that a Txn has more than Limits allows. It is of the class ErrRefused.
type LimitError struct {
	What       string // the counted thing: "operations", "comparisons", "bytes"
	Key        string // the key that is too long, shortened; empty where What counts a whole Txn
	Most, Have int
}

// Error implements error.
func (e *LimitError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("the key %q has %d bytes, and at most %d are allowed: choose a shorter key", e.Key, e.Have, e.Most)
	}
	return fmt.Sprintf("%d %s in one transaction, and at most %d are allowed: make it several", e.Have, e.What, e.Most)
}

// Is reports that a LimitError is refused.
func (e *LimitError) Is(target error) bool { return target == ErrRefused }

// Check returns a LimitError for a Txn that has too much, and an error of the class
// ErrRefused for a key that is empty. An operation may not repeat the key of another.
func (l Limits) Check(compares []Compare, ops []Op) error {
	if len(compares) > l.Ops {
		return &LimitError{What: "comparisons", Most: l.Ops, Have: len(compares)}
	}
	if len(ops) > l.Ops {
		return &LimitError{What: "operations", Most: l.Ops, Have: len(ops)}
	}
	size, seen := 0, make(map[string]struct{}, len(ops))
	for _, c := range compares {
		if err := l.checkKey(c.Key); err != nil {
			return err
		}
		size += len(c.Key)
	}
	for _, op := range ops {
		if err := l.checkKey(op.Key); err != nil {
			return err
		}
		if _, twice := seen[op.Key]; twice {
			return fmt.Errorf("%w: key %q is altered twice in one transaction", ErrRefused, op.Key)
		}
		seen[op.Key] = struct{}{}
		size += len(op.Key) + len(op.Value)
	}
	if size > l.Bytes {
		return &LimitError{What: "bytes", Most: l.Bytes, Have: size}
	}
	return nil
}

func (l Limits) checkKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: an operation or a comparison has no key", ErrRefused)
	}
	if len(key) > l.Key {
		return &LimitError{What: "bytes", Key: fmt.Sprintf("%.40s...", key), Most: l.Key, Have: len(key)}
	}
	return nil
}

// KV is a key with its value, the revision of its last change, and the revision that
// created it. A key that was deleted and put again is created anew.
type KV struct {
	Key      string
	Value    []byte
	Revision int64
	Created  int64
	Lease    string // the ID of the lease that keeps it, as far as the store tells; empty for none
}

// ListOptions say which page of a list is wanted. The zero value is the whole list as
// it is now.
type ListOptions struct {
	// At is the revision to list at: 0 for now, or that of an earlier page. A revision
	// that is forgotten, or never was, is ErrCompacted; the list begins again then.
	At int64
	// Limit is the greatest number of keys in the page, which may have fewer: see Page.More; 0 is all of them.
	Limit int
	// After leaves out every key up to this one, which is the last of the page before.
	After string
}

// Page is a part of a list.
type Page struct {
	KVs      []KV
	Revision int64 // of the store that the page is of; never 0, also where the store is empty
	More     bool  // there are further keys behind the last one
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
	Lease  Lease // of a put, from the same World; may be nil
}

// Update is one change of a key. That of a deletion has neither value nor Created.
type Update struct {
	KV
	Deleted bool
}

// Batch is all changes of one revision below the prefix of a Watch. A batch without
// updates is a bookmark: all changes up to its revision have come, so a Watch that
// begins anew may begin there. Bookmarks keep a quiet prefix from growing too old.
type Batch struct {
	Revision int64
	Updates  []Update // in the order of the Txn
}

// Lease keeps keys alive.
type Lease interface {
	// ID names the lease in the store. No two leases of a store share it.
	ID() string
	// Done is closed when the lease has ended or must be taken to have ended. It was
	// revoked, or the World was closed, or the store could not be reached for its time.
	// Its keys are gone then, or will be; their owner makes a lease and puts them anew.
	Done() <-chan struct{}
	// Holds reports whether the keys are surely there at this moment. Done may be closed later, since a timer is late
	// in a process that was stopped or on a machine that was suspended: Holds counts the time since boot, from the moment
	// when the last renewal that was answered was sent.
	Holds() bool
	// Leave ends the renewing, and nothing else: the keys stay until the time of the lease is over, also after the World was
	// closed. It does not ask the store. A store that belongs to one process ends the lease when its last user closes it.
	Leave()
	// Revoke ends the lease and deletes its keys as one revision. An ended lease is
	// revoked already.
	Revoke(ctx context.Context) error
}
