package reactor

import (
	"errors"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// stalls takes the end of a run that altered nothing because something outside of the graph must
// end first, and reports whether it was such a run. The vertex is waiting until an event or its
// time comes; the triggers of the run ask for the next one. Where nothing may be altered nothing is
// awaited: it would change.
func (l *loop) stalls(v *vertex, o *outcome) bool {
	w, ok := errors.AsType[*engine.WaitError](o.err)
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
	v.hold.TakeBack(v.run.job.pass)
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
