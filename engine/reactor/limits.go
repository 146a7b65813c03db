package reactor

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// Budget bounds how much a run of the engine may alter: at most Most changes, or Share (0 to 1) of the
// vertices of the graph if that is set, within the time Within. A vertex that wants to change something
// after that is held until Resume. The zero value sets no bound.
type Budget = hold.Budget

// Flapping says when a resource flaps: Times equal corrections Within a time. It is then left alone for
// Pause, and for twice as long each time that it goes on as before, up to PauseMax. The zero value is never.
type Flapping = hold.Flapping

// Storm says when a resource runs too often: more than Runs times Within a time. A run that changed
// something counts four times, and not at all where somebody outside had altered that, a failed run ten times. A run that an event from outside
// has asked for, and that finds nothing, counts by its time: once for 5 ms, and less for less. The resource then waits before each run. The zero
// value slows nothing.
type Storm = hold.Storm

// Pause is the word of an operator to leave a resource alone. Resource is its kind[name], or empty for
// all. Until is the end by the wall clock, or zero for a pause that lasts until Resume. Reason is text for people.
type Pause = hold.Pause

// Held says which limit keeps a vertex from being altered. Limit is LimitBudget or LimitFlapping, Reason says it
// in words, and For is the time until it goes on by itself, 0 where it waits for Resume.
type Held = hold.Held

// The limits, as Held names them.
const (
	LimitBudget   = hold.LimitBudget   // too many changes
	LimitFlapping = hold.LimitFlapping // corrected again and again
)

// ParseBudget reads a Budget: a number of changes, or a share of the graph, and a time, as in 20/5m
// or 10%/1h. The empty text sets no bound.
func ParseBudget(s string) (Budget, error) { return hold.ParseBudget(s) }

// ParseFlapping reads how often in which time a resource flaps, as in 25/1m; off for never.
func ParseFlapping(s string) (Flapping, error) { return hold.ParseFlapping(s) }

// DefaultFlapping returns when a resource flaps where the options of the front door do not say so.
func DefaultFlapping() Flapping { return hold.DefaultFlapping() }

// DefaultStorm returns the Storm of a daemon whose options give none.
func DefaultStorm() Storm { return hold.DefaultStorm() }

// Limits are the bounds that can be altered while Run is going on; see Options.
type Limits struct {
	MaxChanges  Budget
	MaxRemovals Removals
	Flapping    Flapping
}

// SetLimits makes other bounds count from now on. Spent changes of the budget stay spent, and held
// vertices stay held until Resume, unless the new limits have no such limit. The error names the
// wrong limits; then nothing is altered. It returns when that is in effect. Callable from any
// goroutine.
func (r *Reactor) SetLimits(ctx context.Context, l Limits) error {
	if err := errors.Join(l.MaxChanges.Validate(), l.Flapping.Validate()); err != nil {
		return err
	}
	return r.do(ctx, func() {
		r.removals.Store(&l.MaxRemovals)
		r.opt.Flapping = l.Flapping
		r.account.Set(l.MaxChanges, len(r.loop.byIndex))
		if !l.MaxChanges.On() {
			r.loop.refill()
			r.loop.release(LimitBudget)
		}
		if l.Flapping.Times == 0 {
			r.loop.release(LimitFlapping)
		}
	})
}

// release lets held changes go.
func (l *loop) release(limit string) {
	for _, v := range l.byIndex {
		if v.hold.HeldBy(limit) {
			l.resumeOne(v)
		}
	}
}
