package store

import (
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/model"
)

// index finds entries by key. It is guarded by its store.
// The elements of a key are plain scalars, model.Missing, or, in wanted, model.Any.
type index interface {
	add(key []any, e *entry)
	remove(key []any, e *entry)
	// find calls yield with each entry whose key is wanted, perhaps more than once. Without Any in wanted, it comes
	// sorted by id and once.
	find(wanted []any, yield func(e *entry))
}

// ids keeps the entries of a table by id.
type ids interface {
	get(id string) *entry
	put(e *entry)
	remove(id string)
	len() int
	each(yield func(e *entry) bool) // in any order, unless sorted
	sorted() bool
}

// entry is the place of one object. It stays while the object changes, so an index that holds entries and not objects is
// altered only where a key changes.
type entry struct {
	o       *model.Object
	id      string
	seq     uint64 // of the Put
	invalid bool
	own     *model.Object // as it was put by itself, and not inside of another object; else nil
	ownSeq  uint64        // of that Put
	behind  *behind       // where an index goes through references; else nil
}

// behind has the keys that the object alone does not determine, since they go through references.
type behind struct {
	keys    [][][]any // by index
	targets []place
}

// table has the objects of one model.
type table struct {
	m       *model.Model
	ids     ids
	names   []model.Index
	indexes []index
	through []bool // the index goes through a reference
}

// Indexed is a Store with indexes. Make one by Maps or BTree.
//
// One lock guards all, since a change of one object can move the keys of objects of other models. A reader sees all of
// a change, or nothing. Readers share the lock.
type Indexed struct {
	questions
	newIDs   func() ids
	newIndex func(paths int) index

	mu        sync.RWMutex // guards all below
	seq       uint64       // counts the calls of Put and Fill
	tables    map[*model.Model]*table
	names     map[string]*table // by name and by table
	gone      deletions
	nests     map[nested][]nested            // the objects that an object nests
	holders   map[nested]map[nested]struct{} // by whom an object is nested
	referrers map[place]map[*entry]*table    // whose keys depend on the object
}

var _ model.Store = (*Indexed)(nil)

// newIndexed returns an empty store whose tables and indexes are made by these functions.
func newIndexed(newIDs func() ids, newIndex func(paths int) index) *Indexed {
	s := &Indexed{newIDs: newIDs, newIndex: newIndex}
	s.questions = questions{s.query, s.Peek}
	s.reset()
	return s
}

// reset makes the maps anew. The caller holds the lock, or is alone.
func (s *Indexed) reset() {
	s.tables, s.names, s.gone = map[*model.Model]*table{}, map[string]*table{}, deletions{}
	s.nests, s.holders, s.referrers = map[nested][]nested{}, map[nested]map[nested]struct{}{}, map[place]map[*entry]*table{}
}

// Clear forgets everything.
func (s *Indexed) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
}

// table returns the table of a model, and makes it where it is absent.
func (s *Indexed) table(m *model.Model) *table {
	if t := s.tables[m]; t != nil {
		return t
	}
	t := &table{m: m, ids: s.newIDs()}
	for _, x := range m.Indexes() {
		if x.Name != "id" {
			t.names = append(t.names, x)
			t.indexes = append(t.indexes, s.newIndex(len(x.Paths)))
			t.through = append(t.through, m.Through(x))
		}
	}
	s.tables[m] = t
	s.names[m.Name()] = t
	if m.FirstClass() {
		s.names[m.Table()] = t
	}
	return t
}

// Put keeps o in the place of the snapshot of its id; see model.Store.
func (s *Indexed) Put(o *model.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := o.Revision(); r > 0 && r < s.known(nested{o.Model(), o.ID()}) {
		return nil
	}
	return s.putOwn(o)
}

