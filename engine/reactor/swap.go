package reactor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// swap is one replacement of the graph: law 10. All of it but commit runs in a
// goroutine of its own, while the old graph goes on.
type swap struct {
	r     *Reactor
	g     *engine.Graph
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
	s := &swap{r: r, g: g}
	if err := s.match(order); err != nil {
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
	r.pruneUndoing(ctx, g)
	return nil
}

func (r *Reactor) lockSwap(ctx context.Context) error {
	if err := r.begun(ctx); err != nil {
		return err
	}
	select {
	case r.swapping <- struct{}{}:
		return nil
	case <-r.stopped:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// match finds for each vertex of the new graph the one that it keeps, or makes
// one.
func (s *swap) match(order []int) error {
	s.r.values.RLock()
	defer s.r.values.RUnlock()
	s.all = make([]*vertex, s.g.Len())
	s.kept = s.keepMost()
	for _, i := range order {
		if s.all[i] != nil {
			continue
		}
		v, err := s.r.keepOrMake(s.g.ID(i), s.g.Value(i))
		if err != nil {
			return err
		}
		if v.slot >= 0 { // it has one already
			s.kept++
		} else {
			s.fresh = append(s.fresh, v)
		}
		s.all[i] = v
	}
	return nil
}

// named returns the vertex of the new graph with an id, nil if there is none.
func (s *swap) named(id string) *vertex {
	if i, ok := s.g.Index(id); ok {
		return s.all[i]
	}
	return nil
}

// keepMost finds those that receive nothing and may go on, on all processors, and counts
// them: in a large graph that is nearly all that a Swap has to do.
func (s *swap) keepMost() int {
	const chunk = 2000
	var kept atomic.Int64
	var wg sync.WaitGroup
	for from := 0; from < len(s.all); from += chunk {
		wg.Go(func() {
			found := int64(0)
			old := from // where the next one stands in the old graph, as a rule
			for i := from; i < min(from+chunk, len(s.all)); i++ {
				decl, id := s.g.Value(i), s.g.ID(i)
				if at, ok := s.oldIndex(id, old); ok {
					old = at + 1
					if v := s.r.byIndex[at]; len(decl.Recv) == 0 && v.same(decl) {
						s.all[i], decl.Res = v, v.res // the other one is not kept in memory
						found++
					}
				}
			}
			kept.Add(found)
		})
	}
	wg.Wait()
	return int(kept.Load())
}

// oldIndex returns the index of an id in the old graph, which is looked for at a
// likely place first: a look into the map of a large graph is dear.
func (s *swap) oldIndex(id string, likely int) (int, bool) {
	if g := s.r.graph; likely < g.Len() && g.ID(likely) == id {
		return likely, true
	}
	return s.r.graph.Index(id)
}

// keepOrMake returns the running vertex of that name if it may go on in the
// place of the declared one, else a new one, to which the values have been
// carried.
func (r *Reactor) keepOrMake(id string, decl *engine.Vertex) (*vertex, error) {
	old := r.named(id)
	if old != nil && len(decl.Recv) == 0 && old.same(decl) {
		return old, nil
	}
	v, err := r.newVertex(id, decl)
	if err != nil || old == nil || len(decl.Recv) == 0 {
		return v, err
	}
	v.carry(old)
	v.taintBy(v.recv)
	if old.same(decl) {
		return old, nil
	}
	return v, nil
}

// newVertex makes a vertex for a declared resource, without initialising it.
func (r *Reactor) newVertex(id string, decl *engine.Vertex) (v *vertex, err error) {
	defer engine.Caught("a method that describes "+id, &err)
	a, err := r.abilitiesOf(decl.Res)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	v = &vertex{r: r, id: id, res: decl.Res, meta: decl.Res.MetaParams(), abil: a, slot: -1}
	v.noop, v.once = r.noopOf(v.meta), decl.Once
	v.pace = newPace(v.meta)
	v.key = batchKey(decl.Res, v.meta, v.noop)
	if len(decl.Recv) > 0 {
		v.recv = make([]wire, len(decl.Recv))
	}
	v.guardDeclared()
	v.hide(decl.Secret)
	for i, w := range decl.Recv {
		v.recv[i].Wire = w
		if _, f, err := a.recvType.At(w.Field); err == nil {
			v.recv[i].noWatch = f.NoWatch
		}
	}
	return v, nil
}

// batchKey returns what vertices must have in common to run in one call, empty
// for what runs alone.
func batchKey(res engine.Res, m *engine.MetaParams, noop bool) string {
	b, ok := res.(engine.Batcher)
	if !ok || b.GroupKey() == "" {
		return ""
	}
	return fmt.Sprintf("%s\x00%s\x00%t\x00%d", res.Kind(), b.GroupKey(), noop, m.Timeout)
}

func (r *Reactor) noopOf(m *engine.MetaParams) bool {
	switch {
	case r.opt.Noop == NoopAll, m.Drift == engine.DriftReport:
		return true
	case m.Noop != nil:
		return *m.Noop
	default:
		return r.opt.Noop == NoopDefault
	}
}

// abilitiesOf asks once for each type of resource.
func (r *Reactor) abilitiesOf(res engine.Res) (*abilities, error) {
	key := schema.KeyOf(res)
	if a := r.kinds[key]; a != nil {
		return a, nil
	}
	a := &abilities{}
	var err error
	if a.Abilities, err = engine.AbilitiesOf(res); err != nil {
		return nil, err
	}
	if a.recvType, err = schema.TypeOf(res); err != nil {
		return nil, err
	}
	a.secret = mayHoldSecret(a.recvType)
	r.kinds[key] = a
	return a, nil
}

// carry gives v the values that old has received over the same wires.
func (v *vertex) carry(old *vertex) {
	for i := range v.recv {
		w := &v.recv[i]
		o := old.wireLike(w.Wire)
		if o == nil || !o.have || schema.Set(v.res, w.Field, schema.Clone(o.value.v)) != nil {
			continue
		}
		w.have, w.value = true, o.value
	}
}

// wireLike returns the wire of v from the same sender to the same field.
func (v *vertex) wireLike(w engine.Wire) *wire {
	for i := range v.recv {
		if v.recv[i].Field == w.Field && v.recv[i].From == w.From {
			return &v.recv[i]
		}
	}
	return nil
}

// same reports whether v may go on in the place of a declared one, to which the
// values have been carried.
func (v *vertex) same(d *engine.Vertex) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false // who makes the new one will tell
		}
	}()
	if v.once != d.Once || !v.inited && !v.meta.Hidden {
		return false // a Swap that failed could not bring it back
	}
	if reflect.TypeOf(v.res) != reflect.TypeOf(d.Res) || len(v.recv) != len(d.Recv) {
		return false
	}
	for _, w := range d.Recv {
		if v.wireLike(w) == nil {
			return false
		}
	}
	if m := d.Res.MetaParams(); !v.meta.Equal(m) || v.key != batchKey(d.Res, m, v.noop) {
		return false
	}
	return v.meta.Hidden || protect("Cmp", func() error { return v.res.Cmp(d.Res) }) == nil
}

