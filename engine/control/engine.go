package control

import (
	"context"
	"iter"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// Engine is what runs the graph: *mgmt.Engine is one. Its methods wait for the
// engine's loop, not for a resource, and end with their context.
type Engine interface {
	// Status returns the state of one vertex. The error is a
	// *reactor.UnknownResourceError if it is not in the graph.
	Status(ctx context.Context, resource string) (reactor.Status, error)
	// Params returns what a resource declares, without secrets.
	Params(ctx context.Context, resource string) ([]reactor.Param, error)
	// Snapshot returns how the graph stands: the state of every vertex, in the order of the graph, and all that is paused, awaited
	// and going on, of one moment.
	Snapshot(context.Context) (reactor.Snapshot, error)
	// Pause leaves vertices, or with an empty name every one, alone for a while: all at one moment, or with an error none.
	Pause(context.Context, ...reactor.Pause) error
	// Resume ends the pauses of vertices, and lets held changes through. It returns for whom.
	Resume(context.Context, reactor.Which) ([]string, error)
	// Decide approves or rejects changes that wait for that: all at one moment, or with an error none.
	Decide(context.Context, reactor.Decision) error
	// AskedBy says who asks for the graphs that take effect until done is called.
	AskedBy(who string) (left func() []reactor.Leaving, done func())
	// Retry tries failed vertices again, and returns which. With an error it tries none.
	Retry(context.Context, reactor.Which) ([]string, error)
	// Told waits until the Recorder has been told of everything that happened before the call.
	Told(context.Context) error
	// Dump names in words the cause for which each unsettled vertex waits.
	Dump(context.Context) (string, error)
}

// History keeps events for longer than the process lives: *journal.History is
// one. Calls may come from many goroutines.
type History interface {
	// Append keeps an entry and returns its ID, larger than all before it, also
	// over restarts. It does not wait for a disk.
	Append(journal.Entry) uint64
	// Query yields the entries that fit.
	Query(context.Context, journal.Query) iter.Seq2[journal.Entry, error]
	// Bounds returns the ID of the oldest entry, and that of the next one.
	Bounds() (oldest, next uint64)
}

var _ History = (*journal.History)(nil)
