package reactor

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// match finds for each vertex of the new graph the one that it keeps, or makes
// one.
func (s *swap) match(order []int) error {
	s.r.values.RLock()
	defer s.r.values.RUnlock()
	s.all = make([]*vertex, s.g.Len())
	s.keepMost()
	for _, i := range order {
		if s.all[i] != nil {
			s.kept++
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

// keepMost finds those that receive nothing and may go on: in a large graph that is nearly
// all that a Swap has to do.
func (s *swap) keepMost() {
	s.r.pairs(s.g, func(i int, decl *engine.Vertex, v *vertex) {
		if len(decl.Recv) == 0 && v.same(decl) {
			s.all[i] = v
			decl.Res, decl.UIDs = v.res, nil // the other one is not kept in memory
		}
	})
}

// Compare marks the vertices of a graph under whose id a resource runs that is declared just
// so (engine.Vertex.Same). It is called before the graph is transformed, and before the
// Swap of it; no other Swap may come between. Where the reactor has ended nothing is marked.
// What receives values, or may be grouped and so run by another one, is not compared before the Swap.
func (r *Reactor) Compare(ctx context.Context, g *engine.Graph) {
	if r.lockSwap(ctx) != nil {
		return
	}
	defer func() { <-r.swapping }()
	r.values.RLock()
	defer r.values.RUnlock()
	r.pairs(g, func(_ int, decl *engine.Vertex, v *vertex) {
		_, groupable := engine.As[engine.GroupableRes](decl.Res)
		decl.Same = decl.Res != nil && !groupable && len(decl.Recv) == 0 && v.same(decl)
	})
}

// pairs calls do, on all processors, for each vertex of a graph under whose id one runs.
func (r *Reactor) pairs(g *engine.Graph, do func(i int, decl *engine.Vertex, v *vertex)) {
	const chunk = 2000
	var wg sync.WaitGroup
	for from := 0; from < g.Len() && r.loop.graph.Len() > 0; from += chunk {
		wg.Go(func() {
			old := from // where the next one stands in the old graph, as a rule
			for i := from; i < min(from+chunk, g.Len()); i++ {
				if at, ok := r.indexOf(g.ID(i), old); ok {
					old = at + 1
					do(i, g.Value(i), r.loop.byIndex[at])
				}
			}
		})
	}
	wg.Wait()
}

// indexOf returns the index of an id in the graph that runs, which is looked for at a
// likely place first: a look into the map of a large graph is dear.
func (r *Reactor) indexOf(id string, likely int) (int, bool) {
	if likely < r.loop.graph.Len() && r.loop.graph.ID(likely) == id {
		return likely, true
	}
	return r.loop.graph.Index(id)
}

// keepOrMake returns, of what keepMost has left, the running vertex of that name if it may go on
// in the place of a declared one that receives values, else a new one, to which the values have
// been carried.
func (r *Reactor) keepOrMake(id string, decl *engine.Vertex) (*vertex, error) {
	old := r.loop.named(id)
	v, err := r.newVertex(id, decl)
	if err != nil || old == nil || len(decl.Recv) == 0 {
		return v, err
	}
	v.wired().Carry(old.wired(), v.res)
	v.guardList(v.wired().Taint())
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
	decl.UIDs = nil
	v = &vertex{r: r, id: id, res: decl.Res, meta: decl.Res.MetaParams(), abil: a, slot: -1}
	v.noop, v.once = r.noopOf(v.meta), decl.Once
	v.hold.Pace = hold.NewPace(v.meta)
	v.key = batchKey(decl.Res, v.meta, v.noop)
	if len(decl.Recv) > 0 {
		v.values.Store(values.New(decl.Recv, a.noWatch))
	}
	v.guardDeclared()
	v.hide(decl.Secret)
	return v, nil
}

// noWatch reports whether a value for a field leaves the Watch alone.
func (a *abilities) noWatch(field string) bool {
	_, f, err := a.recvType.At(field)
	return err == nil && f.NoWatch
}

// batchKey returns what vertices must have in common to run in one call, empty
// for what runs alone.
func batchKey(res engine.Res, m *engine.MetaParams, noop bool) string {
	b, ok := engine.As[engine.Batcher](res)
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
	_, a.watched = res.(engine.WatchedRes)
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

// same reports whether v may go on in the place of a declared one, to which the
// values have been carried.
func (v *vertex) same(d *engine.Vertex) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false // who makes the new one will tell
		}
	}()
	if v.once != d.Once || !v.life.inited && !v.meta.Hidden {
		return false // a Swap that failed could not bring it back
	}
	if d.Same {
		return true
	}
	if reflect.TypeOf(v.res) != reflect.TypeOf(d.Res) || !v.wired().Same(d.Recv) {
		return false
	}
	if m := d.Res.MetaParams(); !v.meta.Equal(m) || v.key != batchKey(d.Res, m, v.noop) {
		return false
	}
	return v.meta.Hidden || protect("Cmp", func() error { return v.res.Cmp(d.Res) }) == nil
}