// initAll initialises all new vertices but those that exclude an old one.
func (s *swap) initAll(ctx context.Context) error {
	for _, v := range s.fresh {
		old := s.r.named(v.id)
		if old == nil {
			if err := s.r.waitFor(ctx, v); err != nil {
				return err
			}
		} else if !v.abil.Overlapping || !old.abil.Overlapping {
			s.exclusive = append(s.exclusive, exchange{old, v})
			continue
		}
		if err := s.r.initOne(ctx, v); err != nil {
			return err
		}
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
		if old := r.leaving[v.id]; old != nil {
			gone = old.idleChan()
		}
	})
	if err != nil || gone == nil {
		return err
	}
	return r.await(ctx, gone)
}

func (r *Reactor) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ctx.Done():
		return ErrStopped
	}
}

func (r *Reactor) initOne(ctx context.Context, v *vertex) (err error) {
	if v.meta.Hidden {
		return nil
	}
	r.attendTo(v, func() { err = r.initNow(ctx, v) })
	return err
}

func (r *Reactor) initNow(ctx context.Context, v *vertex) (err error) {
	if v.shared, err = r.openShared(ctx, v.res); err != nil {
		return v.cleanError(err)
	}
	if slices.ContainsFunc(v.recv, func(w wire) bool { return w.have }) {
		v.refused = protect("Validate", v.res.Validate)
		v.publish(v.recv)
	}
	if err := protect("Init", func() error { return v.res.Init(v.newInit()) }); err != nil {
		_ = r.leaveShared(v.shared)
		v.shared = nil
		return fmt.Errorf("%s: cannot be initialised: %w", v.id, v.cleanError(err))
	}
	v.inited = true
	return nil
}

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
		err = s.r.initOne(ctx, x.new)
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
			s.r.suspend(x.old)
			idle = append(idle, x.old.idleChan())
			s.r.tellIdle(x.old)
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
		if !v.inited {
			err = s.r.initOne(context.WithoutCancel(s.r.ctx), v)
		}
		_ = s.r.do(s.r.ctx, func() {
			if err != nil { // it stays suspended; the next Swap replaces it
				s.r.fail(v, err, false, 0)
				return
			}
			v.resumed = true
			s.r.resume(v)
		})
	}
}

