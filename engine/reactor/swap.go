package reactor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// swap replaces the graph.
func (st *Stage) swap(ctx context.Context, g *resgraph.Graph) error {
	order, err := g.Sort()
	if err != nil {
		return err
	}
	s := &swap{st: st, r: st.r, g: g, order: order}
	if err := s.match(); err != nil {
		return err
	}
	s.findLeaving()
	if err := s.checkRemovals(); err != nil {
		return err
	}
	return s.effect(ctx, func(id string) bool { _, ok := g.Index(id); return ok })
}

// effect puts the new graph into effect, once the leaving vertices may leave. has says of an id whether it is in that graph.
func (s *swap) effect(ctx context.Context, has func(id string) bool) error {
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
	if err := s.r.do(ctx, func() { failed = s.commit() }); err != nil {
		failed = err
	}
	if failed != nil {
		s.undo(s.fresh)
		s.restart()
		return failed
	}
	s.r.memory.pruneUndo(ctx, has)
	return nil
}

// initAll initialises all new vertices but the ones that exclude an old one. An error refuses the
// graph, after all vertices have been tried: a caller then knows of all faults. A panic does, too, where another graph
// goes on instead; in the first graph the vertex fails alone, and then in each later one until it can be initialised.
func (s *swap) initAll(ctx context.Context) error {
	var faults InitErrors
	failed := func(i int, err error) {
		v := s.fresh[i]
		old := s.r.loop.named(v.ID)
		_, panicked := errors.AsType[*callsafe.PanicError](err)
		if !panicked || s.r.loop.generation > 0 && (old == nil || old.membership.broken == nil) {
			faults = append(faults, v.initError(err))
			return
		}
		v.membership.own().broken = v.Error(err)
	}
	begin := func(i int) error {
		v := s.fresh[i]
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		old := s.r.loop.named(v.ID)
		if old == nil {
			if err := s.r.waitFor(ctx, v); err != nil {
				return err
			}
		} else if old.membership.broken == nil && (!v.abil.Overlapping || !old.abil.Overlapping) {
			s.exclusive = append(s.exclusive, exchange{old, v})
			return nil
		}
		if err := s.r.initOne(ctx, v); err != nil {
			failed(i, err)
		}
		return nil
	}
	if err := apart.Each("Init", 0, len(s.fresh), begin, failed); err != nil {
		return err
	}
	return faults.err()
}

// waitFor waits for the end of an earlier vertex of the same name that is still
// leaving, if the kind does not overlap.
func (r *Reactor) waitFor(ctx context.Context, v *vertex) error {
	if v.abil.Overlapping || r.departing.Load() == 0 {
		return nil
	}
	var idle []<-chan struct{}
	return r.doAndAwait(ctx, &idle, func() {
		if old := r.loop.leaving[v.ID]; old != nil {
			idle = append(idle, old.idleChan())
		}
	})
}

func (r *Reactor) initOne(ctx context.Context, v *vertex) error {
	if v.meta.Hidden {
		return nil
	}
	v.meta = r.metas.share(v.Res)
	r.attended.Store(v)
	defer r.attended.Store(nil)
	return r.initNow(ctx, v)
}

func (r *Reactor) initNow(ctx context.Context, v *vertex) error {
	defer v.unaltered("Init")()
	defer r.calls.done(r.calls.begin(call{v, "Init", r.now()}))
	return v.Init(ctx, func(h *engine.Init) {
		if v.wired().HasReceived() {
			v.wired().Refuse(lifecycle.Call("Validate", v.Res.Validate))
			v.wired().Publish(v.receiver())
		}
		v.complete(h)
	})
}

// initError says, without secrets, which vertex could not be initialised.
func (v *vertex) initError(err error) *InitError {
	return &InitError{Resource: v.ID, Err: v.Error(err)}
}

// InitError is the error of a resource whose Init has failed.
type InitError struct {
	Resource string // its id; of a group, that of the resource that runs it
	Err      error  // without secrets
}

// Error implements error.
func (e *InitError) Error() string { return e.Resource + ": " + e.Err.Error() }

// Unwrap returns the error of Init.
func (e *InitError) Unwrap() error { return e.Err }

// InitErrors is the error of a change whose new resources could not all be initialised. Then nothing has changed.
type InitErrors []*InitError

// Error implements error.
func (e InitErrors) Error() string {
	list := make([]string, len(e))
	for i, one := range e {
		list[i] = one.Error()
	}
	return strings.Join(list, "; ")
}

// Unwrap returns the errors of the resources.
func (e InitErrors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// err returns nil where there is no error.
func (e InitErrors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// undo cleans initialised vertices up.
func (s *swap) undo(vs []*vertex) {
	for _, v := range slices.Backward(vs) {
		s.r.cleanUp(v)
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
	if err == nil {
		err = s.initExclusive(ctx)
	}
	if err != nil {
		s.undo(s.fresh)
		s.restart()
	}
	return err
}

// initExclusive cleans up the old vertices that were stopped, and initialises their successors. All are tried, as by initAll.
func (s *swap) initExclusive(ctx context.Context) error {
	var faults InitErrors
	for _, x := range s.exclusive {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.r.cleanUp(x.old)
		if err := apart.Call("Init", func() error { return s.r.initOne(ctx, x.new) }); err != nil {
			faults = append(faults, x.new.initError(err))
		}
	}
	return faults.err()
}

// stopOld suspends the old vertices of all exchanges at once, and waits until nothing of them runs. They are idle on a return without
// an error; after an error, restart brings them back.
func (s *swap) stopOld(ctx context.Context) error {
	var idle []<-chan struct{}
	return s.r.doAndAwait(ctx, &idle, func() {
		for _, x := range s.exclusive {
			s.r.loop.suspend(x.old)
			idle = append(idle, x.old.idleChan())
			s.r.loop.tellIdle(x.old)
		}
	})
}

// restart brings the old vertices back that were stopped.
func (s *swap) restart() {
	for _, x := range s.exclusive {
		v := x.old
		var err error
		if !v.Begun() {
			err = apart.Call("Init", func() error { return s.r.initOne(context.WithoutCancel(s.r.ctx), v) })
		}
		_ = s.r.do(s.r.ctx, func() {
			if err != nil { // it stays suspended; the next Swap replaces it
				s.r.loop.fail(v, err, false, 0)
				return
			}
			v.membership.resumed = true
			s.r.loop.resume(v)
		})
	}
}

// change changes or adds the vertices of a part, and removes others.
func (st *Stage) change(ctx context.Context, part *resgraph.Graph, ids []string) error {
	order, err := part.Sort()
	if err != nil {
		return err
	}
	s := &swap{st: st, r: st.r, g: part, part: true, order: order}
	goes := map[string]bool{}
	for _, id := range ids {
		v := s.r.loop.named(id)
		if v == nil {
			return &UnknownResourceError{id}
		}
		if !goes[id] {
			s.leaving = append(s.leaving, v)
		}
		goes[id] = true
	}
	if err := s.checkEnds(goes); err != nil {
		return err
	}
	if err := s.match(); err != nil {
		return err
	}
	if err := s.checkReferred(ctx, goes); err != nil {
		return err
	}
	if err := s.checkRemovals(); err != nil {
		return err
	}
	if err := s.try(ctx); err != nil {
		return err
	}
	return s.effect(ctx, func(id string) bool { return s.r.loop.named(id) != nil })
}
