package reactor

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"github.com/reactivegraph/mgmt/graph"
)

// ErrStopped is the error of a call that came after the end of Run.
var ErrStopped = errors.New("the engine has stopped")

// Reactor runs one graph after the other. Make it with New, call Run once, and
// Swap for each graph, from any goroutine.
type Reactor struct {
	opt     Options
	log     *slog.Logger
	epoch   time.Time
	rand    *rand.Rand
	backoff hold.Backoff

	mail      *mailbox
	requests  chan func()   // what other goroutines want done on the loop
	questions chan func()   // what they only want to know; also answered while Run waits for its end
	quit      chan struct{} // closed by Abandon
	quitOnce  sync.Once
	started   chan struct{} // closed when Run has begun
	stopped   chan struct{} // closed when Run has ended

	swapping   chan struct{}                 // holds the one Swap that is going on
	braking    chan struct{}                 // holds the one Pause or Resume that is going on: what is in effect is what was recorded last
	kinds      map[schema.TypeKey]*abilities // of Swap
	values     sync.RWMutex                  // see doc.go; Swap holds it for reading while it compares
	semas      hold.Semaphores
	costly     costly
	account    hold.Account  // of the change budget
	secrets    secrets.Texts // what no vertex may say
	digests    []byte        // the key of the digests that it shows
	seed       maphash.Seed
	attended   atomic.Pointer[vertex]   // see attendTo
	removals   atomic.Pointer[Removals] // how much a Swap may remove
	accepted   atomic.Pointer[[]string] // what the next Swap may remove; see AcceptRemovals
	departing  atomic.Int64             // vertices that are leaving
	book       ledger.Book              // numbers the refreshes
	busy       atomic.Int64             // what Init.Busy was called for
	committing atomic.Int64             // runs that wait for the store
	ending     atomic.Int64             // calls of Shared.End that are going on
	enders     sync.WaitGroup
	shareMu    sync.Mutex
	sharing    map[string]*shared

	// owned by the loop; Swap reads graph and byIndex, which only its own commit
	// changes
	ctx        context.Context
	m          *sched.Machine
	graph      *engine.Graph
	generation int
	byIndex    []*vertex // of the present graph
	bySlot     []*vertex
	free       []int32 // slots
	leaving    map[string]*vertex
	readers    []*shared // the Forgetters of the present graph
	batches    map[string]int32
	seen       values.Seen
	recorder   *ledger.Recorder
	undo       undo.Store // what undoes the vertices
	pauses     hold.Pauses
	awaited    map[string][]*vertex // under noop: whose outcome can't be told before the vertex of that id has run
	realizing  *realizing           // the Swap that waits; nil for none
	runs       uint64               // that were reported
	failures   stuck
	storms     hold.Storms[*vertex]
	alarms     alarms
	active     int            // goroutines of vertices
	workers    sync.WaitGroup // all of them
	idle       []*worker      // those without a task
	expecting  bool
	stirred    int64
	converged  bool
	rested     bool        // it has been converged once
	resting    atomic.Bool // is converged, for runs
	final      Rest        // how the graph stood when the context of Run ended
	cuts       []string    // changes that this has cut off
	looking    bool
	inbox      []*vertex
	starting   []*vertex // whose Watch is about to get its goroutine
}

// New returns a reactor with an empty graph. It starts nothing.
func New(o Options) (*Reactor, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	r := &Reactor{
		opt:       o,
		log:       o.Logger,
		epoch:     time.Now(),
		rand:      newRand(),
		mail:      newMailbox(),
		requests:  make(chan func()),
		questions: make(chan func()),
		quit:      make(chan struct{}),
		started:   make(chan struct{}),
		stopped:   make(chan struct{}),
		swapping:  make(chan struct{}, 1),
		braking:   make(chan struct{}, 1),
		kinds:     map[schema.TypeKey]*abilities{},
		sharing:   map[string]*shared{},
		m:         sched.New(sched.Options{Parallel: o.Parallel}),
		graph:     graph.New[*engine.Vertex](""),
		leaving:   map[string]*vertex{},
		batches:   map[string]int32{},
		recorder:  ledger.NewRecorder(o.Store, o.Logger, newTimer),
		seed:      maphash.MakeSeed(),
		digests:   digestKey(),
		secrets:   secrets.Texts{Least: minShared, Most: maxShared},
	}
	r.backoff = hold.Backoff{Once: o.Once, Rand: r.rand.Int64N}
	r.removals.Store(&o.MaxRemovals)
	r.account.Set(o.MaxChanges, 0)
	return r, nil
}

