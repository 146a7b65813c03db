package reactor

import (
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// propagate offers what v has sent to its receivers.
func (l *loop) propagate(v *vertex, sent values.Sent) {
	if sent == nil {
		return
	}
	v.wiring().Sends(sent)
	for _, t := range v.sendsTo {
		t.v.wired().Offer(t.i, sent)
		l.tryAssign(t.v)
	}
}

// tryAssign assigns the values that wait, if neither Watch nor CheckApply runs.
// Else it sees to it that it is called again when they have ended.
func (l *loop) tryAssign(v *vertex) {
	wired := v.wired()
	if !wired.Waits() || v.run.inRun || v.membership.gone || v.membership.suspended || v.membership.before != nil {
		return // the end of the run, or the start of v, comes back
	}
	if v.watch.Active() && wired.EndsWatch() {
		if !v.watch.Is(watch.Ending) {
			l.endWatch(v, watch.Ending)
		}
		return // the end of the Watch comes back
	}
	waiting := slices.Collect(wired.Waiting())
	err := l.assignAll(v)
	recv := wired.Recv()
	for _, w := range waiting {
		if s := recv[w.Field]; err == nil && s != nil && !s.Changed {
			continue // the process before has acted on it
		}
		l.because(v, Trigger{Cause: CauseValue, From: w.From.ID(), Run: l.lastRunOf(w.From.ID()), Field: w.Field})
	}
	switch {
	case err != nil:
		l.fail(v, fmt.Errorf("a received value was refused: %w", err), false, 0)
	case v.watch.Is(watch.Running):
		l.ready(v)
	case !v.watch.Active():
		l.open(v)
	}
}

// open lets v take part: at its start, and after values were assigned while its
// Watch did not run.
func (l *loop) open(v *vertex) {
	switch {
	case v.membership.broken != nil:
		v.membership.suspended = true
		l.fail(v, v.membership.broken, false, 0)
	case v.membership.suspended: // resume comes back
	case v.wired().Waits():
		l.tryAssign(v)
	case v.wired().Refused() != nil:
		l.fail(v, v.wired().Refused(), false, 0)
	case v.unwatched() || v.wired().Missing() != nil:
		l.ready(v) // a receiver's Watch starts when it has its values
	default:
		l.startWatch(v)
	}
}

// assignAll assigns and validates. If it fails, the old values are back.
func (l *loop) assignAll(v *vertex) error {
	l.values.Lock()
	defer l.values.Unlock()
	v.guardList(v.wired().Taint())
	to := v.receiver()
	to.Validate = func() error { return l.read("Validate", callsafe.Do("Validate", v.Res.Validate)) }
	err := v.wired().Assign(to)
	if err != nil {
		err = v.Error(err)
		v.wired().Refuse(err)
	}
	return err
}

// refreshed puts the end of a run of v without an error into effect: the refreshes that it acted on
// are over, and its change refreshes others.
func (l *loop) refreshed(v *vertex, changed bool) {
	if !v.run.job.apply {
		return
	}
	if v.ledger.Succeed(&v.run.job.refreshes, changed) {
		l.notifyAll(v)
	}
}

// notifyAll marks the targets of v dirty, with the refreshes that its run has
// recorded.
func (l *loop) notifyAll(v *vertex) {
	for f := range v.run.job.refreshes.Due() {
		l.notify(v, f)
	}
}

// notify has the target of a refresh by v wait for it, and look.
func (l *loop) notify(v *vertex, f ledger.Refresh) {
	t := l.named(f.Target)
	if t == nil { // it has left meanwhile
		l.memory.recorder.NoteAll(f.Over())
		return
	}
	t.ledger.Refresh(f)
	l.from(t, CauseRefresh, v)
	l.event(t)
}

// keepPromises takes the end of a run of v: what was promised is due, if the run may have changed something. It may have failed after
// that, and then no later run would tell.
func (l *loop) keepPromises(v *vertex) {
	promised, due := v.ledger.Promised(&v.run.job.refreshes, !v.run.job.out.ok && v.run.wasToAlter())
	for _, f := range promised {
		if due {
			l.notify(v, f)
		} else {
			l.memory.recorder.NoteAll(f.Over())
		}
	}
}
