package reactor

import (
	"log/slog"

	"github.com/reactivegraph/mgmt/internal/apart"
)

// remove begins the end of a vertex that has left the graph.
func (l *loop) remove(v *vertex) {
	v.membership.gone = true
	l.holds.storms.Remove(v)
	l.disarm(v)
	l.setDue(v, false)
	l.leaving[v.ID] = v
	l.departing.Add(1)
	l.cut(v)
	if d := l.opt.Declared; d != nil && v.membership.after == nil {
		d.leave(v.ID)
	}
	l.leave(v)
}

// leave has a vertex that is gone cleaned up once it runs no more.
func (l *loop) leave(v *vertex) {
	if v.run.inRun || v.watch.Active() || v.membership.before != nil {
		return
	}
	l.active++
	r, name := l.core, v.membership.after == nil
	apart.Go("Cleanup", func() error { return r.callCleanup(v) }, func(err error) { r.depart(v, name, err) })
}

// finished takes the news that a vertex has left, and lets the one start that
// waited for it.
func (l *loop) finished(v *vertex) {
	l.active--
	l.departing.Add(-1)
	if l.leaving[v.ID] == v {
		delete(l.leaving, v.ID)
	}
	l.bySlot[v.slot] = nil
	delete(l.wrote, v.slot)
	l.free = append(l.free, v.slot)
	l.tellIdle(v)
	n := v.membership.after
	// A caller may still hold a function of v: that must not keep the others.
	v.membership.succession, v.links = noSuccession, noLinks
	if n == nil {
		return
	}
	n.membership.own().before = nil
	n.ledger.Inherit(&v.ledger)
	switch {
	case n.membership.gone:
		l.leave(n)
	case l.ctx.Err() == nil:
		l.open(n)
	}
}

// resume lets a suspended vertex go on that a failed Swap gave back, once its earlier work has
// ended.
func (l *loop) resume(v *vertex) {
	if v.membership.resumed && !v.run.inRun && !v.watch.Active() {
		v.membership.suspended, v.membership.resumed = false, false
		l.because(v, Trigger{Cause: CauseWatch})
		l.open(v)
	}
}

// suspend ends Watch and CheckApply of v and keeps them from starting.
func (l *loop) suspend(v *vertex) {
	v.membership.suspended, v.membership.resumed = true, false
	v.watch.StartLater(false)
	l.disarm(v)
	l.m.Unready(v.slot)
	l.setDue(v, false)
	l.cut(v)
}

// cut ends the calls of v that run.
func (l *loop) cut(v *vertex) {
	v.endRun()
	v.watch.Cut()
}

// idleChan returns a channel that is closed when v runs no more, and, if it is
// leaving, has left.
func (v *vertex) idleChan() <-chan struct{} {
	if v.membership.idle == nil {
		v.membership.own().idle = make(chan struct{})
	}
	return v.membership.idle
}

// tellIdle closes that channel if it is so.
func (l *loop) tellIdle(v *vertex) {
	if v.membership.idle != nil && !v.run.inRun && !v.watch.Active() {
		close(v.membership.idle)
		v.membership.own().idle = nil
	}
}

// depart ends what the Cleanup of a vertex that has left has begun, and, if its name has left too, forgets the records of the name.
// It runs on the goroutine of that Cleanup.
func (c *core) depart(v *vertex, name bool, err error) {
	defer c.mail.post(v, mailFinished)
	c.cleaned(v, err)
	if !name || c.opt.ReadOnly || v.noop {
		return
	}
	if err := v.RemoveState(); err != nil {
		c.log.Warn("removing the state folder failed", slog.String("resource", v.ID), slog.Any("error", err))
	}
	c.memory.forget(v)
}
