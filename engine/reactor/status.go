package reactor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Status is the state of one vertex.
type Status struct {
	Resource  string
	Member    string         // the member of its group that was asked for, by mgmt.Engine.Status; else empty
	State     resgraph.State // at this moment
	Rest      resgraph.State // in which it last rested; State where it rests, or never has: see Rest
	Err       error          // with Rest StateFailed
	RetryIn   time.Duration  // with State StateFailed; 0 when there is no retry
	BlockedBy string         // the ancestor that blocks it, or that it waits for; with StatePaused the paused one, where that is another one
	Until     string         // with StateUnknown
	Changed   int            // how many runs changed something
	Pause     *Pause         // nil if it is not paused; also with StateFailed, whose retries wait then
	Held      *Held          // with StateHeld
	WaitsFor  string         // with StateWaiting, where no vertex is in BlockedBy: settle, limit, a free slot, or the text of an failure.WaitError
}

// Snapshot is how a graph stands at one moment.
type Snapshot struct {
	Rest     Rest
	Statuses []Status  // of every vertex, in the order of the graph
	Absent   []Pause   // of resources that are not in the graph: they hold again when such a resource comes back
	Awaits   []string  // the vertices that a new graph waits for, which have to be brought about before they leave
	Ongoing  []Ongoing // the runs that go on, the longest first
}

// Snapshot returns how the graph stands. Its cost is that of all vertices: Status asks for one.
func (r *Reactor) Snapshot(ctx context.Context) (s Snapshot, err error) {
	err = r.ask(ctx, func() {
		l := &r.loop
		s = Snapshot{Rest: l.stand(), Statuses: l.statuses(), Absent: l.absentPauses(), Awaits: l.unrealizedOnes(), Ongoing: l.ongoing()}
	})
	for i := range s.Ongoing { // not on the loop: a Line may wait for the command's host
		run := &s.Ongoing[i]
		run.Line = run.v.Text(run.newest.Line())
		run.v, run.newest = nil, nil
	}
	return s, err
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
	if s.Rest == resgraph.StateFailed {
		s.Err = v.past.lastErr
	}
	at := s.State
	if at == resgraph.StateBlocked && s.Rest == resgraph.StatePaused {
		s.State = s.Rest // a pause blocks it
	}
	switch at {
	case resgraph.StateFailed:
		if v.past.retryAt > 0 {
			s.RetryIn = max(1, time.Duration(v.past.retryAt-l.now()))
		}
	case resgraph.StateUnknown:
		s.Until = l.decider(v)
	case resgraph.StateHeld:
		s.Held = l.heldNow(v)
	case resgraph.StateBlocked, resgraph.StateWaiting:
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
		case s.State == resgraph.StateWaiting:
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
				fmt.Fprintf(&out, "  %s: %d\n", resgraph.State(s), n)
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

// Works reports whether something goes on that ends without a timer: a method of a resource runs, or news of one is on its way
// to the loop. A Watch that has said Running does not count. Nor does a method that sleeps (clock.Sleep): the contexts of the sleepers are
// given. So where nothing works, only a timer, the machine or a caller makes the reactor go on.
func (r *Reactor) Works(ctx context.Context, sleepers []context.Context) (yes bool, err error) {
	asleep := map[any]bool{}
	for _, s := range sleepers {
		if v, ok := s.Value(runKey{}).(*vertex); ok {
			asleep[v] = true
		} else if c := watch.Of(s); c != nil {
			asleep[c] = true
		}
	}
	err = r.ask(ctx, func() { yes = r.loop.works(asleep) })
	return yes, err
}

// works is Works with the runs, by their leading vertices, and the contexts of Watches that sleep.
func (l *loop) works(asleep map[any]bool) bool {
	if l.mail.any() || l.busy.Load() > 0 || l.sharesEnding.Load() > 0 || l.hearing.asked != l.hearing.heard.Load() {
		return true
	}
	for _, v := range l.byIndex {
		if v.moves(asleep) || v.watch.Active() && !v.watch.Is(watch.Running) && !asleep[v.watch.Context()] {
			return true
		}
	}
	for _, v := range l.leaving {
		if !v.run.inRun || v.moves(asleep) { // without a run its Watch ends, or Cleanup runs
			return true
		}
	}
	return false
}

// moves reports whether v has a run that does not sleep.
func (v *vertex) moves(asleep map[any]bool) bool {
	switch {
	case !v.run.inRun:
		return false
	case v.run.job.joined == nil: // it is wanted no more
		return !asleep[v]
	}
	return !asleep[v.run.job.joined.lead]
}

// Ongoing is a run that is going on.
type Ongoing struct {
	Resource string        // kind[name]
	Others   int           // resources that run with it, in one call
	For      time.Duration // since it began
	Line     string        // the newest line of its command, where that has an engine.Newest; else empty

	v      *vertex
	newest *engine.Newest
}

// ongoing returns the runs that go on, the longest first. Their lines are not read yet.
func (l *loop) ongoing() (list []Ongoing) {
	now, batches := l.now(), map[*runContext]int{}
	for _, v := range l.bySlot {
		if v == nil || !v.run.inRun || v.run.job == nil {
			continue
		}
		with := v.run.job.joined // nil once nobody wants the run any more
		if at, ok := batches[with]; ok && with != nil {
			list[at].Others++
			list[at].newest = cmp.Or(list[at].newest, v.run.newest())
			continue
		}
		batches[with] = len(list)
		list = append(list, Ongoing{Resource: v.ID, For: time.Duration(now - v.run.job.started), v: v, newest: v.run.newest()})
	}
	slices.SortStableFunc(list, func(a, b Ongoing) int { return cmp.Compare(b.For, a.For) })
	return list
}

// Finishing reports whether a command runs that is let finish, whatever has ended.
func (r *Reactor) Finishing() bool {
	r.costly.mu.Lock()
	defer r.costly.mu.Unlock()
	return len(r.costly.running) > 0
}
