package reactor

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
)

// ErrStopped is the error of a call that came after the end of Run.
var ErrStopped = lifecycle.ErrStopped

// Reactor runs one graph after the other. Make it with New, call Run once, and
// Swap for each graph, from any goroutine.
//
// Its own fields are for any goroutine, as far as they say nothing else. The fields of loop belong
// to the loop.
type Reactor struct {
	opt   Options
	env   *lifecycle.Env // the values that the resources have in common
	log   *slog.Logger
	epoch time.Time
	ctx   context.Context // of Run; set before anything else runs

	mail      *mailbox
	requests  chan request  // calls of other goroutines to be done on the loop
	questions chan request  // their questions; also answered while Run waits for its end
	quit      chan struct{} // closed by Abandon
	quitOnce  sync.Once
	started   chan struct{} // closed when Run has begun
	stopped   chan struct{} // closed when Run has ended

	loop   loop
	runner runner  // what runs need
	memory memory  // the records that survive the process
	shares sharing // ends the values that vertices of one key share

	staging  chan struct{}                    // holds the one Stage that is there
	swapping chan struct{}                    // holds the one change of the graph that is going on
	metas    metas                            // of what that change initialises
	holding  chan struct{}                    // holds the one Pause or Resume that is going on: the last record is in effect
	kinds    map[engine.AbilityKey]*abilities // of Swap; see abilitiesOf
	values   sync.RWMutex                     // see doc.go; Swap holds it for reading while it compares
	removals atomic.Pointer[Removals]         // how much a Swap may remove
	accepted atomic.Pointer[[]string]         // the resources that the next Swap may remove; see AcceptRemovals

	costly    costly
	account   hold.Account           // of the change budget
	attended  atomic.Pointer[vertex] // see attendTo
	calls     calls
	moved     sync.Map       // of a plan: vertices, something of which may have been copied as they looked; see Looker
	departing atomic.Int64   // vertices that are leaving
	busy      atomic.Int64   // what Init.Busy was called for
	enders    sync.WaitGroup // goroutines that Run waits for at its end
}

// New returns a reactor with an empty graph. It starts nothing.
func New(o Options) (*Reactor, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	r := &Reactor{
		opt:       o,
		env:       o.env(),
		log:       o.Logger,
		epoch:     o.Clock.Now(),
		mail:      newMailbox(),
		requests:  make(chan request),
		questions: make(chan request),
		quit:      make(chan struct{}),
		started:   make(chan struct{}),
		stopped:   make(chan struct{}),
		staging:   make(chan struct{}, 1),
		swapping:  make(chan struct{}, 1),
		holding:   make(chan struct{}, 1),
		kinds:     map[engine.AbilityKey]*abilities{},
	}
	r.loop.init(r)
	r.runner.r, r.runner.busy = r, r.sayBusy
	r.runner.semas.Clock = o.Clock
	r.memory.r, r.memory.recorder = r, ledger.NewRecorder(o.Store, o.Logger, r.newTimer)
	r.shares.r = r
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
	r.env.Start(ctx)
	r.loop.moment = r.now()
	r.loop.alarms.timer = engine.NewTimer(r.opt.Clock, time.Hour)
	defer r.loop.alarms.timer.Stop()
	defer r.memory.end()
	if err := r.memory.recall(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before anything was started
		}
		return err
	}
	if r.opt.Heartbeat != nil {
		r.loop.heartbeat()
	}
	if r.opt.Sweep > 0 {
		r.loop.watches.sweep(0)
	}
	close(r.started)
	for ctx.Err() == nil {
		r.loop.turn(ctx)
	}
	r.loop.end.final = r.loop.stand()
	ended := r.loop.end.lastRuns()
	err := r.loop.end.stop()
	ended()
	return err
}

// Final returns how the graph stood when the context of Run ended, and whose changes that has cut
// off: these count as failed. A change that came to its end counts as it ended. It is valid after
// Run.
func (r *Reactor) Final() (rest Rest, cut []string) { return r.loop.end.final, r.loop.end.cuts }
