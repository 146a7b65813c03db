package reactor

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
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

// mostNew is the part of a graph, one in so many vertices, up to which it costs less to draw the edges of new vertices alone.
const mostNew = 8

// outdated is a vertex of a plan that has looked at something before it was known that another one would alter it.
type outdated struct{ v, by *vertex }

// realizing is a Swap that waits for vertices which it would remove and which ask
// to be brought about before: the metaparameter realize.
type realizing struct {
	list []*vertex
	done chan struct{}
}

// hearing is what the host was asked to tell before a graph counts as converged: the work of one resource may be news for another one, and
// the kernel has it first.
type hearing struct {
	stirs uint64        // how often something has happened
	asked uint64        // of stirs, when the host was asked last
	heard atomic.Uint64 // of stirs, when that had ended which the host was asked for last
}

// hearFor is how long the host may take, and a resource that leaves. Where a file system does not answer, or a method does not return, that
// keeps no graph from converging. It is longer than the two seconds for which a name may be on its way; see hosting.Writers.
const hearFor = 3 * time.Second

// named returns the vertex of the present graph with an id, nil if there is none.
func (l *loop) named(id string) *vertex { return l.names.find(id) }

func (l *loop) lastRunOf(id string) uint64 {
	if v := l.named(id); v != nil {
		return v.past.lastRun
	}
	return 0
}

func (l *loop) stand() Rest {
	return Rest{Generation: l.generation, Counts: l.counts(), Converged: l.converged, Early: !l.rested}
}

// counts counts the vertices by state at rest.
func (l *loop) counts() Counts { return l.m.AtRestCounts(l.lastRest) }

// lastRest returns the state in which the vertex in a slot rested before its present work, false if
// there is none.
func (l *loop) lastRest(slot sched.Vertex) (resgraph.State, bool) {
	v := l.bySlot[slot]
	if v == nil || v.past.last == resgraph.StateStarting {
		return 0, false
	}
	return v.past.last, v.past.last == resgraph.StateFailed || !v.altering() && !v.hold.IsStalled()
}
