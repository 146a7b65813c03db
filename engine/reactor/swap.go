package reactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
)

// swap is one replacement of the graph: law 10. All of it but commit runs in a
// goroutine of its own, while the old graph goes on.
type swap struct {
	r     *Reactor
	g     *engine.Graph
	order []int     // topological, of g
	all   []*vertex // by index of g: kept ones and new ones
	fresh []*vertex // new ones, in topological order
	kept  int

	exclusive []exchange
}

// exchange is a changed vertex of which old and new may not be there at once.
type exchange struct{ old, new *vertex }

// Swap replaces the graph by another one, which must be checked and is the
// reactor's from now on. New vertices are made and initialised before an old one
// is stopped; on an error the old graph runs on as it was. It returns when the
// new graph is in effect, which is before it has converged. It may be called from
// any goroutine; calls wait for each other and for Run to begin.
func (r *Reactor) Swap(ctx context.Context, g *engine.Graph) error {
	if err := r.lockSwap(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-r.swapping }()
		done <- r.swap(ctx, g)
	}()
	select {
	case err := <-done:
		return err
	case <-r.stopped:
	}
	select {
	case err := <-done:
		return err
	default:
		return ErrStopped // abandoned, because a method does not return
	}
}

func (r *Reactor) swap(ctx context.Context, g *engine.Graph) error {
	order, err := g.Sort()
	if err != nil {
		return err
	}
	s := &swap{r: r, g: g, order: order}
	if err := s.match(order); err != nil {
		return err
	}
	if err := s.checkRemovals(); err != nil {
		return err
	}
	if err := s.awaitRealized(ctx); err != nil {
		return err
	}
	if err := s.initAll(ctx); err != nil {
		s.undo(s.fresh)
		return err
	}
	if err := s.exchangeAll(ctx); err != nil {
		return err
	}
	var failed error
	if err := r.do(ctx, func() { failed = s.commit() }); err != nil {
		failed = err
	}
	if failed != nil {
		s.undo(s.fresh)
		s.restart()
		return failed
	}
	r.memory.pruneUndo(ctx, g)
	return nil
}

// initAll initialises all new vertices but those that exclude an old one. An error refuses
// the graph. A panic does, too, where another graph goes on instead; in the first graph
// the vertex fails alone, and then in each later one until it can be initialised.
func (s *swap) initAll(ctx context.Context) error {
	for _, v := range s.fresh {
		old := s.r.loop.named(v.id)
		if old == nil {
			if err := s.r.waitFor(ctx, v); err != nil {
				return err
			}
		} else if old.life.broken == nil && (!v.abil.Overlapping || !old.abil.Overlapping) {
			s.exclusive = append(s.exclusive, exchange{old, v})
			continue
		}
		err := s.r.initOne(ctx, v)
		if err == nil {
			continue
		}
		_, panicked := errors.AsType[*engine.PanicError](err)
		if !panicked || s.r.loop.generation > 0 && (old == nil || old.life.broken == nil) {
			return v.initError(err)
		}
		v.life.broken = v.cleanError(err)
	}
	return nil
}

// waitFor waits for the end of an earlier vertex of the same name that is still
// leaving, if the kind does not overlap.
func (r *Reactor) waitFor(ctx context.Context, v *vertex) error {
	if v.abil.Overlapping || r.departing.Load() == 0 {
		return nil
	}
	var gone <-chan struct{}
	err := r.do(ctx, func() {
		if old := r.loop.leaving[v.id]; old != nil {
			gone = old.idleChan()
		}
	})
	if err != nil || gone == nil {
		return err
	}
	return r.await(ctx, gone)
}

func (r *Reactor) initOne(ctx context.Context, v *vertex) (err error) {
	if v.meta.Hidden {
		return nil
	}
	r.attendTo(v, func() { err = r.initNow(ctx, v) })
	return err
}

func (r *Reactor) initNow(ctx context.Context, v *vertex) (err error) {
	if v.shared, err = r.shares.openShared(ctx, v.res); err != nil {
		return err
	}
	if v.wired().HasReceived() {
		v.wired().Refuse(protect("Validate", v.res.Validate))
		v.wired().Publish(v.receiver())
	}
	if err := protect("Init", func() error { return v.res.Init(v.newInit()) }); err != nil {
		_ = r.shares.leaveShared(v.shared)
		v.shared = nil
		return fmt.Errorf("cannot be initialised: %w", err)
	}
	v.life.inited = true
	return nil
}

// initError says, without secrets, which vertex could not be initialised.
func (v *vertex) initError(err error) error { return fmt.Errorf("%s: %w", v.id, v.cleanError(err)) }

// undo cleans up what was initialised.
func (s *swap) undo(vs []*vertex) {
	for _, v := range slices.Backward(vs) {
		s.r.attendTo(v, func() { s.r.cleanup(v) })
	}
}

// exchangeAll stops the old vertices that exclude their successors, and
// initialises those. If one fails, the old ones are initialised and started
// again.
func (s *swap) exchangeAll(ctx context.Context) error {
	if len(s.exclusive) == 0 {
		return nil
	}
	err := s.stopOld(ctx)
	for i := 0; err == nil && i < len(s.exclusive); i++ {
		x := s.exclusive[i]
		s.r.attendTo(x.old, func() { s.r.cleanup(x.old) })
		if err = s.r.initOne(ctx, x.new); err != nil {
			err = x.new.initError(err)
		}
	}
	if err != nil {
		s.undo(s.fresh)
		s.restart()
	}
	return err
}

func (s *swap) stopOld(ctx context.Context) error {
	var idle []<-chan struct{}
	err := s.r.do(ctx, func() {
		for _, x := range s.exclusive {
			s.r.loop.suspend(x.old)
			idle = append(idle, x.old.idleChan())
			s.r.loop.tellIdle(x.old)
		}
	})
	for _, c := range idle {
		if err == nil {
			err = s.r.await(ctx, c)
		}
	}
	return err
}

// restart brings the old vertices back that were stopped.
func (s *swap) restart() {
	for _, x := range s.exclusive {
		v := x.old
		var err error
		if !v.life.inited {
			err = s.r.initOne(context.WithoutCancel(s.r.ctx), v)
		}
		_ = s.r.do(s.r.ctx, func() {
			if err != nil { // it stays suspended; the next Swap replaces it
				s.r.loop.fail(v, err, false, 0)
				return
			}
			v.life.resumed = true
			s.r.loop.resume(v)
		})
	}
}

// noteSwap tells of the swap that has taken effect.
func (s *swap) noteSwap(removed, changed int) {
	r := s.r
	r.opt.Listener.swapped(Swap{
		Generation: r.loop.generation, Name: s.g.Name, Kept: s.kept,
		Added: len(s.fresh) - changed, Changed: changed, Removed: removed,
	})
}
