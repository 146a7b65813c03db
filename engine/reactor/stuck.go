package reactor

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// failures are the failed vertices without a retry in the graph: they are tried again at once when
// a vertex above them has changed, or the machine has another address.
//
// The vertices above a stuck one are marked, so that a change of any other vertex costs nothing. A
// mark is made once and, by a change, taken away once: a vertex that a change finds below it is not
// stuck any more, and is marked again if it fails again. A marked vertex has marked ancestors only.
type failures struct {
	list   map[*vertex]struct{}
	above  map[int32]struct{} // by slot
	facing bool               // a goroutine waits for news of the machine
	doubts doubts
	places places // of the present graph
}

// add notes a stuck vertex, and marks those above it.
func (f *failures) add(m *sched.Machine, v *vertex) {
	if f.list == nil {
		f.list, f.above = map[*vertex]struct{}{}, map[int32]struct{}{}
	}
	f.list[v] = struct{}{}
	for todo := []int32{v.slot}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, up := range m.Above(i) {
			if _, marked := f.above[up]; !marked {
				f.above[up] = struct{}{}
				todo = append(todo, up)
			}
		}
	}
}

// takeBelow returns the stuck vertices below one that has changed, which are not stuck any more.
func (f *failures) takeBelow(m *sched.Machine, bySlot []*vertex, v *vertex) (stuck []*vertex) {
	if _, marked := f.above[v.slot]; !marked {
		return nil
	}
	delete(f.above, v.slot)
	for todo := []int32{v.slot}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, down := range m.Below(i) {
			if below := bySlot[down]; below != v && f.take(below) {
				stuck = append(stuck, below)
			}
			if _, marked := f.above[down]; marked {
				delete(f.above, down)
				todo = append(todo, down)
			}
		}
	}
	return stuck
}

// take reports whether a vertex is stuck, and counts it as such no more.
func (f *failures) take(v *vertex) bool {
	_, stuck := f.list[v]
	delete(f.list, v)
	return stuck
}

// remark marks anew for another graph.
func (f *failures) remark(m *sched.Machine) {
	clear(f.above)
	for v := range f.list {
		if v.membership.gone {
			delete(f.list, v)
		}
	}
	for v := range f.list {
		f.add(m, v)
	}
}

// stuck notes how a vertex has ended, and tries those again that are stuck below it if it has changed.
func (l *loop) stuck(v *vertex, run Run, before engine.State) {
	f := &l.failures
	if run.State == engine.StateFailed {
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
	if run.Changed || before == engine.StateFailed {
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
		(!v.watch.Active() || v.watch.Is(watch.Running)) && l.m.State(v.slot) == engine.StateFailed
}

// faceMachine has the stuck vertices tried again when the machine has another address or name: a
// network is there again. It is done from the first failure on that lasts.
func (l *loop) faceMachine() {
	if l.failures.facing {
		return
	}
	l.failures.facing = true
	l.enders.Go(func() {
		_ = engine.Guard("WatchFacts", func() error { return l.face(l.ctx, l.machineChanged) }) // it is tried again later in any case
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