// putOwn keeps an object that is put by itself. An object of that id inside of another one, which came later, goes on to
// count while the own one is equal to the one before.
func (s *Indexed) putOwn(o *model.Object) error {
	t := s.table(o.Model())
	if e := t.ids.get(o.ID()); e != nil && e.own != nil && e.o != e.own && e.own.Equal(o) {
		return nil
	}
	s.seq++
	if err := s.put(o, s.seq); err != nil {
		return err
	}
	e := t.ids.get(o.ID())
	e.own, e.ownSeq = e.o, s.seq
	return nil
}

// Fill is Put for an object that was read; see model.Store.
func (s *Indexed) Fill(o *model.Object, revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := nested{o.Model(), o.ID()}
	e := s.table(n.m).ids.get(n.id)
	if s.gone.at[n] >= revision && revision > 0 || e != nil && (e.o.Revision() > revision || !e.invalid && e.o.Revision() == revision) {
		return false
	}
	return s.putOwn(o) == nil
}

// known returns the revision of the snapshot, or of the deletion, of an object.
func (s *Indexed) known(n nested) int64 {
	if t := s.tables[n.m]; t != nil {
		if e := t.ids.get(n.id); e != nil {
			return e.o.Revision()
		}
	}
	return s.gone.at[n]
}

// put checks everything, and then changes everything: the keys, the objects that o nests, and the keys of the objects
// that refer to it.
func (s *Indexed) put(o *model.Object, seq uint64) error {
	t, n := s.table(o.Model()), nested{o.Model(), o.ID()}
	e := t.ids.get(n.id)
	if e != nil && e.o.Equal(o) {
		e.invalid = false
		if o.Revision() > e.o.Revision() {
			e.o = o
		}
		return nil
	}
	inner, err := admit(o)
	if err != nil {
		return err
	}
	for _, i := range inner {
		if err := s.fits(i); err != nil {
			return err
		}
	}
	keys, targets, err := s.keys(t, o)
	if err != nil {
		return err
	}
	if e == nil {
		e = &entry{id: n.id}
		t.ids.put(e)
		s.move(t, e, nil, keys)
	} else {
		s.move(t, e, s.present(t, e), keys)
	}
	e.o, e.seq, e.invalid = o, seq, false
	s.gone.forget(n)
	s.remember(t, e, keys, targets)
	s.nest(n, inner, seq)
	s.follow(o)
	return nil
}

// fits returns why a nested object could not be kept.
func (s *Indexed) fits(o *model.Object) error {
	inner, err := admit(o)
	if err != nil {
		return err
	}
	if _, _, err = s.keys(s.table(o.Model()), o); err != nil {
		return err
	}
	for _, i := range inner {
		if err := s.fits(i); err != nil {
			return err
		}
	}
	return nil
}

// keys returns the keys of an object in each index, and the targets that they were read from.
func (s *Indexed) keys(t *table, o *model.Object) (keys [][][]any, targets []place, err error) {
	keys = make([][][]any, len(t.names))
	look := func(target, id string) *model.Object {
		targets = append(targets, place{target, id})
		return s.look(target, id)
	}
	for i, x := range t.names {
		if keys[i], err = o.Keys(x, look); err != nil {
			return nil, nil, err
		}
	}
	return keys, targets, nil
}

// look follows a reference to an object as it is now.
func (s *Indexed) look(target, id string) *model.Object {
	if to := s.names[target]; to != nil {
		if e := to.ids.get(id); e != nil {
			return e.o
		}
	}
	return nil
}

// present returns the keys that an entry has now.
func (s *Indexed) present(t *table, e *entry) [][][]any {
	if e.behind != nil {
		return e.behind.keys
	}
	keys, _, _ := s.keys(t, e.o) // they could be made before
	return keys
}

// move takes an entry from old keys to others.
func (s *Indexed) move(t *table, e *entry, from, to [][][]any) {
	for i, x := range t.indexes {
		var had [][]any
		if from != nil {
			had = from[i]
		}
		for _, key := range had {
			if !has(to[i], key) {
				x.remove(key, e)
			}
		}
		for _, key := range to[i] {
			if !has(had, key) {
				x.add(key, e)
			}
		}
	}
}

