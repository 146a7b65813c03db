package reactor

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// ending is the end of Run.
type ending struct {
	l     *loop
	final Rest     // how the graph stood when the context of Run ended
	cuts  []string // changes that this has cut off
}

// Abandon makes Run stop waiting for methods that ignore the end of their
// context, and for commands that are let finish. It does nothing before that end. It may be called more than once.
func (r *Reactor) Abandon() { r.quitOnce.Do(func() { close(r.quit) }) }

// abandonGrace is how long after Abandon the methods that release something may
// still take.
const abandonGrace = time.Second

// stoppingAfter is how long Run waits at its end before it says for whom.
const stoppingAfter = time.Second

// stop waits until everything that runs has ended, and cleans up. After Abandon it cleans up
// everything that the remaining runs do not use.
func (e *ending) stop() error {
	for _, v := range e.l.byIndex {
		e.l.cut(v)
	}
	late := engine.NewTimer(e.l.opt.Clock, stoppingAfter)
	defer late.Stop()
	ended := e.drain(late.C)
	locked := e.lockForGood(late.C)
	e.endWorkers(ended)
	order := slices.SortedStableFunc(slices.Values(e.l.byIndex), func(a, b *vertex) int {
		return cmp.Compare(e.l.m.Level(a.slot), e.l.m.Level(b.slot))
	})
	clean := make(chan struct{})
	go func() {
		defer close(clean)
		for _, v := range slices.Backward(order) {
			if !v.run.inRun && !v.watch.Active() && (locked || !v.membership.suspended) {
				e.l.attendTo(v, func() { e.l.cleanup(v) })
			}
		}
		e.l.enders.Wait()
	}()
	if e.l.waitOrQuit(clean, late.C, e.tellStopping) && ended && locked && len(e.l.costly.losses()) == 0 {
		return nil
	}
	return e.abandoned()
}

// drain takes the ends of Watches and runs until there are none left. It returns
// false after Abandon.
func (e *ending) drain(late <-chan time.Time) bool {
	for e.l.active > 0 {
		select {
		case <-e.l.mail.wake:
			e.l.deliver()
		case q := <-e.l.questions:
			e.l.serve(q)
		case <-late:
			e.tellStopping()
		case <-e.l.quit:
			return false
		}
	}
	return true
}

// lockForGood lets no Swap begin any more, once the present one has given up. It returns false
// after Abandon.
func (e *ending) lockForGood(late <-chan time.Time) bool {
	select {
	case e.l.swapping <- struct{}{}:
		return true
	default:
	}
	for {
		select {
		case e.l.swapping <- struct{}{}:
			return true
		case <-late:
			e.tellStopping()
		case <-e.l.quit:
			return false
		}
	}
}

// endWorkers ends the workers. Workers that still run after Abandon end with their runs.
func (e *ending) endWorkers(ended bool) {
	e.l.pool.dismiss(0)
	if ended {
		e.l.pool.workers.Wait()
	}
}

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
	grace := engine.NewTimer(c.opt.Clock, abandonGrace)
	defer grace.Stop()
	select {
	case <-done:
		return true
	case <-grace.C:
		return false
	}
}

// attendTo calls a method of v in a place where only one vertex at a time is
// attended to: in Swap, and at the end. It is named if Run is told to leave it.
func (c *core) attendTo(v *vertex, call func()) {
	c.attended.Store(v)
	defer c.attended.Store(nil)
	call()
}

// abandoned is the error of a Run that waits no longer.
func (e *ending) abandoned() error {
	return &engine.AbandonedError{Resources: e.unfinished(), Methods: e.l.calls.methods(), Cut: e.l.costly.losses()}
}

// tellStopping tells for whom Run waits at its end.
func (e *ending) tellStopping() {
	if f := e.l.opt.Listener.Stopping; f != nil {
		if list := e.unfinished(); len(list) > 0 {
			f(list)
		}
	}
}

// unfinished names the vertices with a method that still runs.
func (e *ending) unfinished() []string {
	var ids []string
	for _, v := range e.l.byIndex {
		if v.run.inRun || v.watch.Active() || !v.membership.suspended && v.Share().Ending() {
			ids = append(ids, v.ID)
		}
	}
	for id := range e.l.leaving {
		ids = append(ids, id)
	}
	if v := e.l.attended.Load(); v != nil {
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// cleanup calls Cleanup and gives up what v shares. Errors are only logged: no caller is left to
// act on them.
func (c *core) cleanup(v *vertex) {
	c.cleaned(v, apart.Call("Cleanup", func() error { return c.call(v, "Cleanup", v.Cleanup) }))
}

// cleaned logs the error of a Cleanup.
func (c *core) cleaned(v *vertex, err error) {
	if err != nil {
		c.log.Warn("cleanup failed", slog.String("resource", v.ID), slog.String("error", v.Text(err.Error())))
	}
}
