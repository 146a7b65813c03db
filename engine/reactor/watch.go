package reactor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// open lets v take part: at its start, and after values were assigned while its
// Watch did not run.
func (r *Reactor) open(v *vertex) {
	switch {
	case v.life.broken != nil:
		v.life.suspended = true
		r.fail(v, v.life.broken, false, 0)
	case v.life.suspended: // resume comes back
	case v.wired().Waits():
		r.tryAssign(v)
	case v.wired().Refused() != nil:
		r.fail(v, v.wired().Refused(), false, 0)
	case v.unwatched() || v.wired().Missing() != nil:
		r.ready(v) // a receiver's Watch starts when it has its values
	default:
		r.startWatch(v)
	}
}

// startWatch starts the Watch, or has it started when the run has ended.
func (r *Reactor) startWatch(v *vertex) {
	if v.life.suspended || v.watch.Active() || r.ctx.Err() != nil {
		return
	}
	v.retryAt = 0
	if v.run.inRun {
		v.watch.StartLater(true)
		return
	}
	r.disarm(v)
	r.active++
	r.m.Unready(v.slot)
	r.setDue(v, true) // what was never heard of is not clean
	v.watch.Start(r.ctx, r.now(), r.opt.StartTimeout)
	r.expectStart(r.opt.StartTimeout)
	r.starting = append(r.starting, v)
}

// startAtOnce is how many Watches one goroutine starts when there are many.
const startAtOnce = 4096

// startWatches makes the goroutines of the Watches that are starting. Of a large
// graph they are made on all processors: a new stack is memory that nobody has
// touched yet, which costs more than all the rest.
func (r *Reactor) startWatches() {
	list := r.starting
	if len(list) == 0 {
		return
	}
	r.starting = nil
	for chunk := range slices.Chunk(list, startAtOnce) {
		go func() {
			for _, v := range chunk {
				if c := v.watch.Context(); !r.notified(c, v) {
					go r.watch(c, v)
				}
			}
		}()
	}
}

// watch is the goroutine of one Watch. It is kept shallow: there is one for each
// vertex.
func (r *Reactor) watch(ctx *watch.Context, v *vertex) {
	defer r.mail.post(v, mailWatched)
	defer engine.Caught("Watch", &ctx.Result)
	if ctx.Result = v.res.Watch(ctx); ctx.Result != nil {
		ctx.Result = engine.Freeze("Watch", ctx.Result)
	}
}

// endWatch tells the Watch to end; watched decides by the state what follows.
func (r *Reactor) endWatch(v *vertex, why watch.State) {
	if why == watch.Ending {
		r.m.Unready(v.slot)
		r.setDue(v, false)
	}
	v.watch.End(why)
}

// running takes the news that the watches of v are armed.
func (r *Reactor) running(v *vertex) {
	if !v.life.suspended && v.watch.Arm() && v.wired().Refused() == nil {
		r.ready(v)
	}
}

var errWatchReturned = errors.New("Watch returned although nobody told it to end")

// watched takes the news that the Watch of v has ended.
func (r *Reactor) watched(v *vertex) {
	r.active--
	why, err := v.watch.Ended()
	switch {
	case v.life.gone:
		r.leave(v)
	case v.life.suspended:
		r.tellIdle(v)
		r.resume(v)
	case r.ctx.Err() != nil:
	case why == watch.Ending:
		r.tryAssign(v)
	case why == watch.Late:
		r.watchFailed(v, fmt.Errorf("Watch said nothing for %s after its start", r.opt.StartTimeout))
	case err == nil:
		r.watchFailed(v, errWatchReturned)
	default:
		r.watchFailed(v, fmt.Errorf("Watch: %w", err))
	}
}

// watchFailed has the Watch started again, if there are tries left.
func (r *Reactor) watchFailed(v *vertex, err error) {
	v.watch.Fail()
	if v.byDefault() && hold.Healed(v.watch.Since(r.now(), r.opt.StartTimeout)) {
		v.watch.SetTries(0) // it was well for long
	}
	wait, again := r.backoff.Again(v.meta, err, v.watch.Tries())
	if again {
		v.watch.SetTries(v.watch.Tries() + 1)
		v.retryAt = r.now() + int64(wait)
		r.after(wait, v, func() {
			r.because(v, Trigger{Cause: CauseWatch})
			r.startWatch(v)
		})
	}
	r.fail(v, err, again, wait)
}

// expectStart looks after d whether a Watch is late.
func (r *Reactor) expectStart(d time.Duration) {
	if r.expecting {
		return
	}
	r.expecting = true
	r.after(d, nil, r.checkStarts)
}

func (r *Reactor) checkStarts() {
	r.expecting = false
	now, first := r.now(), int64(0)
	for _, v := range r.byIndex {
		due := v.watch.Due()
		switch {
		case due == 0 || v.life.suspended:
		case due <= now:
			r.endWatch(v, watch.Late)
			r.fail(v, fmt.Errorf("Watch said nothing for %s after its start", r.opt.StartTimeout), false, 0)
		case first == 0 || due < first:
			first = due
		}
	}
	if first != 0 {
		r.expectStart(time.Duration(first - now))
	}
}

// jitter spreads a period by a tenth, so that not all fall together.
func jitter(r *Reactor, d time.Duration) time.Duration {
	return d - d/20 + time.Duration(r.rand.Int64N(int64(d/10)+1))
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

const sweepParts = 64

// sweep looks at a part of the vertices without an event, and at the next part
// later: the answer to sources that lose events without knowing it.
func (r *Reactor) sweep(part int) {
	r.after(jitter(r, r.opt.Sweep/sweepParts), nil, func() {
		n := len(r.byIndex)
		for _, v := range r.byIndex[n*part/sweepParts : n*(part+1)/sweepParts] {
			if v.watch.Is(watch.Running) {
				r.because(v, Trigger{Cause: CauseSweep})
				r.event(v)
			}
		}
		r.sweep((part + 1) % sweepParts)
	})
}
