package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
)

// admit returns why a store cannot keep o, and the objects that o nests.
func admit(o *model.Object) ([]*model.Object, error) {
	if o.ID() == "" {
		return nil, refuse(o, "id", "an object needs an id to be kept")
	}
	var errs []error
	for _, x := range o.Model().Indexes() {
		for _, path := range x.Paths {
			key, _, _ := strings.Cut(path, ".")
			if f := o.Model().Field(key); f != nil && f.Required && o.Get(key) == nil {
				errs = append(errs, refuse(o, key, fmt.Sprintf("%s is required, since the index %s reads it", key, x.Name)))
			}
		}
	}
	nested, err := o.Nested()
	return nested, errors.Join(append(errs, err)...)
}

// refuse makes a Validation about a field.
func refuse(o *model.Object, field, message string) error {
	return &model.Error{Code: model.Validation, Table: o.Model().Label(), ID: o.ID(), Field: field, Message: message}
}

// notFound says that there is no object of that id, or none at all where id is empty.
func notFound(m *model.Model, id string) error {
	return &model.Error{Code: model.NotFound, Table: m.Label(), ID: id, Message: "there is no such object"}
}

// one returns the only object of a list. The list has at most two objects, since more tell no more.
func one(m *model.Model, list []*model.Object, err error) (*model.Object, error) {
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, notFound(m, "")
	case len(list) > 1:
		return nil, &model.Error{Code: model.Multiple, Table: m.Label(), Message: fmt.Sprintf(
			"there is more than one such object: %s and %s are two", list[0].ID(), list[1].ID())}
	}
	return list[0], nil
}

// questions answers Source from a function that lists, and from Peek. An invalid snapshot is an answer, too: Through
// alone asks for a valid one.
type questions struct {
	list func(q model.Query) ([]*model.Object, error)
	peek func(m *model.Model, id string) (*model.Object, bool)
}

// Get returns an object by its id, or NotFound.
func (s *questions) Get(_ context.Context, m *model.Model, id string) (*model.Object, error) {
	if o, _ := s.peek(m, id); o != nil {
		return o, nil
	}
	return nil, notFound(m, id)
}

// One returns the only object that a query finds, or NotFound. Several are a Multiple.
func (s *questions) One(_ context.Context, q model.Query) (*model.Object, error) {
	q.Limit = 2
	list, err := s.list(q)
	return one(q.Model, list, err)
}

// First returns the object of the smallest id that a query finds, or NotFound.
func (s *questions) First(_ context.Context, q model.Query) (*model.Object, error) {
	q.Limit = 1
	list, err := s.list(q)
	return one(q.Model, list, err)
}

// List returns the objects that a query finds, sorted by id.
func (s *questions) List(_ context.Context, q model.Query) ([]*model.Object, error) { return s.list(q) }

// place names an object by its model's name, or by its table.
type place struct{ of, id string }

// places are the names by which others refer to an object.
func places(o *model.Object) []place {
	m := o.Model()
	if m.Table() == m.Name() || !m.FirstClass() {
		return []place{{m.Name(), o.ID()}}
	}
	return []place{{m.Name(), o.ID()}, {m.Table(), o.ID()}}
}

// maxGone bounds how many deletions a store remembers.
const maxGone = 10_000

// deletions remember the revisions of objects that are gone.
type deletions struct {
	at    map[nested]int64
	order []nested
}

// nested names an object by its model and its id.
type nested struct {
	m  *model.Model
	id string
}

// add remembers the later of two revisions, and forgets the oldest deletion above maxGone.
func (d *deletions) add(n nested, revision int64) {
	if revision == 0 {
		return
	}
	if d.at == nil {
		d.at = map[nested]int64{}
	}
	if _, known := d.at[n]; !known {
		d.order = append(d.order, n)
	}
	d.at[n] = max(d.at[n], revision)
	if len(d.order) > maxGone {
		delete(d.at, d.order[0])
		d.order = d.order[1:]
	}
}

// forget ends the memory of a deletion, since the object is there again.
func (d *deletions) forget(n nested) {
	if _, known := d.at[n]; known {
		delete(d.at, n)
		d.order = slices.DeleteFunc(d.order, func(x nested) bool { return x == n })
	}
}

// cut applies topics, After and Limit to a list that is sorted by id.
func cut(q model.Query, list []*model.Object) []*model.Object {
	if q.After != "" {
		list = list[sort.Search(len(list), func(i int) bool { return list[i].ID() > q.After }):]
	}
	if q.Topics != nil {
		list = slices.DeleteFunc(slices.Clone(list), func(o *model.Object) bool { return !q.InTopics(o.Topic()) })
	}
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
	}
	return list
}
