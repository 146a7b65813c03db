package reactor

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/graph"
)

// loop is the goroutine of Run, which owns all scheduling. Nothing else touches its fields, but
// for Swap, which reads graph and byIndex: only its own commit changes these.
type loop struct {
	r *Reactor
	m *sched.Machine

	graph      *engine.Graph
	generation int
	byIndex    []*vertex // of the present graph
	bySlot     []*vertex
	free       []int32 // slots
	leaving    map[string]*vertex
	readers    []*shared // the Forgetters of the present graph
	batches    map[string]int32
	realizing  *realizing           // the Swap that waits; nil for none
	awaited    map[string][]*vertex // under noop: whose outcome can't be told before the vertex of that id has run

	brakes   brakes
	failures failures
	watches  watches
	pool     pool
	end      ending

	alarms  alarms
	backoff hold.Backoff
	rand    *rand.Rand
	inbox   []*vertex
	runs    uint64 // that were reported
	active  int    // goroutines of vertices

	stirred   int64 // when something happened last
	converged bool
	rested    bool        // it has been converged once
	looking   bool        // an alarm looks again whether it is
	resting   atomic.Bool // is converged, for runs
}

// init makes the loop of a reactor, with an empty graph.
func (l *loop) init(r *Reactor) {
	l.r = r
	l.m = sched.New(sched.Options{Parallel: r.opt.Parallel})
	l.graph = graph.New[*engine.Vertex]("")
	l.leaving, l.batches = map[string]*vertex{}, map[string]int32{}
	l.rand = newRand()
	l.backoff = hold.Backoff{Once: r.opt.Once, Rand: l.rand.Int64N}
	l.brakes.init(l)
	l.failures.l, l.watches.l, l.pool.l, l.end.l = l, l, l, l
}

// turn waits for one thing to happen, does what it asks for, and starts what can
// be started then.
func (l *loop) turn(ctx context.Context) {
	select {
	case <-l.r.mail.wake:
		l.deliver()
	case f := <-l.r.requests:
		f()
	case f := <-l.r.questions:
		f()
	case <-l.alarms.timer.C:
		l.ring()
	case <-ctx.Done():
		return
	}
	l.watches.startWatches()
	l.startRuns()
	l.checkRealized()
	l.settle()
}

// startRuns starts what the machine lets start. At rest it ends the workers but one.
func (l *loop) startRuns() {
	for {
		slots, ok := l.m.Next()
		if !ok {
			break
		}
		l.begin(slots)
	}
	if len(l.pool.idle) > 1 && l.m.AtRest() {
		l.pool.dismiss(1)
	}
}

// deliver takes the mail.
func (l *loop) deliver() {
	l.inbox = l.r.mail.take(l.inbox)
	for _, v := range l.inbox {
		l.news(v, v.mail.Swap(0))
	}
}

// news takes what there is to say of v. An event that came together with the end
// of a run counts as one that came after it.
func (l *loop) news(v *vertex, news uint32) {
	if news&mailSlot != 0 {
		l.syncSlot(v)
	}
	if news&mailAlters != 0 && v.altering() && v.past.last != engine.StateFailed {
		l.stir()
	}
	if news&mailRan != 0 {
		l.ran(v)
	}
	if news&mailRunning != 0 && !v.life.gone {
		l.watches.running(v)
	}
	if news&mailEvent != 0 && !v.life.gone && v.watch.Is(watch.Running) {
		l.heard(v)
		v.hold.Pace.Heard(l.r.now())
		l.event(v)
	}
	if news&mailWatched != 0 {
		l.watches.watched(v)
	}
	if news&mailFinished != 0 {
		l.finished(v)
	}
}

// named returns the vertex of the present graph with an id, nil if there is none.
func (l *loop) named(id string) *vertex {
	if i, ok := l.graph.Index(id); ok {
		return l.byIndex[i]
	}
	return nil
}
