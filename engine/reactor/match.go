package reactor

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

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
