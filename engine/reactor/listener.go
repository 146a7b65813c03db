package reactor

import (
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Listener is told what happens. Each function may be nil. They are called on
// the loop, one at a time, in the order of what happened, and must return soon.
// They must not call the Reactor: its methods wait for the loop.
type Listener struct {
	// Swapped: another graph is in effect.
	Swapped func(Swap)
	// Ran: a CheckApply has ended, or a vertex has failed without one.
	Ran func(Run)
	// Converged: the graph has come to rest (true), or something has happened
	// again (false).
	Converged func(bool, Counts)
}

// Counts are the number of vertices by state.
type Counts [engine.NumStates]int

// Swap tells of a graph that took effect.
type Swap struct {
	Generation int
	Name       string
	Added      int // vertices that were not there
	Changed    int // that want something else now
	Removed    int
	Kept       int
}

// Run tells of one CheckApply that ended, or of a failure without one.
type Run struct {
	Resource  string // kind[name]
	State     engine.State
	Changes   []engine.Change // secrets are gone; must not be altered
	Err       error           // of StateFailed
	Until     string          // of StateUnknown: the vertex that has to run first
	Refreshed bool            // a notification was pending
	Noop      bool            // nothing was altered
	Changed   bool            // something was
	Duration  time.Duration
	Attempt   int           // 0, or which retry this was
	Retry     bool          // it will be tried again,
	RetryIn   time.Duration // after this
}

func (l Listener) swapped(s Swap) {
	if l.Swapped != nil {
		l.Swapped(s)
	}
}

func (l Listener) ran(r Run) {
	if l.Ran != nil {
		l.Ran(r)
	}
}

func (l Listener) converged(yes bool, c Counts) {
	if l.Converged != nil {
		l.Converged(yes, c)
	}
}
