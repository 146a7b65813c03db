package reactor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// Status is the state of one vertex.
type Status struct {
	Resource  string
	Member    string        // the member of its group that was asked for, by mgmt.Engine.Status; else empty
	State     engine.State  // at this moment
	Rest      engine.State  // in which it last rested; State where it rests, or never has: see Rest
	Err       error         // with Rest StateFailed
	RetryIn   time.Duration // with State StateFailed; 0 when there is no retry
	BlockedBy string        // the ancestor that blocks it, or that it waits for; with StatePaused the paused one, where that is another one
	Until     string        // with StateUnknown
	Changed   int           // how many runs changed something
	Pause     *Pause        // nil if it is not paused; also with StateFailed, whose retries wait then
	Held      *Held         // with StateHeld
	WaitsFor  string        // with StateWaiting, where no vertex is in BlockedBy: settle, limit, a free slot, or the text of an engine.WaitError
}

// Counts returns how many vertices are in each state at rest; see Rest.
func (r *Reactor) Counts(ctx context.Context) (c Counts, err error) {
	err = r.ask(ctx, func() { c = r.loop.counts() })
	return c, err
}

// Statuses returns the state of every vertex, in the order of the graph.
func (r *Reactor) Statuses(ctx context.Context) (list []Status, err error) {
	err = r.ask(ctx, func() { list = r.loop.statuses() })
	return list, err
}

func (l *loop) statuses() []Status {
	list := make([]Status, 0, len(l.byIndex))
	for _, v := range l.byIndex {
		list = append(list, l.status(v))
	}
	return list
}

// status reads one vertex on the loop, so all of its fields are of one moment. A blocked vertex names the failed ancestor, and a
// waiting one the ancestor that is unsettled, before any other cause of its wait.
func (l *loop) status(v *vertex) Status {
	s := Status{Resource: v.ID, Pause: l.holds.pauses.Of(v.ID), State: l.m.State(v.slot), Changed: int(v.past.changed)}
	s.Rest = l.m.AtRestState(v.slot, l.lastRest)
	if s.Rest == engine.StateFailed {
		s.Err = v.past.lastErr
	}
	at := s.State
	if at == engine.StateBlocked && s.Rest == engine.StatePaused {
		s.State = s.Rest // a pause blocks it
	}
	switch at {
	case engine.StateFailed:
		if v.past.retryAt > 0 {
			s.RetryIn = max(1, time.Duration(v.past.retryAt-l.now()))
		}
	case engine.StateUnknown:
		s.Until = l.decider(v)
	case engine.StateHeld:
		s.Held = l.heldNow(v)
	case engine.StateBlocked, engine.StateWaiting:
		by, ok := l.m.BlockedBy(v.slot)
		if !ok {
			by, ok = l.m.Witness(v.slot)
		}
		switch {
		case ok:
			s.BlockedBy = l.bySlot[by].ID
		case v.hold.Deferred() == hold.ByOutside && v.past.lastErr != nil:
			s.WaitsFor = v.past.lastErr.Error()
		case v.hold.Deferred() != hold.NotDeferred:
			s.WaitsFor = v.hold.Deferred().String()
		case s.State == engine.StateWaiting:
			s.WaitsFor = "a free slot"
		}
	}
	return s
}

// heldNow tells what holds v, and for how long from now on.
func (l *loop) heldNow(v *vertex) *Held {
	if h := v.hold.HeldNow(l.now()); h != nil {
		return h
	}
	from := l.flapsAbove(v)
	if from == nil {
		return nil
	}
	h := *from.hold.HeldNow(l.now())
	h.Reason = "it receives a value of " + from.ID + ", which is left alone"
	return &h
}

// Status returns the state of one vertex. The error is an *UnknownResourceError if
// it is not in the graph.
func (r *Reactor) Status(ctx context.Context, id string) (s Status, err error) {
	e := r.ask(ctx, func() {
		if v := r.loop.named(id); v != nil {
			s = r.loop.status(v)
		} else {
			err = &UnknownResourceError{id}
		}
	})
	return s, cmp.Or(e, err)
}

// Dump says in text, for every vertex that is not settled, its activity or the thing that it waits
// for. It is for a person who wonders why nothing happens. It fails if the loop does not answer
// before the end of the context.
func (r *Reactor) Dump(ctx context.Context) (string, error) {
	var out strings.Builder
	err := r.ask(ctx, func() {
		c := r.loop.m.Counts()
		fmt.Fprintf(&out, "%s, generation %d: %d vertices, %d runs so far, %d alarms, %d leaving\n",
			r.loop.name, r.loop.generation, len(r.loop.byIndex), r.loop.runs, len(r.loop.alarms.list), r.departing.Load())
		for s, n := range c {
			if n > 0 {
				fmt.Fprintf(&out, "  %s: %d\n", engine.State(s), n)
			}
		}
		for _, v := range r.loop.byIndex {
			if s := r.loop.status(v); !s.State.Settled() || r.loop.busyWith(v) != "" {
				fmt.Fprintf(&out, "%s: %s%s\n", v.ID, s.State, r.loop.why(v, &s))
			}
		}
		for id, v := range r.loop.leaving {
			fmt.Fprintf(&out, "%s: leaving%s\n", id, r.loop.busyWith(v))
		}
		r.calls.dump(&out, r.now())
	})
	return out.String(), err
}

// why tells in words the cause for which a vertex waits.
func (l *loop) why(v *vertex, s *Status) string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch {
	case s.Err != nil && s.RetryIn > 0:
		add("%v; tried again in %s", s.Err, s.RetryIn)
	case s.Err != nil:
		add("%v; not tried again", s.Err)
	case s.BlockedBy != "":
		add("waits for %s", s.BlockedBy)
	case s.WaitsFor != "":
		add("waits for %s", s.WaitsFor)
	case s.Pause != nil:
		add("%s", s.Pause)
	case s.Held != nil:
		add("by the limit %s: %s", s.Held.Limit, s.Held.Reason)
	}
	if w := l.busyWith(v); w != "" {
		list = append(list, w)
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; ")
}

// busyWith tells which methods of v run.
func (l *loop) busyWith(v *vertex) string {
	switch {
	case v.run.inRun && v.run.waits.Load() > 0:
		return fmt.Sprintf("its CheckApply has waited for the machine, %s after its start", time.Duration(l.now()-v.run.job.started))
	case v.run.inRun:
		return fmt.Sprintf("its CheckApply runs since %s", time.Duration(l.now()-v.run.job.started))
	case v.watch.Active() && v.watch.Is(watch.Ending):
		return "its Watch was told to end and has not"
	case v.watch.Active() && !v.watch.Is(watch.Running):
		return "its Watch has not said Running"
	default:
		return ""
	}
}
