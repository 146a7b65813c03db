package reactor

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// watches start the Watches, and take their ends.
type watches struct {
	l        *loop
	starting []*vertex // whose Watch is about to get its goroutine
	next     int64     // when an alarm looks for Watches that are slow or late; 0 for never
	looked   int64     // when it has looked last
}

// open lets v take part: at its start, and after values were assigned while its
// Watch did not run.
func (l *loop) open(v *vertex) {
	switch {
	case v.membership.broken != nil:
		v.membership.suspended = true
		l.fail(v, v.membership.broken, false, 0)
	case v.membership.suspended: // resume comes back
	case v.wired().Waits():
		l.tryAssign(v)
	case v.wired().Refused() != nil:
		l.fail(v, v.wired().Refused(), false, 0)
	case v.unwatched() || v.wired().Missing() != nil:
		l.ready(v) // a receiver's Watch starts when it has its values
	default:
		l.watches.startWatch(v)
	}
}

// startWatch starts the Watch, or has it started when the run has ended.
func (w *watches) startWatch(v *vertex) {
	if v.membership.suspended || v.watch.Active() || w.l.ctx.Err() != nil {
		return
	}
	v.past.setRetry(0)
	if v.run.inRun {
		v.watch.StartLater(true)
		return
	}
	w.l.disarm(v)
	w.l.active++
	w.l.m.Unready(v.slot)
	w.l.setDue(v, true) // a vertex that was never heard of is not clean
	now := w.l.now()
	v.watch.Start(w.l.ctx, now, w.l.opt.StartTimeout)
	w.expectStart(now + int64(min(slowStart, w.l.opt.StartTimeout)))
	w.starting = append(w.starting, v)
}

// startAtOnce is how many Watches one goroutine starts when there are many.
const startAtOnce = 4096

// startWatches makes the goroutines of the Watches that are starting. Of a large graph they are
// made on all processors: a new stack is untouched memory, which costs more than all the rest.
func (w *watches) startWatches() {
	list := w.starting
	if len(list) == 0 {
		return
	}
	w.starting = nil
	for chunk := range slices.Chunk(list, startAtOnce) {
		go func() {
			_ = apart.Each("Watches", 0, len(chunk), func(i int) error {
				v := chunk[i]
				if c := v.watch.Context(); !w.notified(c, v) {
					go w.watch(c, v)
				}
				return nil
			}, func(i int, err error) {
				chunk[i].watch.Context().Result = err
				w.l.mail.post(chunk[i], mailWatched)
			})
		}()
	}
}

// watch is the goroutine of one Watch. It is kept shallow: there is one for each
// vertex.
func (w *watches) watch(ctx *watch.Context, v *vertex) {
	defer w.l.mail.post(v, mailWatched)
	returned := false
	defer func() {
		if !returned && ctx.Result == nil {
			ctx.Result = engine.Exited("Watch")
		}
	}()
	defer engine.Caught("Watch", &ctx.Result)
	if ctx.Result = v.Res.Watch(ctx); ctx.Result != nil {
		ctx.Result = engine.Freeze("Watch", ctx.Result)
	}
	returned = true
}

// endWatch tells the Watch to end; watched decides on the next step by the state.
func (w *watches) endWatch(v *vertex, why watch.State) {
	if why == watch.Ending {
		w.l.m.Unready(v.slot)
		w.l.setDue(v, false)
	}
	v.watch.End(why)
}

// running takes the news that the watches of v are armed.
func (w *watches) running(v *vertex) {
	if !v.membership.suspended && v.watch.Arm() && v.wired().Refused() == nil {
		w.l.ready(v)
	}
}

var errWatchReturned = errors.New("Watch returned although nobody told it to end")

// watched takes the news that the Watch of v has ended.
func (w *watches) watched(v *vertex) {
	w.l.active--
	why, err := v.watch.Ended()
	switch {
	case v.membership.gone:
		w.l.leave(v)
	case v.membership.suspended:
		w.l.tellIdle(v)
		w.l.resume(v)
	case w.l.ctx.Err() != nil:
	case why == watch.Ending:
		w.l.tryAssign(v)
	case why == watch.Late:
		w.watchFailed(v, w.late())
	case err == nil:
		w.watchFailed(v, errWatchReturned)
	default:
		w.watchFailed(v, fmt.Errorf("Watch: %w", err))
	}
}

