package reactor

import (
	"log/slog"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// print tells the values that a run of v has corrected from others; 0 where it has corrected none. It is asked while the
// secrets are still there: two of them are shown as the same word.
func (b *holds) print(v *vertex, run *Run) uint64 {
	if b.l.opt.Flapping.Times == 0 || !run.Changed || v.run.job.class != Corrective {
		return 0
	}
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	if !hold.Corrects(v.run.changes()) {
		return 0
	}
	return max(1, hold.Print(b.l.seed, v.run.changes())^v.run.said.print)
}

// corrected leaves v alone for a while if it flaps, after a run that has corrected values with a print.
func (b *holds) corrected(v *vertex, run *Run, print uint64) {
	if print == 0 {
		return
	}
	rest, flaps := v.hold.Corrected(print, b.l.now(), b.l.opt.Flapping)
	if !flaps {
		return
	}
	reason := "something else keeps undoing it: it is " + hold.Seen(run.Changes)
	b.l.log.Warn("flapping, left alone for a while", slog.String("resource", v.ID),
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
	if b.awaitsValue(v) {
		return true
	}
	now := b.l.moment
	d, why := b.stormWait(v, now), hold.ByStorm
	if d == 0 {
		d, why = v.hold.Wait(now, b.l.epoch.Add(time.Duration(now)))
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
	b.l.after(d, v, func() { b.endDeferral(v) })
	v.hold.Defer(why)
}

// endDeferral ends the wait of a start.
func (b *holds) endDeferral(v *vertex) {
	why := v.hold.Deferred()
	if v.hold.EndDeferral() {
		b.l.m.Wake(v.slot)
	}
	if why == hold.ByValue {
		b.update(v)
	}
}

// awaitsValue has a start of v wait where v receives a value of a vertex that flaps and has not
// been looked at since something happened to it: there may be another value. It reports whether it did.
func (b *holds) awaitsValue(v *vertex) bool {
	from := b.flapsAbove(v)
	if from == nil {
		return false
	}
	b.l.m.Defer(v.slot)
	b.postpone(v, from.hold.HeldNow(b.l.now()).For, hold.ByValue)
	b.update(v)
	return true
}

// flapsAbove returns the vertex for a value of which v has to wait; nil for none.
func (b *holds) flapsAbove(v *vertex) *vertex {
	if v.wired() == nil {
		return nil // most
	}
	for _, w := range v.wired().Wires() {
		if from := b.l.named(w.From.ID()); from != nil && from.asked != nil && from.hold.HeldBy(LimitFlapping) {
			return from
		}
	}
	return nil
}

// stormWait returns how long a start of v has to wait because it runs too often.
func (b *holds) stormWait(v *vertex, now int64) time.Duration {
	ask := hold.Ask{Runs: b.l.runs, LastRun: v.past.lastRun, Since: now}
	if v.asked != nil {
		ask.Since = v.asked.since
	}
	wait, tell := b.storms.Wait(v, ask, now, b.l.opt.Storm)
	if tell {
		cause := Cause("")
		if v.asked != nil && len(v.asked.list) > 0 {
			cause = v.asked.list[0].Cause
		}
		b.l.log.Warn("runs too often, and is slowed down until it is quiet again", slog.String("resource", v.ID),
			slog.String("because", string(cause)), slog.Int("runs", b.l.opt.Storm.Runs), slog.Duration("within", b.l.opt.Storm.Within))
	}
	return wait
}

// drifted reports whether somebody outside has altered a file. However often he does, each of it is put right: the
// engine is not what makes the storm.
func drifted(triggers []Trigger) bool {
	return slices.ContainsFunc(triggers, func(t Trigger) bool { return t.Cause == CauseEvent && t.Path != "" && t.From == "" })
}

// stormRan counts a run that has ended.
func (b *holds) stormRan(v *vertex, run *Run) {
	run.RetryIn = b.storms.Ran(v, hold.End{
		Failed: run.State == engine.StateFailed, Changed: run.Changed, Drift: drifted(v.run.job.triggers), Took: run.Duration, Retry: run.Retry, RetryIn: run.RetryIn,
	}, b.l.moment, b.l.opt.Storm)
}
