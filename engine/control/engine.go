package control

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// Engine is what runs the graph: *mgmt.Engine is one. Its methods wait for the
// engine's loop, not for a resource, and end with their context.
type Engine interface {
	// Statuses returns the state of every vertex, in the order of the graph.
	Statuses(context.Context) ([]reactor.Status, error)
	// Counts returns the number of vertices by state.
	Counts(context.Context) (reactor.Counts, error)
	// Pause leaves a vertex, or every one, alone for a while.
	Pause(context.Context, reactor.Pause) error
	// Resume ends the pause of a vertex; with an empty name every pause, and
	// what the brakes hold.
	Resume(ctx context.Context, resource string) error
	// Dump says in words what each unsettled vertex waits for.
	Dump(context.Context) (string, error)
}

// History keeps events for longer than the process lives. Calls may come from
// many goroutines.
type History interface {
	// Append keeps entries, in their order. It gives each an ID, larger than all
	// before it, also over restarts.
	Append(context.Context, []Entry) error
	// Select yields the entries that fit. Who calls it takes them soon: it may
	// hold a transaction.
	Select(context.Context, Query) iter.Seq2[Entry, error]
	// Last returns the ID of the newest entry there ever was; 0 for none.
	Last() uint64
}

// Entry is one event in a History.
type Entry struct {
	ID       uint64
	At       time.Time
	Resource string // empty where the event is about none
	Outcome  Outcome
	Data     []byte // the Event in JSON, without ID and At
}

// Query says which entries of a History are wanted; the zero value all, the
// oldest first.
type Query struct {
	After, Before uint64    // IDs, both exclusive; 0 for no bound
	Since, Until  time.Time // Since inclusive, Until exclusive; zero for no bound
	Resource      string
	Outcomes      []Outcome // any of these
	Newest        bool      // the newest first
	Limit         int       // 0 for no limit
}

// Fits reports whether an entry is wanted, whatever the limit.
func (q *Query) Fits(e *Entry) bool {
	switch {
	case e.ID <= q.After, q.Before > 0 && e.ID >= q.Before:
		return false
	case !q.Since.IsZero() && e.At.Before(q.Since), !q.Until.IsZero() && !e.At.Before(q.Until):
		return false
	case q.Resource != "" && e.Resource != q.Resource:
		return false
	default:
		return q.wants(e.Outcome)
	}
}

func (q *Query) wants(o Outcome) bool {
	if slices.Contains(q.Outcomes, o) {
		return true
	}
	return len(q.Outcomes) == 0
}
