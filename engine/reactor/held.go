package reactor

import (
	"errors"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// pause puts a pause into effect, for a time or until it is resumed.
func (l *loop) pause(p *Pause, left time.Duration) {
	l.holds.pauses.Set(p)
	l.updateHolds(p.Resource)
	l.opt.Listener.paused(*p, true)
	if left > 0 {
		l.after(left, nil, func() {
			if !l.holds.pauses.Has(p) {
				return
			}
			l.unpause(p.Resource)
			if len(l.holding) == 0 { // else the record may be that of the next one already; of a limit that is over there is none
				l.memory.recorder.Note(tablePause, hold.PauseKey(p.Resource), nil)
			}
		})
	}
}

func (l *loop) unpause(resource string) {
	p := l.holds.pauses.End(resource)
	l.updateHolds(resource)
	l.opt.Listener.paused(*p, false)
}

// updateHolds looks again at the limits of a resource, or of all.
func (l *loop) updateHolds(resource string) {
	l.stir()
	if resource != "" {
		if v := l.named(resource); v != nil {
			l.updateHold(v)
		}
		return
	}
	for _, v := range l.byIndex {
		l.updateHold(v)
	}
}

// hold keeps v from being altered.
func (l *loop) hold(v *vertex, h *Held) {
	v.hold.Hold(*h, l.now())
	l.updateHold(v)
	l.opt.Listener.held(v.ID, h)
}

// letGo ends hold, and has v looked at.
func (l *loop) letGo(v *vertex) {
	v.hold.LetGo()
	l.because(v, Trigger{Cause: CauseResume})
	l.updateHold(v)
	l.event(v)
	for _, t := range v.sendsTo {
		if t.v.hold.Deferred() == hold.ByValue {
			l.disarm(t.v)
		}
	}
	l.stir()
	l.opt.Listener.held(v.ID, nil)
}

// overBudget takes the end of a run that wanted to change something and must
// not. The triggers of the run stay.
func (l *loop) overBudget(v *vertex) {
	if v.run.job.refill != l.account.Refills() { // it was told to go on meanwhile
		l.redo(v)
		return
	}
	if l.account.Tell() {
		l.memory.recorder.Note(tableBudget, hold.BudgetEmpty, []byte{1})
		l.log.Warn("the change budget is used up: what wants to change is held until it is resumed (mgmt resume)",
			slog.String("budget", l.account.String()))
	}
	v.hold.TakeBack(false, v.run.job.approved)
	l.hold(v, &Held{Limit: LimitBudget, Reason: "the budget of " + l.account.String() + " changes is used up"})
	l.endHeld(v)
}

// endHeld ends a run that a limit has kept from changing anything.
func (l *loop) endHeld(v *vertex) {
	l.runAgain(v)
	l.report(v, Run{State: resgraph.StateHeld, Noop: true, Duration: v.run.job.out.took})
	l.afterHeld(v)
}

// redo ends a run that did none of its work, without a report: there will be another one for the same reasons.
func (l *loop) redo(v *vertex) {
	l.runAgain(v)
	v.run.discard()
	l.afterHeld(v)
}

// runAgain ends a run that did none of its work, so that there will be another one for the same
// reasons.
func (l *loop) runAgain(v *vertex) {
	l.giveAsked(v)
	l.m.Event(v.slot)
	l.m.Done(v.slot, sched.Outcome{State: resgraph.StateOK})
	l.setDue(v, dirty(l.m.State(v.slot)))
}

func (l *loop) afterHeld(v *vertex) {
	l.pool.jobs.end(v)
	l.next(v, Run{})
}

// resumeOne forgets the corrections of v, and lets it go.
func (l *loop) resumeOne(v *vertex) {
	v.hold.Forgive()
	if v.hold.IsHeld() && !v.hold.HeldBy(LimitApproval) {
		l.letGo(v)
	}
}

// stalls takes the end of a run that altered nothing because something outside of the graph must
// end first, and reports whether it was such a run. The vertex is waiting until an event or its
// time comes; the triggers of the run ask for the next one. Where nothing may be altered nothing is
// awaited: it would change.
func (l *loop) stalls(v *vertex, o *outcome) bool {
	w, ok := errors.AsType[*failure.WaitError](o.err)
	switch {
	case !ok:
		v.hold.EndStall()
		return false
	case !v.run.job.apply:
		o.ok, o.err = false, nil
		return false
	}
	l.stall(v, v.Error(w), jitter(l.rand, hold.StallFor(w.Again, v.meta.Poll, v.asked != nil)))
	return true
}

// stall has v wait for d.
func (l *loop) stall(v *vertex, err error, d time.Duration) {
	l.giveAsked(v)
	v.hold.TakeBack(v.run.job.resumed, v.run.job.approved)
	l.pool.jobs.end(v)
	v.run.discard()
	l.m.Defer(v.slot)
	if !v.watch.Is(watch.Failed) { // else its own alarm is set
		v.past.setError(err)
		l.postpone(v, d, hold.ByOutside)
	}
	l.tellStall(v, err)
	l.setDue(v, dirty(l.m.State(v.slot)))
	l.afterRun(v)
}

// tellStall tells the log of a wait that lasts.
func (l *loop) tellStall(v *vertex, err error) {
	waited := time.Duration(l.now() - v.asked.since)
	attrs := []any{slog.String("resource", v.ID), slog.Any("for", err), slog.Duration("waited", waited)}
	switch v.hold.Stall(waited) {
	case hold.StallBegun:
		l.stir()
	case hold.StallLasts:
		l.log.Info("waits for something outside of the graph", attrs...)
	case hold.StallLong:
		l.log.Warn("still waits for something outside of the graph", attrs...)
	}
}

const tablePause = "pause" // key: the resource, or * for everything

// corrected leaves v alone for a while if it flaps, after a run that has corrected values with a print.
func (l *loop) corrected(v *vertex, run *Run, print uint64) {
	if print == 0 {
		return
	}
	rest, flaps := v.hold.Corrected(print, l.now(), l.opt.Flapping)
	if !flaps {
		return
	}
	reason := "something else keeps undoing it: it is " + hold.Seen(run.Changes)
	l.log.Warn("flapping, left alone for a while", slog.String("resource", v.ID),
		slog.String("seen", reason), slog.Int("corrections", rest.Corrections), slog.Duration("for", rest.For))
	l.hold(v, &Held{Limit: LimitFlapping, Reason: reason, For: rest.For})
	l.after(rest.For, nil, func() {
		if v.hold.Rested(rest.Until) && !v.membership.gone {
			l.letGo(v)
		}
	})
}

// putOff takes a start back that has to wait, and reports whether it did.
func (l *loop) putOff(v *vertex) bool {
	if l.awaitsValue(v) {
		return true
	}
	now := l.moment
	d, tell := l.holds.stormWait(v, l.runs, now, l.opt.Storm)
	if tell {
		l.log.Warn("runs too often, and is slowed down until it is quiet again", slog.String("resource", v.ID),
			slog.String("because", string(v.firstCause())), slog.Int("runs", l.opt.Storm.Runs), slog.Duration("within", l.opt.Storm.Within))
	}
	why := hold.ByStorm
	if d == 0 {
		d, why = v.hold.Wait(now, l.epoch.Add(time.Duration(now)))
	}
	if d == 0 {
		return false
	}
	l.m.Defer(v.slot)
	l.postpone(v, d, why)
	return true
}

// awaitsValue has a start of v wait where v receives a value of a vertex that flaps and has not
// been looked at since something happened to it: there may be another value. It reports whether it did.
func (l *loop) awaitsValue(v *vertex) bool {
	from := l.flapsAbove(v)
	if from == nil {
		return false
	}
	l.m.Defer(v.slot)
	l.postpone(v, from.hold.HeldNow(l.now()).For, hold.ByValue)
	l.updateHold(v)
	return true
}

// flapsAbove returns the vertex for a value of which v has to wait; nil for none.
func (l *loop) flapsAbove(v *vertex) *vertex {
	if v.wired() == nil {
		return nil // most
	}
	for _, w := range v.wired().Wires() {
		if from := l.named(w.From.ID()); from != nil && from.asked != nil && from.hold.HeldBy(LimitFlapping) {
			return from
		}
	}
	return nil
}
