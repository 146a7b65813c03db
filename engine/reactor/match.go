package reactor

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// match keeps the running vertex for each vertex of the new graph, or makes a new one.
func (s *swap) match() error {
	s.r.values.RLock()
	defer s.r.values.RUnlock()
	s.all = make([]*vertex, s.g.Len())
	s.keepMost()
	s.fresh = make([]*vertex, 0, s.missing())
	for _, i := range s.order {
		if s.all[i] != nil {
			s.kept++
			continue
		}
		v, err := s.keepOrMake(s.g.ID(i), s.g.Value(i))
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

// missing counts the vertices that keepMost has left.
func (s *swap) missing() (n int) {
	for _, v := range s.all {
		if v == nil {
			n++
		}
	}
	return n
}

// findLeaving finds the vertices that a whole graph does not have any more.
func (s *swap) findLeaving() {
	l := &s.r.loop
	stay := s.kept
	for _, v := range s.fresh {
		if l.named(v.ID) != nil {
			stay++
		}
	}
	if stay == len(l.byIndex) {
		return
	}
	for _, v := range l.byIndex {
		if _, ok := s.g.Index(v.ID); !ok {
			s.leaving = append(s.leaving, v)
		}
	}
}

// keepMost finds those that receive nothing and may go on: in a large graph that is nearly
// all that a swap has to do. In a part, a vertex without a value stands for the running one.
func (s *swap) keepMost() {
	s.r.pairs(s.g, func(i int, decl *resgraph.Vertex, v *vertex) {
		switch {
		case decl == nil && s.part, decl != nil && v.runs(decl):
			s.all[i] = v
		case decl != nil && len(decl.Recv) == 0 && (s.st.isSame(i, decl) || v.same(decl)):
			s.all[i] = v
			decl.Res = v.Res // the other one is not kept in memory
		}
	})
}

// keepOrMake returns, of what keepMost has left, the running vertex of that name if it may go on in
// the place of a declared vertex that receives values, else a new one, to which the values have
// been carried.
func (s *swap) keepOrMake(id string, decl *resgraph.Vertex) (*vertex, error) {
	if decl == nil || decl.Res == nil {
		return nil, fmt.Errorf("%s has no resource: a whole graph needs one for each vertex", id)
	}
	old := s.r.loop.named(id)
	v, err := s.r.newVertex(id, decl)
	if err != nil || old == nil {
		return v, err
	}
	if len(decl.Recv) == 0 {
		v.membership.own().altered = differing(old, v)
		return v, nil
	}
	v.wired().Carry(old.wired(), v.Res)
	v.guardList(v.wired().Taint())
	if old.same(decl) {
		decl.Res = old.Res // the other one is not kept in memory
		return old, nil
	}
	v.membership.own().altered = differing(old, v)
	return v, nil
}

// newVertex makes a vertex for a declared resource, without initialising it.
func (r *Reactor) newVertex(id string, decl *resgraph.Vertex) (v *vertex, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", id, err)
		}
	}()
	defer callsafe.Recover("a method that describes it", &err)
	a, err := r.abilitiesOf(decl.Res)
	if err != nil {
		return nil, err
	}
	v = r.roomFor(a, engine.MetaOf(decl.Res))
	r.env.Join(&v.Life, id, decl.Res)
	v.noop, v.once = r.noopOf(v.meta), decl.Special().Once
	v.hold = hold.New(v.meta)
	if key := batchKey(decl.Res, v.meta, v.noop); key != "" {
		v.key = new(key)
	}
	if len(decl.Recv) > 0 {
		v.values.Store(values.New(decl.Recv, a.noWatch))
	}
	if a.secret {
		v.HideDeclared()
	}
	v.hide(decl.Special().Secret)
	for _, text := range decl.Special().Hidden {
		v.Hide(text, false)
	}
	return v, nil
}

// roomFor returns an empty vertex of a kind, in one piece with the room for its Watch, if it is to have one.
func (r *Reactor) roomFor(a *abilities, m *engine.MetaParams) (v *vertex) {
	if r.unwatched(a, m) {
		v = &vertex{}
	} else {
		w := &struct {
			vertex
			watch watch.Vertex
		}{}
		v = &w.vertex
		v.watch = &w.watch
	}
	v.core, v.meta, v.abil, v.slot, v.links = &r.core, m, a, -1, noLinks
	v.membership.succession, v.past.trouble, v.run.said = noSuccession, noTrouble, noSaid
	return v
}

// noWatch reports whether a value for a field leaves the Watch alone.
func (a *abilities) noWatch(field string) bool {
	_, f, err := a.recvType.At(field)
	return err == nil && f.NoWatch
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

// maxKinds is how many answers of abilitiesOf are kept. Kinds come and go, so there is no end of them.
const maxKinds = 1024

// abilitiesOf asks once for all resources of one type that state the same.
func (r *Reactor) abilitiesOf(res engine.Res) (*abilities, error) {
	key := engine.AbilityKeyOf(res)
	if a := r.kinds[key]; a != nil {
		return a, nil
	}
	a := &abilities{}
	_, a.watched = engine.As[engine.WatchedRes](res)
	var err error
	if a.Abilities, err = engine.AbilitiesOf(res); err != nil {
		return nil, err
	}
	if a.recvType, err = schema.TypeOf(res); err != nil {
		return nil, err
	}
	a.secret = lifecycle.MayHoldSecret(a.recvType)
	if len(r.kinds) >= maxKinds {
		clear(r.kinds) // vertices keep theirs
	}
	r.kinds[key] = a
	return a, nil
}
