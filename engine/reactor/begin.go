package reactor

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// begin starts the runs that the machine decided on.
func (l *loop) begin(slots []int32) {
	var lead *runContext
	var vs []*vertex
	for _, s := range slots {
		v := l.bySlot[s]
		unread, skipped := l.skip(v)
		if skipped || l.putOff(v) {
			continue
		}
		j := l.enter(v)
		j.unread = unread
		if lead == nil {
			lead, vs = &runContext{lead: v}, j.alone[:0]
		}
		j.joined = lead.join()
		vs = append(vs, v)
	}
	if lead != nil {
		l.pool.assignWork(task{ctx: lead, vs: vs})
	}
}

// skip handles a start decision for a vertex that must not or need not run, and
// reports whether it did. Of another vertex it returns what a part of its parameters waits for, if that is
// all that a run can tell.
func (l *loop) skip(v *vertex) (unread string, skipped bool) {
	if v.meta.Hidden || v.past.rested {
		v.past.last = resgraph.StateOK
		return "", l.settled(v, resgraph.StateOK)
	}
	w := v.wired().Missing()
	if w == nil && v.meta.Unread == "" {
		return "", false
	}
	until := v.meta.Unread
	if until == "" {
		if from := l.named(w.From.ID()); from != nil && undecided(from.past.last) {
			until = from.ID
		}
	}
	if until != "" && v.mayBeAbsent() {
		return until, false
	}
	v.run.job = l.pool.jobs.take()
	l.takeAsked(v)
	if until != "" {
		l.unknown(v, until)
		return "", l.settled(v, resgraph.StateUnknown)
	}
	err := fmt.Errorf("%s ended without sending %q, which %s needs", w.From.ID(), w.From.Key, w.Field)
	l.report(v, Run{State: resgraph.StateFailed, Err: err})
	return "", l.settled(v, resgraph.StateFailed)
}

// settled ends a run that was not necessary: it tells the machine and says so.
func (l *loop) settled(v *vertex, s resgraph.State) bool {
	l.pool.jobs.end(v)
	l.m.Done(v.slot, sched.Outcome{State: s})
	l.setDue(v, false)
	return true
}

// unknown reports that v can't be told before until has run: the values that it
// has not received are shown as such.
func (l *loop) unknown(v *vertex, until string) {
	l.awaits(v, until)
	v.reports(v.wired().Unknown())
	l.lay(v, l.report(v, Run{State: resgraph.StateUnknown, Noop: true}))
}

// enter prepares a vertex for a run. Its alarm is off: this run is the
// retry, or the look of the poll.
func (l *loop) enter(v *vertex) *job {
	l.active++
	l.disarm(v)
	v.past.setRetry(0)
	v.run.inRun = true
	v.run.altered.Store(false)
	if l.opt.Layer != nil {
		l.moved.Delete(v)
	}
	j := l.pool.jobs.take()
	j.apply, j.refreshes, j.stand = !v.noop, v.beginRefreshes(), l.standing(v)
	j.resumed, j.pass = v.hold.Begin()
	j.approved = v.hold.TakeApproved()
	v.run.job = j
	l.takeAsked(v)
	v.run.refresh.Store(v.abil.Refreshable && (v.ledger.IsRefreshed() || v.noop && l.wouldRefresh(v)))
	j.broken = v.tell()
	return j
}

// tell gives the traits of the resource their part of the run.
func (v *vertex) tell() (err error) {
	if !v.abil.Refreshable && !v.abil.Recvable {
		return nil
	}
	defer callsafe.Recover("SetRefresh or SetRecv", &err)
	if res, ok := engine.As[engine.RefreshableRes](v.Res); ok {
		res.SetRefresh(v.run.refresh.Load())
	}
	if res, ok := engine.As[engine.RecvableRes](v.Res); ok {
		res.SetRecv(v.recvMap())
	}
	return nil
}

// standing returns where v stands, nil if that need not be kept. It does not change any more.
func (l *loop) standing(v *vertex) *undo.Place {
	kept := &l.memory.undo
	if !v.meta.Undoes() || kept.Has(v.ID) {
		return nil
	}
	place := undo.Look(kept, undo.Graph{
		Above: l.m.Above, Below: l.m.Below,
		ID:       func(slot int32) string { return l.bySlot[slot].ID },
		Reverses: func(slot int32) bool { return l.bySlot[slot].meta.Undoes() },
	}, v.slot)
	return &place
}

// longRun is how long a run may take before a warning names its resource. It is longer than most transactions of a package
// manager, and short enough for a person who waits.
const longRun = 2 * time.Minute

// lookOut has the loop look for long runs as long as there are runs. The loop looks at all vertices at once, and not with an alarm
// for each run: that costs a run nothing. At rest there is no alarm.
func (l *loop) lookOut() {
	if !l.lookout {
		l.lookout = true
		l.after(longRun/2, nil, l.tellLong)
	}
}

// tellLong warns once of each run that has not come back for a long time. Such a run can't be ended: a call of the kernel about a
// file system that does not answer comes back with the file system.
func (l *loop) tellLong() {
	l.lookout = false
	for _, v := range l.bySlot {
		if v == nil || !v.run.inRun || v.run.job == nil {
			continue
		}
		l.lookOut()
		if j := v.run.job; !j.told && time.Duration(l.moment-j.started) >= longRun {
			j.told = true
			l.log.Warn("runs for a long time: a command may need it, or a file system, a device or a program does not answer; fix that, or end it; only what depends on the resource waits",
				slog.String("resource", v.ID), slog.Duration("for", time.Duration(l.moment-j.started)))
		}
	}
}
