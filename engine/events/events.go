package events

import (
	"github.com/reactivegraph/mgmt/engine/provenance"
)

// Options steer Host.Watch and Notify.
type Options struct {
	Recurse  bool // the whole tree below each path too; links are not followed down
	Contents bool // of a path that is a folder: its entries too (one level)

	// Resource is the subscriber, kind[name]. What its run has changed is told to others with it as
	// Cause.From. The engine sets it; it is empty for a subscriber that is none.
	Resource string

	// Own, if it is not nil, says whether the path still is as the subscriber has left it. Then
	// no wake-up tells of it. Host may ask it before each wake-up, on any goroutine, or never.
	// What another process is known to have done is nobody's own, and is not asked about.
	Own Owner
}

// Owner knows how a subscriber has left what he watches.
type Owner interface {
	// AsLeft reports whether it still is so. It must not wait for anything but a look at it.
	AsLeft() bool
}

// OwnerFunc is a function as an Owner.
type OwnerFunc func() bool

// AsLeft implements Owner.
func (f OwnerFunc) AsLeft() bool { return f() }

// Subscription is a stream of wake-ups. Nothing queues: many changes between two
// receives are one wake-up.
type Subscription interface {
	C() <-chan struct{} // of capacity 1
	// Cause tells of the changes that led to the last wake-up and forgets them.
	Cause() Cause
	// Close ends the subscription and releases its watches. Callable more than
	// once.
	Close()
}

// Cause says why a wake-up came.
type Cause struct {
	Source string              // inotify, poll, dbus, ...
	Path   string              // of the first of the merged changes
	From   string              // the resource whose run made all of them; empty where a stranger made one
	By     *provenance.Culprit // who made the last change of Path; nil where nothing is known
	Merged int                 // how many changes were merged
	Resync bool                // changes may have been lost: trust nothing
}

// Merge joins a later cause to c. A change by a stranger is told before one that a run of a
// resource made, whichever came first.
func (c *Cause) Merge(later Cause) {
	merged, resync := c.Merged+later.Merged, c.Resync || later.Resync
	switch {
	case *c == Cause{}, c.From != "" && later.From == "" && later.Merged > 0:
		*c = later
	case c.From == later.From && c.Path == later.Path && later.By != nil:
		c.By = later.By
	}
	c.Merged, c.Resync = merged, resync
}
