package reactor

import (
	"context"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// stuck notes how a vertex has ended, and tries those again that are stuck below it if it has changed.
func (l *loop) stuck(v *vertex, run Run, before resgraph.State) {
	f := &l.failures
	if run.State == resgraph.StateFailed {
		if v.byDefault() {
			f.add(l.m, v)
		}
		if run.Retry && v.byDefault() && max(v.ledger.Retries(), v.watch.Tries()) > 1 {
			l.faceMachine()
		}
		return
	}
	if len(f.list) == 0 {
		return
	}
	f.take(v)
	if run.Changed || before == resgraph.StateFailed {
		for _, below := range f.takeBelow(l.m, l.bySlot, v) {
			l.tryAgain(below, Trigger{Cause: CauseAbove, From: v.ID, Run: v.past.lastRun})
		}
	}
}

// tryAgain has a failed vertex tried again now, if that can be.
func (l *loop) tryAgain(v *vertex, why Trigger) {
	if !l.triable(v) {
		return
	}
	l.because(v, why)
	if !v.watch.Is(watch.Running) && !v.unwatched() && v.wired().Missing() == nil {
		l.startWatch(v)
		return
	}
	l.disarm(v)
	v.past.setRetry(0)
	l.m.Wake(v.slot)
	l.setDue(v, true)
}

// triable reports whether v has failed and can be tried again now. A vertex that waits for another
// value, another graph or the end of its run can't.
func (l *loop) triable(v *vertex) bool {
	return !v.membership.suspended && !v.membership.gone && v.membership.before == nil && v.wired().Refused() == nil && !v.run.inRun &&
		(!v.watch.Active() || v.watch.Is(watch.Running)) && l.m.State(v.slot) == resgraph.StateFailed
}

// faceMachine has the stuck vertices tried again when the machine has another address or name: a
// network is there again. It is done from the first failure on that lasts.
func (l *loop) faceMachine() {
	if l.failures.facing {
		return
	}
	l.failures.facing = true
	l.enders.Go(func() {
		_ = callsafe.Do("WatchFacts", func() error { return l.face(l.ctx, l.machineChanged) }) // it is tried again later in any case
	})
}

// face follows the facts of the machine until ctx ends, on a goroutine of its own. It hands each change to the loop, and takes the next
// one only then: facts that change quickly make no queue.
func (c *core) face(ctx context.Context, changed func()) error {
	sub, err := c.opt.Host.WatchFacts(ctx)
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		select {
		case <-sub.C():
		case <-ctx.Done():
			return nil
		}
		select {
		case c.requests <- newRequest(changed):
		case <-ctx.Done():
			return nil
		}
	}
}

// machineChanged tries all again that wait for their next try, and begins with short waits:
// an address is there before its routes are.
func (l *loop) machineChanged() {
	for v := range l.failures.list {
		if v.past.retryAt > 0 {
			l.memory.setRetries(v, 0)
			v.watch.SetTries(0)
			l.failures.take(v)
			l.tryAgain(v, Trigger{Cause: CauseRetry})
		}
	}
}
