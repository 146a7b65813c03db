package reactor

import (
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// corrected leaves v alone for a while if it flaps, after a run that has corrected it.
func (b *holds) corrected(v *vertex, run *Run) {
	o := b.l.r.opt.Flapping
	if o.Times == 0 || !run.Changed || run.Class != Corrective || !hold.Corrects(run.Changes) {
		return
	}
	rest, flaps := v.hold.Corrected(hold.Print(b.seed, run.Changes), b.l.r.now(), o)
	if !flaps {
		return
	}
	reason := "something else keeps undoing it: it is " + hold.Seen(run.Changes)
	b.l.r.log.Warn("flapping, left alone for a while", slog.String("resource", v.ID),
		slog.String("seen", reason), slog.Int("corrections", rest.Corrections), slog.Duration("for", rest.For))
	b.hold(v, &Held{Limit: LimitFlapping, Reason: reason, For: rest.For})
	b.l.after(rest.For, nil, func() {
		if v.hold.Rested(rest.Until) && !v.membership.gone {
			b.letGo(v)
		}
	})
}

// putOff takes a start back that has to wait, and reports whether it did.
func (b *holds) putOff(v *vertex) bool {
	now := b.l.moment
	d, why := b.stormWait(v, now), hold.ByStorm
	if d == 0 {
		d, why = v.hold.Wait(now, b.l.r.epoch.Add(time.Duration(now)))
	}
	if d == 0 {
		return false
	}
	b.l.m.Defer(v.slot)
	b.postpone(v, d, why)
	return true
}

// postpone has a start wait that the machine has deferred.
func (b *holds) postpone(v *vertex, d time.Duration, why hold.Deferral) {
	b.l.after(d, v, func() {
		v.hold.EndDeferral()
		b.l.m.Wake(v.slot)
	})
	v.hold.Defer(why)
}

// stormWait returns how long a start of v has to wait because it runs too often.
func (b *holds) stormWait(v *vertex, now int64) time.Duration {
	ask := hold.Ask{Runs: b.l.runs, LastRun: v.past.lastRun, Since: now}
	if v.asked != nil {
		ask.Since = v.asked.since
	}
	wait, tell := b.storms.Wait(v, ask, now, b.l.r.opt.Storm)
	if tell {
		cause := Cause("")
		if v.asked != nil && len(v.asked.list) > 0 {
			cause = v.asked.list[0].Cause
		}
		b.l.r.log.Warn("runs too often, and is slowed down until it is quiet again", slog.String("resource", v.ID),
			slog.String("because", string(cause)), slog.Int("runs", b.l.r.opt.Storm.Runs), slog.Duration("within", b.l.r.opt.Storm.Within))
	}
	return wait
}

// stormRan counts a run that has ended.
func (b *holds) stormRan(v *vertex, run *Run) {
	run.RetryIn = b.storms.Ran(v, hold.End{
		Failed: run.State == engine.StateFailed, Changed: run.Changed, Retry: run.Retry, RetryIn: run.RetryIn,
	}, b.l.moment, b.l.r.opt.Storm)
}