// Run runs until the context ends, and then stops everything and waits for it.
// It returns nil, an *engine.AbandonedError after Abandon, or an error of the
// store before anything was started. It may be called once.
func (r *Reactor) Run(ctx context.Context) error {
	defer close(r.stopped)
	r.ctx = ctx
	r.alarms.timer = time.NewTimer(time.Hour)
	defer r.alarms.timer.Stop()
	defer r.recorder.End(func(c <-chan struct{}) bool { return r.waitOrQuit(c, nil) })
	if err := r.recall(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before anything was started
		}
		return err
	}
	if r.opt.Beat != nil {
		r.beat()
	}
	if r.opt.Sweep > 0 {
		r.sweep(0)
	}
	close(r.started)
	for ctx.Err() == nil {
		r.turn(ctx)
	}
	r.final = r.stand()
	ended := r.lastRuns()
	err := r.stop()
	ended()
	return err
}

// Final returns how the graph stood when the context of Run ended, and whose changes
// that has cut off: these count as failed. What was altered then, and came to its end,
// counts as it ended. It is valid after Run.
func (r *Reactor) Final() (rest Rest, cut []string) { return r.final, r.cuts }

// turn waits for one thing to happen, does what it asks for, and starts what can
// be started then.
func (r *Reactor) turn(ctx context.Context) {
	select {
	case <-r.mail.wake:
		r.deliver()
	case f := <-r.requests:
		f()
	case f := <-r.questions:
		f()
	case <-r.alarms.timer.C:
		r.ring()
	case <-ctx.Done():
		return
	}
	r.startWatches()
	for {
		slots, ok := r.m.Next()
		if !ok {
			break
		}
		r.begin(slots)
	}
	if len(r.idle) > 1 && r.m.AtRest() {
		r.dismiss(1)
	}
	r.checkRealized()
	r.settle()
}

// deliver takes the mail.
func (r *Reactor) deliver() {
	r.inbox = r.mail.take(r.inbox)
	for _, v := range r.inbox {
		r.news(v, v.mail.Swap(0))
	}
}

// news takes what there is to say of v. An event that came together with the end
// of a run counts as one that came after it.
func (r *Reactor) news(v *vertex, news uint32) {
	if news&mailSlot != 0 {
		r.syncSlot(v)
	}
	if news&mailAlters != 0 && v.altering() && v.past.last != engine.StateFailed {
		r.stir()
	}
	if news&mailRan != 0 {
		r.ran(v)
	}
	if news&mailRunning != 0 && !v.life.gone {
		r.running(v)
	}
	if news&mailEvent != 0 && !v.life.gone && v.watch.Is(watch.Running) {
		r.heard(v)
		v.hold.Pace.Heard(r.now())
		r.event(v)
	}
	if news&mailWatched != 0 {
		r.watched(v)
	}
	if news&mailFinished != 0 {
		r.finished(v)
	}
}

// named returns the vertex of the present graph with an id, nil if there is none.
func (r *Reactor) named(id string) *vertex {
	if i, ok := r.graph.Index(id); ok {
		return r.byIndex[i]
	}
	return nil
}

// begun waits until Run has begun. After its end it returns ErrStopped.
func (r *Reactor) begun(ctx context.Context) error {
	select {
	case <-r.stopped:
		return ErrStopped
	default:
	}
	select {
	case <-r.started:
		return nil
	case <-r.stopped:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// do has f done on the loop and waits for its end.
func (r *Reactor) do(ctx context.Context, f func()) error {
	if err := r.begun(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	select {
	case r.requests <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ctx.Done():
		return ErrStopped
	}
}

// ask has f called on the loop, which must only look, and waits for its end. It is
// answered also while Run waits for the methods that still run.
func (r *Reactor) ask(ctx context.Context, f func()) error {
	if err := r.begun(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	select {
	case r.questions <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.stopped:
		return ErrStopped
	}
}
