package reactor

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// stuck are the failed vertices of which the graph does not say how often to try them
// again: they are tried again at once when a vertex above them has changed, or the
// machine has another address.
//
// Those above one that is stuck are marked, so that a change of any other vertex costs
// nothing. A mark is made once and, by a change, taken away once: what a change finds
// below it is not stuck any more, and is marked again if it fails again. A marked vertex
// has marked ancestors only.
type stuck struct {
	list   map[*vertex]struct{}
	above  map[int32]struct{} // by index in the graph
	facing bool               // somebody waits for news of the machine
	doubts doubts
}

// stuck notes how a vertex has ended.
func (r *Reactor) stuck(v *vertex, run Run, before engine.State) {
	s := &r.failures
	switch {
	case run.State == engine.StateFailed:
		if v.byDefault() {
			r.addStuck(v)
		}
		if run.Retry && v.byDefault() && max(v.owed.Retries(), v.watch.Tries()) > 1 {
			r.faceMachine()
		}
		return
	case len(s.list) == 0:
		return
	}
	delete(s.list, v)
	if run.Changed || before == engine.StateFailed {
		r.unstickBelow(v)
	}
}

// addStuck notes a vertex, and marks those above it.
func (r *Reactor) addStuck(v *vertex) {
	s := &r.failures
	if s.list == nil {
		s.list, s.above = map[*vertex]struct{}{}, map[int32]struct{}{}
	}
	s.list[v] = struct{}{}
	for todo := []int32{v.index}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, up := range r.graph.Pred(int(i)) {
			if _, marked := s.above[up]; !marked {
				s.above[up] = struct{}{}
				todo = append(todo, up)
			}
		}
	}
}

// unstickBelow tries those again that have failed below a vertex that has changed.
func (r *Reactor) unstickBelow(v *vertex) {
	s := &r.failures
	if _, marked := s.above[v.index]; !marked {
		return
	}
	delete(s.above, v.index)
	for todo := []int32{v.index}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, down := range r.graph.Succ(int(i)) {
			if below := r.byIndex[down]; below != v {
				r.unstick(below, Trigger{Cause: CauseAbove, From: v.id, Run: v.past.lastRun})
			}
			if _, marked := s.above[down]; marked {
				delete(s.above, down)
				todo = append(todo, down)
			}
		}
	}
}

// unstick tries a vertex again if it is stuck.
func (r *Reactor) unstick(v *vertex, why Trigger) {
	if _, ok := r.failures.list[v]; ok {
		delete(r.failures.list, v)
		r.tryAgain(v, why)
	}
}

// remark marks anew for another graph.
func (r *Reactor) remark() {
	s := &r.failures
	clear(s.above)
	for v := range s.list {
		if v.life.gone {
			delete(s.list, v)
		}
	}
	for v := range s.list {
		r.addStuck(v)
	}
}

// tryAgain has a failed vertex tried again now, if that can be.
func (r *Reactor) tryAgain(v *vertex, why Trigger) {
	if !r.triable(v) {
		return
	}
	r.because(v, why)
	if !v.watch.Is(watch.Running) && !v.unwatched() && v.wired().Missing() == nil {
		r.startWatch(v)
		return
	}
	r.disarm(v)
	v.retryAt = 0
	r.m.Wake(v.slot)
	r.setDue(v, true)
}

// triable reports whether v has failed and can be tried again now: who waits for another
// value, another graph or the end of what it runs can't.
func (r *Reactor) triable(v *vertex) bool {
	return !v.life.suspended && !v.life.gone && v.life.before == nil && v.wired().Refused() == nil && !v.run.inRun &&
		(!v.watch.Active() || v.watch.Is(watch.Running)) && r.m.State(v.slot) == engine.StateFailed
}

// faceMachine has those that are stuck tried again when the machine has another address
// or name: a network is there again. It is done from the first failure on that lasts.
func (r *Reactor) faceMachine() {
	s := &r.failures
	if s.facing {
		return
	}
	s.facing = true
	r.enders.Go(func() {
		_ = guarded("WatchFacts", func() error { return r.face(r.ctx) }) // it is tried again later in any case
	})
}

func (r *Reactor) face(ctx context.Context) error {
	sub, err := r.opt.Host.WatchFacts(ctx)
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
		case r.requests <- r.machineChanged:
		case <-ctx.Done():
			return nil
		}
	}
}

// machineChanged tries all again that wait for their next try, and begins with short waits:
// an address is there before its routes are.
func (r *Reactor) machineChanged() {
	for v := range r.failures.list {
		if v.retryAt > 0 {
			r.setRetries(v, 0)
			v.watch.SetTries(0)
			r.unstick(v, Trigger{Cause: CauseRetry})
		}
	}
}
