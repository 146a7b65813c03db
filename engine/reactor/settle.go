package reactor

import (
	"errors"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// ran takes the outcome of a run of v.
func (l *loop) ran(v *vertex) {
	l.active--
	v.run.inRun = false
	l.altered(v)
	v.endRun()
	l.syncSlot(v)
	l.keepPromises(v)
	if v.membership.gone || v.membership.suspended {
		l.ranLast(v)
		return
	}
	o := v.run.job.out
	v.abil.noteQuick(o.took)
	o.err = l.failures.places.in(v, o.err)
	switch {
	case errors.Is(o.err, hold.ErrUsedUp):
		l.overBudget(v)
	case l.disallowed(v, o.err):
	case l.ctx.Err() == nil && l.stalls(v, &o):
	case l.ctx.Err() != nil && o.err != nil:
		l.interrupted(v, o.err)
	default:
		l.conclude(v, o)
	}
}

// conclude takes the end of a run whose outcome counts.
func (l *loop) conclude(v *vertex, o outcome) {
	run := Run{State: v.judge(o), Duration: o.took, Waited: time.Duration(v.run.job.started - v.run.job.since), Refreshed: v.run.refresh.Load(), Noop: !v.run.job.apply, Attempt: int(v.ledger.Retries())}
	if run.Noop {
		l.judgeNoop(v, &run)
	}
	if l.doubt(v, run.State, o.err) {
		return
	}
	l.askedNoMore(v)
	run.Changed = run.State == resgraph.StateOK && !o.ok && o.err == nil
	v.hold.Ended(run.State == resgraph.StateFailed, v.run.job.paid())
	l.retry(v, &run, o.err)
	l.holds.stormRan(v, &run, l.moment, l.opt.Storm)
	before, untold := v.past.last, run.State == resgraph.StateUnknown && v.run.said.untold
	v.guardSent()
	print := v.correction(&run)
	run = l.report(v, run)
	l.lay(v, run)
	l.corrected(v, &run, print)
	if o.err == nil && !untold {
		l.succeeded(v, run.Changed)
	}
	l.stuck(v, run, before)
	l.m.Done(v.slot, sched.Outcome{State: run.State, Retry: run.Retry && !v.byDefault()})
	l.setDue(v, dirty(l.m.State(v.slot)))
	if !v.run.job.apply && before != run.State {
		l.showBelow(v, before)
	}
	l.pool.jobs.end(v)
	l.next(v, run)
}

// ranLast takes the end of a run that was cut because its vertex leaves or is exchanged: it decides
// nothing, but its changes refresh others all the same.
func (l *loop) ranLast(v *vertex) {
	l.setDue(v, false)
	if v.run.job.out.err == nil {
		if v.run.job.apply && !v.run.job.out.ok { // it has changed something all the same
			l.report(v, Run{State: resgraph.StateOK, Changed: true, Duration: v.run.job.out.took, Refreshed: v.run.refresh.Load()})
		}
		l.refreshed(v, !v.run.job.out.ok)
	} else if !v.membership.gone {
		l.giveAsked(v)
	}
	l.pool.jobs.end(v)
	if v.membership.gone {
		l.m.Forgotten(v.slot)
		if d := l.opt.Declared; d != nil && v.membership.after == nil {
			d.leave(v.ID) // its run may have remembered it after it had left
		}
		l.leave(v)
		return
	}
	l.m.Done(v.slot, sched.Outcome{State: resgraph.StateFailed})
	l.tellIdle(v)
	l.resume(v)
}

// interrupted takes the end of a run that the end of Run has cut. That is no news, unless it has cut off a change.
func (l *loop) interrupted(v *vertex, err error) {
	if l.end.cutsOff(v) {
		l.report(v, Run{State: resgraph.StateFailed, Err: &CutError{err}, Duration: v.run.job.out.took})
	}
	l.m.Unready(v.slot) // it has not failed: it is unsettled
	l.m.Done(v.slot, sched.Outcome{State: resgraph.StateFailed})
	l.pool.jobs.end(v)
}

// judge returns the state that an outcome leads to.
func (v *vertex) judge(o outcome) resgraph.State {
	switch {
	case o.err != nil:
		return resgraph.StateFailed
	case !o.ok && !v.run.job.apply:
		return resgraph.StateWouldChange
	default:
		return resgraph.StateOK
	}
}

// retry decides whether a failed run is tried again, and says so in run.
func (l *loop) retry(v *vertex, run *Run, err error) {
	if run.State != resgraph.StateFailed {
		if v.meta.RetryReset {
			v.watch.SetTries(0)
		}
		if v.meta.RetryReset || v.byDefault() {
			l.memory.setRetries(v, 0)
		}
		return
	}
	run.Err = err
	if v.watch.Is(watch.Failed) {
		return
	}
	tried := v.ledger.Retries()
	if v.byDefault() && tried > 0 && !v.run.job.retries() {
		tried-- // something else has asked for it: the waits do not grow by that
	}
	if run.RetryIn, run.Retry = l.backoff.Again(v.meta, err, tried); run.Retry {
		l.memory.setRetries(v, tried+1)
	}
}

// succeeded carries the effects of a run without an error to others.
func (l *loop) succeeded(v *vertex, changed bool) {
	l.refreshed(v, changed)
	v.past.rested = (v.once || v.meta.Rests) && v.run.job.apply && v.undone()
	if v.wired().Acted() {
		l.memory.recorder.NoteAll(v.wired().Digests(v.ID)...)
	}
	l.propagate(v, v.run.said.sent)
}

// maxDoubt bounds how many ancestors of a vertex that has failed are looked at first, the
// nearest ones.
const maxDoubt = 64

// doubt takes the end of a run of v that has failed though v was well before. It has those
// above v looked at, and then v once more, before the failure is told. It
// reports whether it did.
func (l *loop) doubt(v *vertex, ended resgraph.State, err error) bool {
	_, again := l.failures.doubts[v]
	delete(l.failures.doubts, v)
	if ended != resgraph.StateFailed || again || !v.past.last.Settled() || !v.run.job.fromOutside() || l.opt.Once || v.meta.Retry == engine.RetryNever ||
		failure.IsPermanent(err) || failure.IsVerdict(err) || failure.IsInterrupted(err) || !l.lookAbove(v) {
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
