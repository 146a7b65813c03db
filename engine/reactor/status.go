package reactor

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Status is the state of one vertex.
type Status struct {
	Resource  string
	State     engine.State
	Err       error         // of StateFailed
	RetryIn   time.Duration // with StateFailed; 0 when there is no retry
	BlockedBy string        // the ancestor that blocks it, or that it waits for
	Until     string        // with StateUnknown
	Changed   int           // how many runs changed something
	Pause     *Pause        // with StatePaused
	Held      *Held         // with StateHeld
}

// Pause is the word of an operator that a vertex, or every one, is left alone
// for a while.
type Pause struct {
	Resource string    // kind[name]; empty for all
	Until    time.Time // by the wall clock; zero for until it is resumed
	Reason   string
}

// Held says which brake keeps a vertex from being altered.
type Held struct {
	Brake  string        // budget or fight
	Reason string        // in words
	For    time.Duration // until it goes on by itself; 0 when it waits to be told
}

// Counts returns how many vertices are in each state.
func (r *Reactor) Counts(ctx context.Context) (c Counts, err error) {
	err = r.do(ctx, func() { c = r.m.Counts() })
	return c, err
}

// Statuses returns the state of every vertex, in the order of the graph.
func (r *Reactor) Statuses(ctx context.Context) (list []Status, err error) {
	err = r.do(ctx, func() {
		list = make([]Status, 0, len(r.byIndex))
		for _, v := range r.byIndex {
			list = append(list, r.status(v))
		}
	})
	return list, err
}

func (r *Reactor) status(v *vertex) Status {
	s := Status{Resource: v.id, State: r.m.State(v.slot), Changed: v.changed}
	switch s.State {
	case engine.StateFailed:
		s.Err = v.lastErr
		if v.retryAt > 0 {
			s.RetryIn = max(1, time.Duration(v.retryAt-r.now()))
		}
	case engine.StateUnknown:
		s.Until = v.until
	case engine.StateBlocked, engine.StateWaiting:
		by, ok := r.m.BlockedBy(v.slot)
		if !ok {
			by, ok = r.m.Witness(v.slot)
		}
		if ok {
			s.BlockedBy = r.bySlot[by].id
		}
	}
	return s
}
