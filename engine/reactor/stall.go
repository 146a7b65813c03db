package reactor

import (
	"errors"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

const (
	// stallAgain is how long a vertex waits that does not say when to look again.
	stallAgain = 10 * time.Second
	// stallSoon is how long it waits at least if an event has asked for it during the run: the
	// obstacle may be gone.
	stallSoon = 50 * time.Millisecond
	// stallShort is the wait after which the log tells of it. A shorter one, as for a restart by
	// hand, is not worth a line.
	stallShort = 3 * time.Second
	// stallLong is the wait after which the log warns.
	stallLong = 10 * time.Minute
)

// The steps of vertex.stalled.
const (
	stallBegun  uint8 = iota + 1 // one run has found that it has to wait
	stallTold                    // the log has told of the wait,
	stallWarned                  // and has warned
)

// stalls takes the end of a run that altered nothing because something outside of the graph must
// end first, and reports whether it was such a run. The vertex is waiting until an event or its
// time comes; the triggers of the run ask for the next one. Where nothing may be altered nothing is
// awaited: it would change.
func (b *holds) stalls(v *vertex, o *outcome) bool {
	w, ok := errors.AsType[*engine.WaitError](o.err)
	switch {
	case !ok:
		v.membership.stalled = 0
		return false
	case !v.run.job.apply:
		o.ok, o.err = false, nil
		return false
	}
	d := w.Again
	if d <= 0 {
		d = stallAgain
	}
	if v.meta.Poll > 0 {
		d = min(d, v.meta.Poll)
	}
	if v.asked != nil {
		d = min(d, stallSoon)
	}
	b.stall(v, v.Error(w), jitter(b.l.r, d))
	return true
}

// stall has v wait for d.
func (b *holds) stall(v *vertex, err error, d time.Duration) {
	b.l.giveAsked(v)
	v.hold.Pass = v.hold.Pass || v.run.job.pass
	b.l.pool.jobs.end(v)
	v.run.mu.Lock()
	v.run.forget()
	v.run.mu.Unlock()
	b.l.m.Defer(v.slot)
	if !v.watch.Is(watch.Failed) { // else its own alarm is set
		v.past.setError(err)
		b.l.after(d, v, func() {
			v.hold.Deferred = hold.NotDeferred
			b.l.m.Wake(v.slot)
		})
		v.hold.Deferred = hold.ByOutside
	}
	b.tellStall(v, err)
	b.l.setDue(v, dirty(b.l.m.State(v.slot)))
	b.l.afterRun(v)
}

// tellStall tells the log of a wait that lasts.
func (b *holds) tellStall(v *vertex, err error) {
	waited := time.Duration(b.l.r.now() - v.asked.since)
	attrs := []any{slog.String("resource", v.ID), slog.Any("for", err), slog.Duration("waited", waited)}
	switch {
	case v.membership.stalled == 0:
		v.membership.stalled = stallBegun
		b.l.stir()
	case v.membership.stalled == stallBegun && waited >= stallShort:
		v.membership.stalled = stallTold
		b.l.r.log.Info("waits for something outside of the graph", attrs...)
	case v.membership.stalled == stallTold && waited >= stallLong:
		v.membership.stalled = stallWarned
		b.l.r.log.Warn("still waits for something outside of the graph", attrs...)
	}
}