// has reports whether key is among some keys.
func has(keys [][]any, key []any) bool {
	return slices.ContainsFunc(keys, func(k []any) bool { return slices.Equal(k, key) })
}

// remember keeps the keys of an entry and the targets of the references that they were made from.
func (s *Indexed) remember(t *table, e *entry, keys [][][]any, targets []place) {
	s.unfollow(e)
	if !slices.Contains(t.through, true) {
		return
	}
	e.behind = &behind{keys, targets}
	for _, p := range targets {
		if s.referrers[p] == nil {
			s.referrers[p] = map[*entry]*table{}
		}
		s.referrers[p][e] = t
	}
}

// unfollow ends that the keys of an entry follow other objects.
func (s *Indexed) unfollow(e *entry) {
	if e.behind == nil {
		return
	}
	for _, p := range e.behind.targets {
		if delete(s.referrers[p], e); len(s.referrers[p]) == 0 {
			delete(s.referrers, p)
		}
	}
	e.behind = nil
}

// follow moves the keys of all that refer to an object which has changed.
func (s *Indexed) follow(o *model.Object) {
	for _, p := range places(o) {
		for e, t := range s.referrers[p] {
			keys, targets, err := s.keys(t, e.o)
			if err != nil {
				continue // too many keys by now: it keeps those it has
			}
			s.move(t, e, e.behind.keys, keys)
			s.remember(t, e, keys, targets)
		}
	}
}

// nest keeps what n nests, and lets go of what n does not nest any more.
func (s *Indexed) nest(n nested, inner []*model.Object, seq uint64) {
	was := s.nests[n]
	var now []nested
	for _, i := range inner {
		k := nested{i.Model(), i.ID()}
		if !slices.Contains(now, k) {
			now = append(now, k)
		}
		if s.holders[k] == nil {
			s.holders[k] = map[nested]struct{}{}
		}
		s.holders[k][n] = struct{}{}
		_ = s.put(i, seq) // fits has tried it
	}
	if len(now) > 0 {
		s.nests[n] = now
	} else if was != nil {
		delete(s.nests, n)
	}
	for _, k := range was {
		if !slices.Contains(now, k) {
			s.release(k, n)
		}
	}
}

// release ends that n nests k, which others may nest, too, and which may have been put by itself.
func (s *Indexed) release(k, n nested) {
	if delete(s.holders[k], n); len(s.holders[k]) == 0 {
		delete(s.holders, k)
	}
	s.settle(k)
}

// settle takes the latest object for k: from a holder, or from the Put of k by itself. Without any of them k goes.
func (s *Indexed) settle(k nested) {
	e := s.tables[k.m].ids.get(k.id)
	if e == nil {
		return
	}
	var latest *entry
	for h := range s.holders[k] {
		if e := s.tables[h.m].ids.get(h.id); e != nil && (latest == nil || e.seq > latest.seq) {
			latest = e
		}
	}
	switch {
	case latest == nil && e.own == nil:
		s.drop(k)
		return
	case latest == nil || e.own != nil && e.ownSeq > latest.seq:
		_ = s.put(e.own, e.ownSeq) // it was kept before
		return
	}
	inner, _ := latest.o.Nested()
	for _, i := range slices.Backward(inner) {
		if i.Model() == k.m && i.ID() == k.id {
			_ = s.put(i, latest.seq)
			return
		}
	}
}

// Delete forgets an object; see model.Store.
func (s *Indexed) Delete(m *model.Model, id string, revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := nested{m, id}
	if revision > 0 && revision < s.known(n) {
		return false
	}
	there := false
	if e := s.table(m).ids.get(id); e != nil && e.own != nil {
		there, e.own = true, nil
		s.settle(n)
	}
	s.gone.add(n, revision)
	return there
}

