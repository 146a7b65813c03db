package reactor

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// failures are the failed vertices without a retry in the graph: they are tried again at once when
// a vertex above them has changed, or the machine has another address.
//
// The vertices above a stuck one are marked, so that a change of any other vertex costs nothing. A
// mark is made once and, by a change, taken away once: a vertex that a change finds below it is not
// stuck any more, and is marked again if it fails again. A marked vertex has marked ancestors only.
type failures struct {
	l      *loop
	list   map[*vertex]struct{}
	above  map[int32]struct{} // by slot
	facing bool               // a goroutine waits for news of the machine
	doubts doubts
	places places // of the present graph
}

// stuck notes how a vertex has ended.
func (f *failures) stuck(v *vertex, run Run, before engine.State) {
	switch {
	case run.State == engine.StateFailed:
		if v.byDefault() {
			f.addStuck(v)
		}
		if run.Retry && v.byDefault() && max(v.ledger.Retries(), v.watch.Tries()) > 1 {
			f.faceMachine()
		}
		return
	case len(f.list) == 0:
		return
	}
	delete(f.list, v)
	if run.Changed || before == engine.StateFailed {
		f.unstickBelow(v)
	}
}

// addStuck notes a vertex, and marks those above it.
func (f *failures) addStuck(v *vertex) {
	if f.list == nil {
		f.list, f.above = map[*vertex]struct{}{}, map[int32]struct{}{}
	}
	f.list[v] = struct{}{}
	for todo := []int32{v.slot}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, up := range f.l.m.Above(i) {
			if _, marked := f.above[up]; !marked {
				f.above[up] = struct{}{}
				todo = append(todo, up)
			}
		}
	}
}

// unstickBelow tries those again that have failed below a vertex that has changed.
func (f *failures) unstickBelow(v *vertex) {
	if _, marked := f.above[v.slot]; !marked {
		return
	}
	delete(f.above, v.slot)
	for todo := []int32{v.slot}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, down := range f.l.m.Below(i) {
			if below := f.l.bySlot[down]; below != v {
				f.unstick(below, Trigger{Cause: CauseAbove, From: v.ID, Run: v.past.lastRun})
			}
			if _, marked := f.above[down]; marked {
				delete(f.above, down)
				todo = append(todo, down)
			}
		}
	}
}

// unstick tries a vertex again if it is stuck.
func (f *failures) unstick(v *vertex, why Trigger) {
	if _, ok := f.list[v]; ok {
		delete(f.list, v)
		f.tryAgain(v, why)
	}
}

// remark marks anew for another graph.
func (f *failures) remark() {
	clear(f.above)
	for v := range f.list {
		if v.membership.gone {
			delete(f.list, v)
		}
	}
	for v := range f.list {
		f.addStuck(v)
	}
}

// tryAgain has a failed vertex tried again now, if that can be.
func (f *failures) tryAgain(v *vertex, why Trigger) {
	if !f.triable(v) {
		return
	}
	f.l.because(v, why)
	if !v.watch.Is(watch.Running) && !v.unwatched() && v.wired().Missing() == nil {
		f.l.startWatch(v)
		return
	}
	f.l.disarm(v)
	v.past.setRetry(0)
	f.l.m.Wake(v.slot)
	f.l.setDue(v, true)
}

// triable reports whether v has failed and can be tried again now. A vertex that waits for another
// value, another graph or the end of its run can't.
func (f *failures) triable(v *vertex) bool {
	return !v.membership.suspended && !v.membership.gone && v.membership.before == nil && v.wired().Refused() == nil && !v.run.inRun &&
		(!v.watch.Active() || v.watch.Is(watch.Running)) && f.l.m.State(v.slot) == engine.StateFailed
}

// faceMachine has the stuck vertices tried again when the machine has another address or name: a
// network is there again. It is done from the first failure on that lasts.
func (f *failures) faceMachine() {
	if f.facing {
		return
	}
	f.facing = true
	f.l.enders.Go(func() {
		_ = engine.Guard("WatchFacts", func() error { return f.face(f.l.ctx) }) // it is tried again later in any case
	})
}

// face follows the facts of the machine until ctx ends, on a goroutine of its own. It hands each change to the loop, and takes the next
// one only then: facts that change quickly make no queue.
func (f *failures) face(ctx context.Context) error {
	sub, err := f.l.opt.Host.WatchFacts(ctx)
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
		case f.l.requests <- newRequest(f.machineChanged):
		case <-ctx.Done():
			return nil
		}
	}
}

// machineChanged tries all again that wait for their next try, and begins with short waits:
// an address is there before its routes are.
func (f *failures) machineChanged() {
	for v := range f.list {
		if v.past.retryAt > 0 {
			f.l.memory.setRetries(v, 0)
			v.watch.SetTries(0)
			f.unstick(v, Trigger{Cause: CauseRetry})
		}
	}
}
