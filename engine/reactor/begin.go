package reactor

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
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
		v.past.last = engine.StateOK
		return "", l.settled(v, engine.StateOK)
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
		return "", l.settled(v, engine.StateUnknown)
	}
	err := fmt.Errorf("%s ended without sending %q, which %s needs", w.From.ID(), w.From.Key, w.Field)
	l.report(v, Run{State: engine.StateFailed, Err: err})
	return "", l.settled(v, engine.StateFailed)
}

// settled ends a run that was not necessary: it tells the machine and says so.
func (l *loop) settled(v *vertex, s engine.State) bool {
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
	l.lay(v, l.report(v, Run{State: engine.StateUnknown, Noop: true}))
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
	j.apply, j.pass, j.refreshes, j.stand = !v.noop, v.hold.Begin(), v.beginRefreshes(), l.standing(v)
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
	defer engine.Caught("SetRefresh or SetRecv", &err)
	if res, ok := engine.As[engine.RefreshableRes](v.Res); ok {
		res.SetRefresh(v.run.refresh.Load())
	}
	if res, ok := engine.As[engine.RecvableRes](v.Res); ok {
		res.SetRecv(v.recvMap())
	}
	return nil
}
