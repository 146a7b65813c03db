package reactor

import (
	"log/slog"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// correction tells the values that a run of v has corrected from others; 0 where it has corrected none. It is asked while the
// secrets are still there: two of them are shown as the same word.
func (v *vertex) correction(run *Run) uint64 {
	if v.core.opt.Flapping.Times == 0 || !run.Changed || v.run.job.class != Corrective {
		return 0
	}
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	if !hold.Corrects(v.run.changes()) {
		return 0
	}
	return max(1, hold.Print(v.core.seed, v.run.changes())^v.run.said.print)
}

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

// stormWait returns how long a start of v has to wait because it runs too often, and whether that is to be told. runs counts the runs of
// all vertices.
func (b *holds) stormWait(v *vertex, runs uint64, now int64, limit Storm) (wait time.Duration, tell bool) {
	ask := hold.Ask{Runs: runs, LastRun: v.past.lastRun, Since: now}
	if v.asked != nil {
		ask.Since = v.asked.since
	}
	return b.storms.Wait(v, ask, now, limit)
}

// firstCause returns the first cause of the next run of v, empty for none.
func (v *vertex) firstCause() Cause {
	if v.asked == nil || len(v.asked.list) == 0 {
		return ""
	}
	return v.asked.list[0].Cause
}

// drifted reports whether somebody outside has altered a file. However often he does, each of it is put right: the
// engine is not what makes the storm.
func drifted(triggers []Trigger) bool {
	return slices.ContainsFunc(triggers, func(t Trigger) bool { return t.Cause == CauseEvent && t.Path != "" && t.From == "" })
}

// stormRan counts a run that has ended.
func (b *holds) stormRan(v *vertex, run *Run, now int64, limit Storm) {
	run.RetryIn = b.storms.Ran(v, hold.End{
		Failed: run.State == engine.StateFailed, Changed: run.Changed, Drift: drifted(v.run.job.triggers), Took: run.Duration, Retry: run.Retry, RetryIn: run.RetryIn,
	}, now, limit)
}
