package reactor

import (
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// report remembers how v ended and tells the listener. It returns the report.
func (l *loop) report(v *vertex, run Run) Run {
	run.Resource = v.ID
	out, begun := v.endedWith()
	l.number(v, &run)
	run.Err = v.Error(run.Err)
	if run.State == engine.StateUnknown {
		run.Until = l.decider(v)
	}
	if run.State != engine.StateFailed {
		v.run.mu.Lock()
		run.Changes = v.clean(v.run.changes())
		v.run.forget()
		v.run.mu.Unlock()
	}
	l.place(v, &run, &out)
	l.attribute(v, &run)
	if begun > 0 && run.State == engine.StateOK {
		v.watch.See(begun)
	}
	l.written(v, &run)
	if run.Changed {
		v.past.changed++
	}
	if run.Changed || run.State != v.past.last || v.run.leaves() {
		l.stir()
	}
	v.past.last = run.State
	if run.Err != nil || !v.watch.Is(watch.Failed) { // else the Watch's error stands
		v.past.setError(run.Err)
	}
	v.past.realized = v.past.realized || run.State.Settled()
	l.opt.Listener.ran(run)
	return run
}

// fail reports a failure without a run. Only a new start of the Watch or a new value is the way
// out. With retry the caller sees to that.
func (l *loop) fail(v *vertex, err error, retry bool, in time.Duration) {
	if !retry {
		v.past.setRetry(0)
		l.disarm(v)
	}
	l.m.Unready(v.slot)
	l.m.Fail(v.slot, retry)
	l.setDue(v, false)
	before := v.past.last
	run := l.report(v, Run{State: engine.StateFailed, Err: err, Retry: retry, RetryIn: in})
	l.stuck(v, run, before)
}
