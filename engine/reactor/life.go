package reactor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Run runs until the context ends, and then stops everything and waits for it.
// It returns nil, an *AbandonedError after Abandon, or an error of the
// store before anything was started. It may be called once.
func (r *Reactor) Run(ctx context.Context) error {
	defer close(r.stopped)
	r.ctx = ctx
	r.env.Start(ctx)
	r.loop.moment = r.now()
	r.loop.alarms.timer = clock.NewTimer(r.opt.Clock, time.Hour)
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
	return errors.Join(r.loop.recallPauses(ctx), r.loop.recallRejected(ctx), r.loop.recallApprovals(ctx))
}

// Final returns how the graph stood when the context of Run ended, and whose changes that has cut
// off: these count as failed. A change that came to its end counts as it ended. It is valid after
// Run.
func (r *Reactor) Final() (rest Rest, cut []string) { return r.loop.end.final, r.loop.end.cuts }

// Abandon makes Run stop waiting for methods that ignore the end of their
// context, and for commands that are let finish. It does nothing before that end. It may be called more than once.
func (r *Reactor) Abandon() { r.quitOnce.Do(func() { close(r.quit) }) }

// stoppingAfter is how long Run waits at its end before it says for whom.
const stoppingAfter = time.Second

// stop waits until everything that runs has ended, and cleans up. After Abandon it cleans up
// everything that the remaining runs do not use.
func (l *loop) stop() error {
	l.end.final, l.end.was = l.stand(), l.runningAtEnd()
	defer l.end.conclude()
	for _, v := range l.byIndex {
		l.cut(v)
	}
	late := clock.NewTimer(l.opt.Clock, stoppingAfter)
	defer late.Stop()
	ended := l.drain(late.C)
	locked := l.lockForGood(late.C)
	l.pool.dismiss(0)
	if ended { // workers that still run after Abandon end with their runs
		l.pool.workers.Wait()
	}
	order := slices.SortedStableFunc(slices.Values(l.byIndex), func(a, b *vertex) int {
		return cmp.Compare(l.m.Level(a.slot), l.m.Level(b.slot))
	})
	clean := make(chan struct{})
	go func() {
		defer close(clean)
		for _, v := range slices.Backward(order) {
			if !v.run.inRun && !v.watch.Active() && (locked || !v.membership.suspended) {
				l.cleanUp(v)
			}
		}
		l.enders.Wait()
	}()
	if l.waitOrQuit(clean, late.C, l.tellStopping) && ended && locked && len(l.costly.losses()) == 0 {
		return nil
	}
	return &AbandonedError{Resources: l.unfinished(), Methods: l.calls.methods(), Cut: l.costly.losses()}
}

// runningAtEnd returns the vertices that run, with the states in which they rested before.
func (l *loop) runningAtEnd() map[*vertex]resgraph.State {
	was := map[*vertex]resgraph.State{}
	for _, v := range l.byIndex {
		if v.run.inRun {
			was[v] = l.m.AtRestState(v.slot, l.lastRest)
		}
	}
	return was
}

// drain takes the ends of Watches and runs until there are none left. It returns
// false after Abandon.
func (l *loop) drain(late <-chan time.Time) bool {
	for l.active > 0 {
		select {
		case <-l.mail.wake:
			l.deliver()
		case q := <-l.questions:
			l.serve(q)
		case <-late:
			l.tellStopping()
		case <-l.quit:
			return false
		}
	}
	return true
}

// lockForGood lets no Swap begin any more, once the present one has given up. It returns false
// after Abandon.
func (l *loop) lockForGood(late <-chan time.Time) bool {
	select {
	case l.swapping <- struct{}{}:
		return true
	default:
	}
	for {
		select {
		case l.swapping <- struct{}{}:
			return true
		case <-late:
			l.tellStopping()
		case <-l.quit:
			return false
		}
	}
}

// tellStopping tells for whom Run waits at its end.
func (l *loop) tellStopping() {
	if f := l.opt.Listener.Stopping; f != nil {
		if list := l.unfinished(); len(list) > 0 {
			f(list)
		}
	}
}

// unfinished names the vertices with a method that still runs.
func (l *loop) unfinished() []string {
	var ids []string
	for _, v := range l.byIndex {
		if v.run.inRun || v.watch.Active() || !v.membership.suspended && v.Share().Ending() {
			ids = append(ids, v.ID)
		}
	}
	for id := range l.leaving {
		ids = append(ids, id)
	}
	if v := l.attended.Load(); v != nil {
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// abandonGrace is how long after Abandon the methods that release something may
// still take.
const abandonGrace = time.Second

// waitOrQuit waits for done, and after Abandon only a little. It returns whether done
// was closed.
func (c *core) waitOrQuit(done <-chan struct{}, late <-chan time.Time, tell func()) bool {
	for quit := false; !quit; {
		select {
		case <-done:
			return true
		case <-late:
			tell()
		case <-c.quit:
			quit = true
		}
	}
	grace := clock.NewTimer(c.opt.Clock, abandonGrace)
	defer grace.Stop()
	select {
	case <-done:
		return true
	case <-grace.C:
		return false
	}
}
