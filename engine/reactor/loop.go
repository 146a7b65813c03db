package reactor

import (
	"context"
	"math/rand/v2"
	"runtime"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/graph"
)

// loop is the goroutine of Run, which owns all scheduling. Nothing else touches its fields, but
// for a Stage, which reads names and byIndex: only its own commit changes these.
type loop struct {
	*core
	m *sched.Machine

	name       string // of the present graph
	generation int
	shape      graph.Shape // of the present graph, where it came as a whole
	mostNew    int         // see the constant
	names      names       // of the present graph
	byIndex    []*vertex   // of the present graph
	bySlot     []*vertex
	free       []int32 // slots
	leaving    map[string]*vertex
	members    int                // that groups run besides their own resources
	readers    []*lifecycle.Share // the Forgetters of the present graph
	batches    map[string]int32
	realizing  *realizing           // the Swap that waits; nil for none
	wrote      map[int32]uint64     // the last run that has changed something, by slot, of what others may read: see attribute
	outdated   []outdated           // of a plan; see lookAnew
	freed      map[*vertex]bool     // of a plan: whose path is known to be free
	awaited    map[string][]*vertex // under noop: whose outcome can't be told before the vertex of that id has run

	holds    holds
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

	moment    int64 // when the turn began: what a turn takes and starts has one time
	stirred   int64 // when something happened last
	hearing   hearing
	converged bool
	rested    bool // it has been converged once
	looking   bool // an alarm looks again whether it is
	lookout   bool // an alarm looks for long runs
}

// init makes the loop of a reactor, with an empty graph.
func (l *loop) init(c *core) {
	l.core, l.mostNew = c, mostNew
	l.m = sched.New(sched.Options{Parallel: c.opt.Parallel})
	l.leaving, l.batches = map[string]*vertex{}, map[string]int32{}
	l.rand = newRand()
	l.backoff = hold.Backoff{Once: c.opt.Once, Rand: l.rand.Int64N}
	l.pool.runner.core, l.pool.runner.semas.Clock = c, c.opt.Clock
}

// turn waits for one event, acts on it, and starts the vertices that can be started then.
func (l *loop) turn(ctx context.Context) {
	mail, alarm := l.mail.wake, l.alarms.timer.C
	behind := l.opt.Listener.behind()
	if behind != nil && l.mail.expected.Load() == 0 {
		mail, alarm = nil, nil
	}
	select {
	case <-mail:
		l.deliver()
	case q := <-l.requests:
		l.moment = l.now()
		l.serve(q)
	case q := <-l.questions:
		l.serve(q)
	case <-alarm:
		l.ring()
	case <-behind:
	case <-ctx.Done():
		return
	}
	l.watches.startAll(l.core)
	l.lookAnew()
	l.startRuns()
	l.checkRealized()
	l.settle()
}

// serve does what another goroutine has asked for.
func (l *loop) serve(q request) {
	defer close(q.done)
	q.do()
}

// ring does everything whose time has come.
func (l *loop) ring() {
	l.alarms.armed = 0
	l.moment = l.now()
	for due, ok := l.alarms.take(l.moment); ok; due, ok = l.alarms.take(l.moment) {
		due.do()
	}
	l.arm()
}

// startRuns starts the vertices that the machine lets start. It lets several runs go first: short
// ones have ended when the loop looks again, so one turn takes the ends of many. At rest it ends
// the workers but one.
func (l *loop) startRuns() {
	started := 0
	for {
		slots, ok := l.m.Next()
		if !ok {
			break
		}
		l.m.SetParallel(l.pool.widen(&l.opt, l.bySlot[slots[0]]))
		l.begin(slots)
		started++
	}
	l.pool.handOver()
	if started > 0 {
		l.lookOut()
	}
	if started > 1 && !l.pool.wide { // one run begins at once when the loop has nothing to do, and quick ones end before another processor is awake
		runtime.Gosched()
	}
	if l.pool.busy && l.m.AtRest() {
		l.pool.dismiss(1)
	}
}

// deliver takes the mail.
func (l *loop) deliver() {
	l.moment = l.now()
	l.inbox = l.mail.take(l.inbox)
	for _, v := range l.inbox {
		l.news(v, v.membership.mail.Swap(0))
	}
}

// news takes the news of v. An event that came together with the end of a run counts as a later
// one.
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
	if news&mailRunning != 0 && !v.membership.gone {
		l.running(v)
	}
	if news&mailEvent != 0 && !v.membership.gone && v.watch.Is(watch.Running) {
		l.heard(v)
		v.hold.Heard(l.moment)
		l.event(v)
	}
	if news&mailWatched != 0 {
		l.watched(v)
	}
	if news&mailFinished != 0 {
		l.finished(v)
	}
}
