package reactor

import (
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// corrected leaves v alone for a while if it flaps, after a run that has corrected it.
func (r *Reactor) corrected(v *vertex, run *Run) {
	o := r.opt.Fight
	if o.Times == 0 || !run.Changed || run.Class != Corrective || !hold.Corrects(run.Changes) {
		return
	}
	rest, flaps := v.hold.Corrected(hold.Print(r.seed, run.Changes), r.now(), o)
	if !flaps {
		return
	}
	reason := "something else keeps undoing it: it is " + hold.Seen(run.Changes)
	r.log.Warn("fought over, left alone for a while", slog.String("resource", v.id),
		slog.String("seen", reason), slog.Int("corrections", rest.Corrections), slog.Duration("for", rest.For))
	r.hold(v, &Held{Brake: BrakeFight, Reason: reason, For: rest.For})
	r.after(rest.For, nil, func() {
		if v.hold.Rested(rest.Until) && !v.life.gone {
			r.letGo(v)
		}
	})
}

// putOff takes a start back that has to wait, and reports whether it did.
func (r *Reactor) putOff(v *vertex) bool {
	now := r.now()
	d, why := r.stormWait(v, now), hold.ByStorm
	if d == 0 {
		d, why = v.hold.Pace.Wait(now, r.epoch.Add(time.Duration(now)))
	}
	if d == 0 {
		return false
	}
	r.m.Defer(v.slot)
	r.after(d, v, func() {
		v.hold.Deferred = hold.NotDeferred
		r.m.Wake(v.slot)
	})
	v.hold.Deferred = why
	return true
}

// stormWait returns how long a start of v has to wait because it runs too often.
func (r *Reactor) stormWait(v *vertex, now int64) time.Duration {
	ask := hold.Ask{Runs: r.runs, LastRun: v.past.lastRun, Since: now}
	if v.asked != nil {
		ask.Since = v.asked.since
	}
	wait, tell := r.storms.Wait(v, ask, now, r.opt.Storm)
	if tell {
		cause := Cause("")
		if v.asked != nil && len(v.asked.list) > 0 {
			cause = v.asked.list[0].Cause
		}
		r.log.Warn("runs too often, and is slowed down until it is quiet again", slog.String("resource", v.id),
			slog.String("because", string(cause)), slog.Int("runs", r.opt.Storm.Runs), slog.Duration("within", r.opt.Storm.Within))
	}
	return wait
}

// stormRan counts a run that has ended.
func (r *Reactor) stormRan(v *vertex, run *Run) {
	run.RetryIn = r.storms.Ran(v, hold.End{
		Failed: run.State == engine.StateFailed, Changed: run.Changed, Retry: run.Retry, RetryIn: run.RetryIn,
	}, r.now(), r.opt.Storm)
}
