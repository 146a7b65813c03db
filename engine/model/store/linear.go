package store

import (
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine/model"
)

// Linear is a Store without indexes: it looks at every object for each question. It shares neither keys nor nested
// objects with the others, so it shows what they should answer.
type Linear struct {
	questions
	mu   sync.RWMutex
	rows []row // in the order of Put
	gone deletions
}

// row is an object that was put. Nested objects have no row: they are looked for in the rows.
type row struct {
	o       *model.Object
	invalid bool
}

var _ model.Store = (*Linear)(nil)

// NewLinear returns an empty store.
func NewLinear() *Linear {
	s := &Linear{}
	s.questions = questions{s.query, s.Peek}
	return s
}

// Clear forgets everything.
func (s *Linear) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows, s.gone = nil, deletions{}
}

// at returns the row of an object that was put itself, or -1.
func (s *Linear) at(m *model.Model, id string) int {
	return slices.IndexFunc(s.rows, func(r row) bool { return r.o.Model() == m && r.o.ID() == id })
}

// Put keeps o in the place of the snapshot of its id; see model.Store.
func (s *Linear) Put(o *model.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.gone.at[nested{o.Model(), o.ID()}]
	if i := s.at(o.Model(), o.ID()); i >= 0 {
		known = s.rows[i].o.Revision()
	}
	if o.Revision() > 0 && o.Revision() < known {
		return nil
	}
	return s.put(o)
}

// put moves a changed object to the end, so that the order of the rows is that of the changes.
func (s *Linear) put(o *model.Object) error {
	if err := s.fits(o); err != nil {
		return err
	}
	i := s.at(o.Model(), o.ID())
	if i >= 0 && s.rows[i].o.Equal(o) {
		s.rows[i].invalid = false
		if o.Revision() > s.rows[i].o.Revision() {
			s.rows[i].o = o
		}
		return nil
	}
	if i >= 0 {
		s.rows = slices.Delete(s.rows, i, i+1)
	}
	s.rows = append(s.rows, row{o: o})
	s.gone.forget(nested{o.Model(), o.ID()})
	return nil
}

// fits returns why an object, or one inside of it, could not be kept.
func (s *Linear) fits(o *model.Object) error {
	inner, err := admit(o)
	if err != nil {
		return err
	}
	for _, x := range o.Model().Indexes() {
		if _, err := o.Keys(x, s.look); err != nil {
			return err
		}
	}
	for _, i := range inner {
		if err := s.fits(i); err != nil {
			return err
		}
	}
	return nil
}

// Fill is Put for an object that was read; see model.Store.
func (s *Linear) Fill(o *model.Object, revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.at(o.Model(), o.ID())
	if s.gone.at[nested{o.Model(), o.ID()}] >= revision && revision > 0 ||
		i >= 0 && (s.rows[i].o.Revision() > revision || !s.rows[i].invalid && s.rows[i].o.Revision() == revision) {
		return false
	}
	return s.put(o) == nil
}

// Delete forgets an object; see model.Store.
func (s *Linear) Delete(m *model.Model, id string, revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.at(m, id)
	if i >= 0 && revision > 0 && revision < s.rows[i].o.Revision() {
		return false
	}
	if i >= 0 {
		s.rows = slices.Delete(s.rows, i, i+1)
	}
	s.gone.add(nested{m, id}, revision)
	return i >= 0
}

// Invalidate marks a snapshot as out of date.
func (s *Linear) Invalidate(m *model.Model, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.at(m, id); i >= 0 {
		s.rows[i].invalid = true
	}
}

// Peek returns a snapshot, nil for none, and whether it is valid.
func (s *Linear) Peek(m *model.Model, id string) (*model.Object, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.peekIn(m.Name(), id)
}

// peekIn looks for the latest object of that model, by name or table, among the rows and their nested objects.
func (s *Linear) peekIn(of, id string) (*model.Object, bool) {
	for _, r := range slices.Backward(s.rows) {
		for _, o := range slices.Backward(withNested(r.o)) {
			if o.ID() == id && (o.Model().Name() == of || o.Model().Table() == of) {
				return o, !r.invalid
			}
		}
	}
	return nil, false
}

// withNested returns an object and all that it nests, the outer ones first.
func withNested(o *model.Object) []*model.Object {
	all := []*model.Object{o}
	inner, _ := o.Nested()
	for _, i := range inner {
		all = append(all, withNested(i)...)
	}
	return all
}

// look follows a reference to the target as it is now; there is nothing to keep right when the target changes.
func (s *Linear) look(target, id string) *model.Object {
	o, _ := s.peekIn(target, id)
	return o
}

// Stale reports whether the store now has something else than o.
func (s *Linear) Stale(o *model.Object) bool {
	have, valid := s.Peek(o.Model(), o.ID())
	return !valid || !have.Equal(o)
}

// Len returns how many objects of a model there are.
func (s *Linear) Len(m *model.Model) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects(m))
}

// objects returns the objects of a model, sorted by id.
func (s *Linear) objects(m *model.Model) (list []*model.Object) {
	seen := map[string]bool{}
	for _, r := range slices.Backward(s.rows) {
		for _, o := range slices.Backward(withNested(r.o)) {
			if o.Model() == m && !seen[o.ID()] {
				seen[o.ID()] = true
				list = append(list, o)
			}
		}
	}
	sortByID(list)
	return list
}

// query asks each object for its keys.
func (s *Linear) query(q model.Query) ([]*model.Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	x, wanted, err := q.Keys(s.look)
	if err != nil {
		return nil, err
	}
	var list []*model.Object
	for _, o := range s.objects(q.Model) {
		keys, _ := o.Keys(x, s.look)
		if wanted == nil || slices.ContainsFunc(keys, func(key []any) bool {
			return slices.ContainsFunc(wanted, func(w []any) bool { return model.Matches(w, key) })
		}) {
			list = append(list, o)
		}
	}
	return cut(q, list), nil
}
