package reactor

import (
	"context"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// Works reports whether something goes on that ends without a timer: a method of a resource runs, or news of one is on its way
// to the loop. A Watch that has said Running does not count. Nor does a method that sleeps (engine.Sleep): the contexts of the sleepers are
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
