package reactor

import (
	"container/heap"
	"math"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// event marks v dirty.
func (l *loop) event(v *vertex) {
	if v.membership.suspended {
		return // it is looked at anyway, or is no more
	}
	l.reconsider(v)
	if v.hold.Deferred() == hold.ByOutside { // the cause of its wait may be over
		l.disarm(v)
	}
	l.m.Event(v.slot)
	l.setDue(v, true)
}

// reconsider has v looked at that waits for an approval: somebody has altered it.
func (l *loop) reconsider(v *vertex) {
	if v.hold.HeldBy(LimitApproval) {
		v.hold.Look()
		l.updateHold(v)
	}
}

// ready says that v may be run from now on, and has to be.
func (l *loop) ready(v *vertex) {
	l.m.Ready(v.slot)
	l.setDue(v, true)
}

func (l *loop) retryNow(v *vertex) {
	v.past.setRetry(0)
	l.because(v, Trigger{Cause: CauseRetry})
	l.m.Wake(v.slot)
	l.setDue(v, true)
}

// after calls do on the loop when d is over. With v, it replaces the alarm of the
// same vertex.
func (l *loop) after(d time.Duration, v *vertex, do func()) {
	if v != nil {
		l.disarm(v)
	}
	now := l.now()
	at := now + min(int64(max(d, 0)), math.MaxInt64-now)
	heap.Push(&l.alarms, alarm{at: at, v: v, do: do})
	l.arm()
}

// disarm forgets the alarm of v.
func (l *loop) disarm(v *vertex) {
	if v.alarm > 0 {
		heap.Remove(&l.alarms, int(v.alarm)-1)
	}
	l.endDeferral(v) // nothing else would end that wait
}

// postpone has a start wait that the machine has deferred.
func (l *loop) postpone(v *vertex, d time.Duration, why hold.Deferral) {
	l.after(d, v, func() { l.endDeferral(v) })
	v.hold.Defer(why)
}

// endDeferral ends the wait of a start.
func (l *loop) endDeferral(v *vertex) {
	why := v.hold.Deferred()
	if v.hold.EndDeferral() {
		l.m.Wake(v.slot)
	}
	if why == hold.ByValue {
		l.updateHold(v)
	}
}

// updateHold makes the machine hold v, or let it go, as the limits say.
func (l *loop) updateHold(v *vertex) {
	switch {
	case l.holds.pauses.Of(v.ID) != nil:
		l.m.Hold(v.slot, resgraph.StatePaused)
	case v.hold.HeldBy(LimitFlapping):
		l.m.Aside(v.slot)
	case v.hold.IsHeld(), v.hold.Deferred() == hold.ByValue:
		l.m.Hold(v.slot, resgraph.StateHeld)
	default:
		l.m.Release(v.slot)
	}
	l.setDue(v, dirty(l.m.State(v.slot)))
}

// dirty reports whether a vertex in this state has something to do.
func dirty(s resgraph.State) bool {
	switch s {
	case resgraph.StateWaiting, resgraph.StateRunning, resgraph.StateBlocked:
		return true
	default:
		return false
	}
}

// arm makes the timer wait for the first alarm.
func (l *loop) arm() {
	a := &l.alarms
	if len(a.list) == 0 && a.armed == 0 {
		a.timer.Stop() // it may have ended: see clock.Counting
	}
	if len(a.list) == 0 || a.armed == a.list[0].at {
		return
	}
	a.armed = a.list[0].at
	a.timer.Reset(time.Duration(a.armed - l.now()))
}

// syncSlot tells the machine whether the run of v waits.
func (l *loop) syncSlot(v *vertex) {
	waits := v.run.inRun && v.run.waits.Load() > 0
	switch {
	case waits && !v.run.yielded:
		l.m.Yield()
	case !waits && v.run.yielded:
		l.m.Regain()
	}
	v.run.yielded = waits
}

// startWatch starts the Watch, or has it started when the run has ended.
func (l *loop) startWatch(v *vertex) {
	if v.membership.suspended || v.watch.Active() || l.ctx.Err() != nil {
		return
	}
	v.past.setRetry(0)
	if v.run.inRun {
		v.watch.StartLater(true)
		return
	}
	l.disarm(v)
	l.active++
	l.m.Unready(v.slot)
	l.setDue(v, true) // a vertex that was never heard of is not clean
	v.watch.Start(l.ctx, l.now(), l.opt.StartTimeout)
	l.watches.starting = append(l.watches.starting, v)
}

// endWatch tells the Watch to end; watched decides on the next step by the state.
func (l *loop) endWatch(v *vertex, why watch.State) {
	if why == watch.Ending {
		l.m.Unready(v.slot)
		l.setDue(v, false)
	}
	v.watch.End(why)
}