// drop removes an object with its keys, and lets go of the objects that it nests. It reports whether it was there.
func (s *Indexed) drop(n nested) bool {
	t := s.table(n.m)
	e := t.ids.get(n.id)
	if e == nil {
		return false
	}
	s.move(t, e, s.present(t, e), make([][][]any, len(t.indexes)))
	s.unfollow(e)
	t.ids.remove(n.id)
	was := s.nests[n]
	delete(s.nests, n)
	for _, k := range was {
		s.release(k, n)
	}
	s.follow(e.o)
	return true
}

// Invalidate marks a snapshot as out of date.
func (s *Indexed) Invalidate(m *model.Model, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.table(m).ids.get(id); e != nil {
		e.invalid = true
	}
}

// Peek returns a snapshot, nil for none, and whether it is valid.
func (s *Indexed) Peek(m *model.Model, id string) (*model.Object, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.tables[m]; t != nil {
		if e := t.ids.get(id); e != nil {
			return e.o, !e.invalid
		}
	}
	return nil, false
}

// Stale reports whether the store now has something else than o.
func (s *Indexed) Stale(o *model.Object) bool {
	have, valid := s.Peek(o.Model(), o.ID())
	return !valid || !have.Equal(o)
}

// Len returns how many objects of a model there are.
func (s *Indexed) Len(m *model.Model) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.tables[m]; t != nil {
		return t.ids.len()
	}
	return 0
}

// query returns the objects that a query finds.
func (s *Indexed) query(q model.Query) ([]*model.Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	x, wanted, err := q.Keys(s.look)
	if err != nil {
		return nil, err
	}
	t := s.tables[q.Model]
	if t == nil {
		return nil, nil
	}
	if wanted == nil && q.Topics != nil {
		if i := t.find("topic"); i >= 0 {
			for _, topic := range q.Topics {
				if wanted = append(wanted, []any{topic}); topic == "" {
					wanted = append(wanted, []any{model.Missing})
				}
			}
			return cut(q, t.lookUp(i, wanted)), nil
		}
	}
	switch {
	case wanted == nil:
		return cut(q, t.everything()), nil
	case x.Name == "id":
		return cut(q, t.byID(wanted)), nil
	}
	return cut(q, t.lookUp(t.find(x.Name), wanted)), nil
}

// find returns the place of an index, or -1.
func (t *table) find(name string) int {
	return slices.IndexFunc(t.names, func(x model.Index) bool { return x.Name == name })
}

// everything returns all objects, sorted by id.
func (t *table) everything() []*model.Object {
	list := make([]*model.Object, 0, t.ids.len())
	t.ids.each(func(e *entry) bool {
		list = append(list, e.o)
		return true
	})
	if !t.ids.sorted() {
		sortByID(list)
	}
	return list
}

// sortByID sorts in place.
func sortByID(list []*model.Object) {
	slices.SortFunc(list, func(a, b *model.Object) int { return strings.Compare(a.ID(), b.ID()) })
}

// byID returns the objects of some ids.
func (t *table) byID(wanted [][]any) (list []*model.Object) {
	for _, key := range wanted {
		if key[0] == model.Any {
			return t.everything()
		}
		id, _ := key[0].(string)
		if e := t.ids.get(id); e != nil && !slices.Contains(list, e.o) {
			list = append(list, e.o)
		}
	}
	sortByID(list)
	return list
}

// lookUp returns the objects of some keys, each once, sorted by id.
func (t *table) lookUp(i int, wanted [][]any) []*model.Object {
	list := make([]*model.Object, 0, 8)
	for _, key := range wanted {
		t.indexes[i].find(key, func(e *entry) { list = append(list, e.o) })
	}
	if len(wanted) > 1 || len(wanted) == 1 && slices.Contains(wanted[0], model.Any) {
		sortByID(list)
		list = slices.Compact(list)
	}
	return list
}
