package reactor

import (
	"log/slog"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Abandon makes Run stop waiting for methods that ignore the end of their
// context, and for commands that are let finish. It does nothing before that end. It may be called more than once.
func (r *Reactor) Abandon() { r.quitOnce.Do(func() { close(r.quit) }) }

// abandonGrace is how long after Abandon the methods that release something may
// still take.
const abandonGrace = time.Second

// lingerAfter is how long Run waits at its end before it says for whom.
const lingerAfter = time.Second

// stop waits until everything that runs has ended, and cleans up. After Abandon
// it cleans up what is not in use by what still runs.
func (r *Reactor) stop() error {
	for _, v := range r.byIndex {
		r.cut(v)
	}
	late := time.NewTimer(lingerAfter)
	defer late.Stop()
	ended := r.drain(late.C)
	locked := r.lockForGood(late.C)
	r.endWorkers(ended)
	order, err := r.graph.Sort()
	if err != nil {
		return err // a graph in use has an order
	}
	clean := make(chan struct{})
	go func() {
		defer close(clean)
		for _, i := range slices.Backward(order) {
			if v := r.byIndex[i]; !v.run.inRun && !v.watch.Active() && (locked || !v.life.suspended) {
				r.attendTo(v, func() { r.cleanup(v) })
			}
		}
		r.enders.Wait()
	}()
	if r.waitOrQuit(clean, late.C) && ended && locked && len(r.costly.losses()) == 0 {
		return nil
	}
	return r.abandoned()
}

// drain takes the ends of Watches and runs until there are none left. It returns
// false after Abandon.
func (r *Reactor) drain(late <-chan time.Time) bool {
	for r.active > 0 {
		select {
		case <-r.mail.wake:
			r.deliver()
		case f := <-r.questions:
			f()
		case <-late:
			r.linger()
		case <-r.quit:
			return false
		}
	}
	return true
}

// lockForGood lets no Swap begin any more, once the one that goes on has given
// up. It returns false after Abandon.
func (r *Reactor) lockForGood(late <-chan time.Time) bool {
	select {
	case r.swapping <- struct{}{}:
		return true
	default:
	}
	for {
		select {
		case r.swapping <- struct{}{}:
			return true
		case <-late:
			r.linger()
		case <-r.quit:
			return false
		}
	}
}

// endWorkers ends the workers. Those that still run after Abandon end with their
// runs.
func (r *Reactor) endWorkers(ended bool) {
	r.dismiss(0)
	if ended {
		r.workers.Wait()
		return
	}
	for _, v := range r.bySlot {
		if v != nil && v.run.worker != nil {
			close(v.run.worker.tasks)
		}
	}
}

// waitOrQuit waits for c, and after Abandon only a little. It returns whether c
// was closed.
func (r *Reactor) waitOrQuit(c <-chan struct{}, late <-chan time.Time) bool {
	for quit := false; !quit; {
		select {
		case <-c:
			return true
		case <-late:
			r.linger()
		case <-r.quit:
			quit = true
		}
	}
	grace := time.NewTimer(abandonGrace)
	defer grace.Stop()
	select {
	case <-c:
		return true
	case <-grace.C:
		return false
	}
}

// attendTo calls a method of v in a place where only one vertex at a time is
// attended to: in Swap, and at the end. It is named if Run is told to leave it.
func (r *Reactor) attendTo(v *vertex, call func()) {
	r.attended.Store(v)
	defer r.attended.Store(nil)
	call()
}

// abandoned is the error of a Run that waits no longer.
func (r *Reactor) abandoned() error {
	return &engine.AbandonedError{Resources: r.unfinished(), Cut: r.costly.losses()}
}

// linger tells for whom Run waits at its end.
func (r *Reactor) linger() {
	if f := r.opt.Listener.Lingers; f != nil {
		if list := r.unfinished(); len(list) > 0 {
			f(list)
		}
	}
}

// unfinished names the vertices of which a method still runs.
func (r *Reactor) unfinished() []string {
	var ids []string
	for _, v := range r.byIndex {
		if v.run.inRun || v.watch.Active() || !v.life.suspended && v.shared.ending() {
			ids = append(ids, v.id)
		}
	}
	for id := range r.leaving {
		ids = append(ids, id)
	}
	if v := r.attended.Load(); v != nil {
		ids = append(ids, v.id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// cleanup calls Cleanup and gives up what v shares. Errors are only logged:
// there is nobody left to act on them.
func (r *Reactor) cleanup(v *vertex) {
	if !v.life.inited {
		return
	}
	v.life.inited = false
	if err := protect("Cleanup", v.res.Cleanup); err != nil {
		r.log.Warn("cleanup failed", slog.String("resource", v.id), slog.String("error", v.cleanText(err.Error())))
	}
	if err := r.leaveShared(v.shared); err != nil {
		r.log.Warn("closing what is shared failed", slog.String("resource", v.id), slog.String("error", v.cleanText(err.Error())))
	}
}