// resume lets a suspended vertex go on that a failed Swap gave back, once it has
// ended what it did before.
func (r *Reactor) resume(v *vertex) {
	if v.resumed && !v.inRun && !v.watching {
		v.suspended, v.resumed = false, false
		r.because(v, Trigger{Cause: CauseWatch})
		r.open(v)
	}
}

// suspend ends Watch and CheckApply of v and keeps them from starting.
func (r *Reactor) suspend(v *vertex) {
	v.suspended, v.resumed, v.rewatch = true, false, false
	r.disarm(v)
	r.m.Unready(v.slot)
	r.setDue(v, false)
	r.cut(v)
}

// cut ends what runs of v.
func (r *Reactor) cut(v *vertex) {
	v.endRun()
	if v.watching {
		v.watchCtx.cancel()
	}
}

// idleChan returns a channel that is closed when v runs no more, and, if it is
// leaving, has left.
func (v *vertex) idleChan() <-chan struct{} {
	if v.idle == nil {
		v.idle = make(chan struct{})
	}
	return v.idle
}

// tellIdle closes that channel if it is so.
func (r *Reactor) tellIdle(v *vertex) {
	if v.idle != nil && !v.inRun && !v.watching {
		close(v.idle)
		v.idle = nil
	}
}

// noteSwap tells of the swap that has taken effect.
func (s *swap) noteSwap(removed, changed int) {
	r := s.r
	r.opt.Listener.swapped(Swap{
		Generation: r.generation, Name: s.g.Name, Kept: s.kept,
		Added: len(s.fresh) - changed, Changed: changed, Removed: removed,
	})
}

// depart cleans up a vertex that has left, and, if its name has left too, what is
// kept for the name. It runs on a goroutine of its own.
func (r *Reactor) depart(v *vertex, name bool) {
	defer r.mail.post(v, mailFinished)
	r.cleanup(v)
	if !name || r.opt.ReadOnly || v.noop {
		return
	}
	if dir, err := r.varBase(v.id, v.res.Kind(), v.res.Name()); err == nil {
		if err := os.RemoveAll(dir); err != nil {
			r.log.Warn("removing the state folder failed", slog.String("resource", v.id), slog.Any("error", err))
		}
	}
	r.forget(v)
}
