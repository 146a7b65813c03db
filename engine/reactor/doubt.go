package reactor

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// maxDoubt bounds how many ancestors of a vertex that has failed are looked at first, the
// nearest ones.
const maxDoubt = 64

// doubt takes the end of a run of v that has failed though v was well before. It has those
// above v looked at, and then v once more, before the failure is told. It
// reports whether it did.
func (l *loop) doubt(v *vertex, ended engine.State, err error) bool {
	_, again := l.failures.doubts[v]
	delete(l.failures.doubts, v)
	if ended != engine.StateFailed || again || !v.past.last.Settled() || !v.run.job.fromOutside() || l.opt.Once || v.meta.Retry == engine.RetryNever ||
		engine.IsPermanent(err) || engine.IsVerdict(err) || engine.IsInterrupted(err) || !l.lookAbove(v) {
		return false
	}
	if l.failures.doubts == nil {
		l.failures.doubts = doubts{}
	}
	l.failures.doubts[v] = struct{}{}
	v.hold.Doubted(v.run.job.paid())
	l.redo(v)
	return true
}

// lookAbove looks at the nearest ancestors of v, as the sweep does. It reports whether there are
// any.
func (l *loop) lookAbove(v *vertex) (any bool) {
	left := maxDoubt
	for slot := range l.m.Ancestors(v.slot, nil) {
		if up := l.bySlot[slot]; l.mayLook(up) {
			any = true
			l.because(up, Trigger{Cause: CauseBelow, From: v.ID})
			l.event(up)
		}
		if left--; left == 0 {
			break
		}
	}
	return any
}

// mayLook reports whether a vertex can be looked at without an event, and at once.
func (l *loop) mayLook(v *vertex) bool {
	return (v.watch.Is(watch.Running) || v.meta.Poll > 0) && !v.hold.IsThrottled() && !v.hold.IsHeld() && !l.holds.storms.Slowed(v) && !v.membership.suspended && l.holds.pauses.Of(v.ID) == nil
}
