package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Replica takes changes over into a Store and emits the basic events of models that have them. Older and equal
// snapshots are ignored, without an event. An object whose references are not there yet waits for them. Calls may come
// from many goroutines, and are done one after another, so a subscriber of an event calls no method of the Replica.
type Replica struct {
	Store  Store
	Source Source // for references that the Store does not have: the NB
	Reg    *Registry
	Events *Events

	mu      sync.Mutex
	waiting map[ref]map[ref]bool // objects by the target that they wait for
	waits   map[ref]ref          // the target that an object waits for
}

// maxWaiting bounds how many objects wait at a time.
const maxWaiting = 100_000

// Update takes a snapshot over.
func (r *Replica) Update(ctx context.Context, o *Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.update(ctx, o)
}

// update is Update. The caller holds the lock.
func (r *Replica) update(ctx context.Context, o *Object) error {
	was, valid := r.Store.Peek(o.model, o.id)
	switch {
	case was == nil:
	case o.model.Has(Version) && o.fields["version"] != nil:
		older := o.Version() < was.Version() || valid && o.Version() == was.Version()
		if older && o.revision <= was.revision {
			return nil
		}
	case valid && o.Equal(was):
		return nil
	}
	if err := r.Store.Put(o); err != nil {
		return err
	}
	if now, _ := r.Store.Peek(o.model, o.id); now == nil || now == was || !now.Equal(o) {
		return nil // the store knows something newer, be it a deletion
	}
	if was == nil {
		return r.emit(ctx, Event{Name: Created, Object: o})
	}
	return r.emit(ctx, Event{Name: Updated, Object: o, Was: was})
}

// Delete forgets an object that was gone at a revision. An absent object needs nothing.
func (r *Replica) Delete(ctx context.Context, m *Model, id string, revision int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.delete(ctx, m, id, revision)
}

// delete is Delete. The caller holds the lock.
func (r *Replica) delete(ctx context.Context, m *Model, id string, revision int64) error {
	r.unwait(ref{m.Name(), id})
	was, _ := r.Store.Peek(m, id)
	if !r.Store.Delete(m, id, revision) || was == nil {
		return nil
	}
	return r.emit(ctx, Event{Name: Deleted, Object: was})
}

// emit tells the subscribers, where the model has basic events.
func (r *Replica) emit(ctx context.Context, ev Event) error {
	if r.Events == nil || !ev.Object.model.Has(BasicEvents) {
		return nil
	}
	return r.Events.Emit(ctx, ev)
}

// Apply takes a change over: first the targets of the object's references, then the object, then the objects that
// waited for it.
func (r *Replica) Apply(ctx context.Context, c Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case c.Err != nil:
		return c.Err
	case c.Action == Delete:
		return r.delete(ctx, c.Model, c.ID, c.Revision)
	}
	return r.deliver(ctx, c.Object)
}

// Waiting returns how many objects wait for another one.
func (r *Replica) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waits)
}

// deliver updates the targets of an object before the object, or lets it wait. The caller holds the lock.
func (r *Replica) deliver(ctx context.Context, o *Object) error {
	refs, err := Refs(ctx, r.Reg, nearest{r.Store, r.Source}, o)
	if fault := Faults(err); len(fault) > 0 && fault[0].Code == RefNotFound {
		return r.wait(ref{fault[0].Table, fault[0].ID}, ref{o.model.Name(), o.id})
	} else if err != nil {
		return err
	}
	for _, target := range slices.Backward(refs) {
		if err := r.update(ctx, target); err != nil {
			return err
		}
	}
	r.unwait(ref{o.model.Name(), o.id})
	if err := r.update(ctx, o); err != nil {
		return err
	}
	return r.wake(ctx, o)
}

// wait remembers that an object waits for another one, and for no other target any more.
func (r *Replica) wait(target, who ref) error {
	r.unwait(who)
	if len(r.waits) >= maxWaiting {
		return &Error{Code: RefNotFound, Table: target.target, ID: target.id, Message: fmt.Sprintf("%d objects wait for absent objects already", maxWaiting)}
	}
	if r.waiting == nil {
		r.waiting, r.waits = map[ref]map[ref]bool{}, map[ref]ref{}
	}
	r.waits[who] = target
	if r.waiting[target] == nil {
		r.waiting[target] = map[ref]bool{}
	}
	r.waiting[target][who] = true
	return nil
}

// unwait forgets that an object waits.
func (r *Replica) unwait(who ref) {
	target, ok := r.waits[who]
	if !ok {
		return
	}
	delete(r.waits, who)
	if delete(r.waiting[target], who); len(r.waiting[target]) == 0 {
		delete(r.waiting, target)
	}
}

