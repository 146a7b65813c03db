package reactor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
)

// ErrStopped is the error of a call that came after the end of Run.
var ErrStopped = lifecycle.ErrStopped

// Reactor runs one graph after the other. Make it with New, call Run once, and
// Swap for each graph, from any goroutine.
//
// The fields of loop belong to the loop, and all others are for any goroutine.
type Reactor struct {
	core
	loop loop

	quitOnce sync.Once
	staging  chan struct{}                    // holds the one Stage that is there
	metas    metas                            // of what the change of the graph initialises that is going on
	kinds    map[engine.AbilityKey]*abilities // of Swap; see abilitiesOf
	removals atomic.Pointer[Removals]         // how much a Swap may remove
	accepted atomic.Pointer[[]string]         // the resources that the next Swap may remove; see AcceptRemovals
}

// New returns a reactor with an empty graph. It starts nothing.
func New(o Options) (*Reactor, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	r := &Reactor{staging: make(chan struct{}, 1), kinds: map[engine.AbilityKey]*abilities{}}
	r.core.init(o)
	r.loop.init(&r.core)
	r.removals.Store(&o.MaxRemovals)
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
	defer r.memory.recorder.Cut() // after Abandon some records are left
	defer func() { r.waitOrQuit(r.memory.recorder.End(), nil, nil) }()
	if err := r.recall(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before anything was started
		}
		return err
	}
	if r.opt.Heartbeat != nil {
		r.loop.heartbeat()
	}
	if r.opt.Sweep > 0 {
		r.loop.sweep(0)
	}
	close(r.started)
	for ctx.Err() == nil {
		r.loop.turn(ctx)
	}
	return r.loop.stop()
}

// recall reads what an earlier process has left, and puts it into effect.
func (r *Reactor) recall(ctx context.Context) error {
	if err := r.memory.recall(ctx); err != nil {
		return err
	}
	if err := r.recallBudget(ctx); err != nil {
		return err
	}
	return r.loop.recallPauses(ctx)
}

// Final returns how the graph stood when the context of Run ended, and whose changes that has cut
// off: these count as failed. A change that came to its end counts as it ended. It is valid after
// Run.
func (r *Reactor) Final() (rest Rest, cut []string) { return r.loop.end.final, r.loop.end.cuts }