// watchFailed has the Watch started again, if there are tries left.
func (w *watches) watchFailed(v *vertex, err error) {
	v.watch.Fail()
	if v.byDefault() && hold.Healed(v.watch.Since(w.l.now(), w.l.opt.StartTimeout)) {
		v.watch.SetTries(0) // it was well for long
	}
	wait, again := w.l.backoff.Again(v.meta, err, v.watch.Tries())
	if again {
		v.watch.SetTries(v.watch.Tries() + 1)
		v.past.setRetry(w.l.now() + int64(wait))
		w.l.after(wait, v, func() {
			w.l.because(v, Trigger{Cause: CauseWatch})
			w.startWatch(v)
		})
	}
	w.l.fail(v, err, again, wait)
}

// slowStart is how long a Watch may say nothing before a warning names its kind: long for a Watch, and short for its author, who waits.
const slowStart = 5 * time.Second

// expectStart looks at this time whether a Watch is slow or late.
func (w *watches) expectStart(at int64) {
	if w.next != 0 && w.next <= at {
		return
	}
	w.next = at
	w.l.after(time.Duration(at-w.l.now()), nil, w.checkStarts)
}

// late is the error of a Watch that has not started in time. It is tried again, and so recovers with what it waits for.
func (w *watches) late() error {
	return fmt.Errorf("Watch said nothing for %s after its start: a file system, a device or a program does not answer; fix that, or end it", w.l.opt.StartTimeout)
}

func (w *watches) checkStarts() {
	now, before, first := w.l.now(), w.looked, int64(math.MaxInt64)
	w.next, w.looked = 0, now
	var slow silent
	for _, v := range w.l.byIndex {
		due := v.watch.Due()
		told := due - int64(w.l.opt.StartTimeout) + int64(slowStart)
		switch {
		case due == 0 || v.membership.suspended:
		case due <= now:
			w.endWatch(v, watch.Late)
			w.l.fail(v, w.late(), false, 0)
		case told > now:
			first = min(first, told, due)
		default:
			if first = min(first, due); told > before {
				slow.add(v)
			}
		}
	}
	slow.tell(w.l.log)
	if first != math.MaxInt64 {
		w.expectStart(first)
	}
}

// silent are the vertices whose Watch says nothing, by kind in the order of the graph.
type silent struct {
	kinds []string
	first map[string]string // kind: id
	n     map[string]int
}

func (s *silent) add(v *vertex) {
	kind := v.Res.Kind()
	if s.n == nil {
		s.first, s.n = map[string]string{}, map[string]int{}
	}
	if s.n[kind]++; s.n[kind] == 1 {
		s.kinds, s.first[kind] = append(s.kinds, kind), v.ID
	}
}

// tell warns once of each kind. Without a word its resources would only be called starting.
func (s *silent) tell(log *slog.Logger) {
	for _, kind := range s.kinds {
		log.Warn("the Watch has not called Init.Running: it has to do so as soon as it would hear of a change; or what it opens does not answer; nothing is checked before that",
			slog.String("kind", kind), slog.String("method", "Watch"), slog.String("resource", s.first[kind]), slog.Int("resources", s.n[kind]), slog.Duration("for", slowStart))
	}
}

// jitter spreads a period by a tenth, so that not all fall together.
func jitter(r *rand.Rand, d time.Duration) time.Duration {
	return d - d/20 + time.Duration(r.Int64N(int64(d/10)+1))
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

const sweepParts = 64

// sweep looks at a part of the vertices without an event, and at the next part
// later: the answer to sources that lose events without knowing it.
func (w *watches) sweep(part int) {
	w.l.after(jitter(w.l.rand, w.l.opt.Sweep/sweepParts), nil, func() {
		n := len(w.l.byIndex)
		for _, v := range w.l.byIndex[n*part/sweepParts : n*(part+1)/sweepParts] {
			if v.watch.Is(watch.Running) {
				w.l.because(v, Trigger{Cause: CauseSweep})
				w.l.event(v)
			}
		}
		w.sweep((part + 1) % sweepParts)
	})
}