// wake delivers the objects that waited for o, as they are now. An object that cannot be read goes on waiting, and the
// error comes after all others are done.
func (r *Replica) wake(ctx context.Context, o *Object) error {
	var errs []error
	for _, who := range slices.Collect(maps.Keys(r.waiting[ref{o.model.Label(), o.id}])) {
		m, err := r.Reg.Model(who.target)
		if err != nil {
			r.unwait(who)
			continue
		}
		next, err := r.Source.Get(ctx, m, who.id)
		switch {
		case CodeOf(err) == NotFound:
			r.unwait(who) // it has gone meanwhile
		case err == nil:
			err = r.deliver(ctx, next)
			fallthrough
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// nearest reads from a Store, and else from another Source.
type nearest struct {
	Store
	far Source
}

// Get returns an object by its id, or NotFound.
func (n nearest) Get(ctx context.Context, m *Model, id string) (*Object, error) {
	o, err := n.Store.Get(ctx, m, id)
	if CodeOf(err) == NotFound && n.far != nil {
		return n.far.Get(ctx, m, id)
	}
	return o, err
}

// Sync compares a Store with the NB, for the topics of a host. Models without a topic are everybody's. It calls Update
// for each wanted object, targets of references first. It calls Delete for each other object, targets last. It is used by one goroutine.
type Sync struct {
	NB     *NB
	Store  Store
	Update func(ctx context.Context, o *Object) error
	Delete func(ctx context.Context, o *Object) error
	All    bool // every topic is wanted; AddTopic and RemoveTopic do nothing then

	models []*Model
	topics []string
}

// AddModel adds a model, after the models that it refers to.
func (s *Sync) AddModel(m *Model) { s.models = append(s.models, m) }

// AddTopic begins to take a topic over.
func (s *Sync) AddTopic(ctx context.Context, topic string) error {
	if s.All || slices.Contains(s.topics, topic) {
		return nil
	}
	if err := s.Run(ctx); err != nil { // new objects may need what came meanwhile
		return err
	}
	for _, m := range s.models {
		if m.byKey["topic"] == nil {
			continue
		}
		if err := s.pull(ctx, Query{Model: m, Topics: []string{topic}}); err != nil {
			return err
		}
	}
	s.topics = append(s.topics, topic)
	return nil
}

// RemoveTopic drops the objects of a topic, dependents first.
func (s *Sync) RemoveTopic(ctx context.Context, topic string) error {
	i := slices.Index(s.topics, topic)
	if s.All || i < 0 {
		return nil
	}
	s.topics = slices.Delete(s.topics, i, i+1)
	for _, m := range slices.Backward(s.models) {
		if m.byKey["topic"] == nil {
			continue
		}
		have, err := s.Store.List(ctx, Query{Model: m, Topics: []string{topic}})
		if err != nil {
			return err
		}
		for _, o := range have {
			if err := s.Delete(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run brings everything up to date.
func (s *Sync) Run(ctx context.Context) error {
	for _, m := range s.models {
		if err := s.pull(ctx, s.wanted(m)); err != nil {
			return err
		}
	}
	for _, m := range slices.Backward(s.models) {
		if err := s.clean(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// wanted asks for the objects of a model that should be there.
func (s *Sync) wanted(m *Model) Query {
	q := Query{Model: m}
	if !s.All && m.byKey["topic"] != nil {
		q.Topics = slices.Clone(s.topics)
		if q.Topics == nil {
			q.Topics = []string{}
		}
		if !m.byKey["topic"].Required {
			q.Topics = append(q.Topics, "")
		}
	}
	return q
}

// pull updates the objects of a query.
func (s *Sync) pull(ctx context.Context, q Query) error {
	list, err := s.NB.List(ctx, q)
	if err != nil {
		return err
	}
	for _, o := range list {
		if err := s.Update(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// clean deletes the objects of a model that should not be there.
func (s *Sync) clean(ctx context.Context, m *Model) error {
	list, err := s.NB.List(ctx, s.wanted(m))
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, o := range list {
		wanted[o.id] = true
	}
	have, err := s.Store.List(ctx, Query{Model: m})
	if err != nil {
		return err
	}
	for _, o := range have {
		if wanted[o.id] {
			continue
		}
		if err := s.Delete(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// Parents returns the kind and name of each object that a kind's object names in its edges.
func (o *Object) Parents() (refs []schema.Ref) {
	for _, edge := range Edges {
		list, _ := o.fields[edge].([]any)
		for _, v := range list {
			if r, ok := v.(schema.Ref); ok {
				refs = append(refs, r)
			}
		}
	}
	return refs
}
