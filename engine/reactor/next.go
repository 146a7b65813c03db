package reactor

import (
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// next arranges the next step after the run.
func (l *loop) next(v *vertex, run Run) {
	switch {
	case v.watch.Is(watch.Failed): // its own alarm is set
	case run.Retry && l.m.State(v.slot) == resgraph.StateFailed: // else something has asked for it meanwhile
		v.past.setRetry(l.now() + int64(run.RetryIn))
		l.after(run.RetryIn, v, func() { l.retryNow(v) })
	case v.meta.Poll > 0 && !l.opt.Once:
		l.after(jitter(l.rand, v.meta.Poll), v, func() {
			l.because(v, Trigger{Cause: CausePoll})
			l.event(v)
		})
	}
	l.afterRun(v)
}

// afterRun does the work that had to wait for the end of a run.
func (l *loop) afterRun(v *vertex) {
	if v.watch.TakeStart() {
		l.startWatch(v)
	}
	if v.wired().Waits() {
		l.tryAssign(v)
	}
}
