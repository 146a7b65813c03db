package model

import (
	"context"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// anyValue is the type of Any.
type anyValue struct{}

// Any in a wanted key finds every value, and Missing too.
var Any any = anyValue{}

// Query says which objects are wanted. The zero Index wants all of the model.
type Query struct {
	Model *Model
	// Index names the index that Like or Where is about. Without one, neither filters.
	Index string
	// Like holds the wanted values by example: an unset field, and null, find everything. Several values in a list
	// find what has one of them.
	Like *Object
	// Where holds the wanted values by path of the index, instead of Like. A path that is not in it finds everything.
	Where map[string]any
	// Topics leaves out objects of other topics; nil leaves out none. "" is an object without a topic.
	Topics []string
	// After leaves out all ids up to this one.
	After string
	// Limit is the greatest number of objects; 0 means all.
	Limit int
	// At is the revision of the NB at which objects are listed; 0 means now. A Store has only now.
	At int64
}

// Source is what answers queries: the store in memory, or the NB database. Both have the same calls.
type Source interface {
	// Get returns an object by its id, or NotFound.
	Get(ctx context.Context, m *Model, id string) (*Object, error)
	// One returns the only object that a query finds, or NotFound. Several are a Multiple.
	One(ctx context.Context, q Query) (*Object, error)
	// First returns the object of the smallest id that a query finds, or NotFound.
	First(ctx context.Context, q Query) (*Object, error)
	// List returns the objects that a query finds, sorted by id. A record that cannot be read is left out.
	List(ctx context.Context, q Query) ([]*Object, error)
}

// Keys returns the wanted keys of the index, with Any, each once. Without an index they are nil, which means everything.
// An example may go through references, which at follows.
func (q Query) Keys(at Lookup) (Index, [][]any, error) {
	if q.Index == "" {
		return Index{}, nil, nil
	}
	x, err := q.Model.Index(q.Index)
	switch {
	case err != nil:
		return x, nil, err
	case q.Like != nil:
		keys, err := q.Like.Wanted(x, at)
		return x, append([][]any{}, keys...), err
	}
	key := make([]any, len(x.Paths))
	for i, path := range x.Paths {
		key[i] = Any
		if v, ok := q.Where[path]; ok && v != nil {
			key[i] = v
		}
	}
	for path := range q.Where {
		if !slices.Contains(x.Paths, path) {
			return x, nil, q.Model.fault(UnknownField, "", path, "the index %s has the paths %s, and not %s", x.Name, strings.Join(x.Paths, ", "), path)
		}
	}
	return x, [][]any{key}, nil
}

// Matches reports whether a key of an object is wanted.
func Matches(wanted, key []any) bool {
	for i, w := range wanted {
		if w != Any && w != key[i] {
			return false
		}
	}
	return true
}

// InTopics reports whether the query wants objects of a topic.
func (q Query) InTopics(topic string) bool {
	return q.Topics == nil || slices.Contains(q.Topics, topic)
}

// Want reads the text of a value at a path, as Where needs it: the text of a number is the number. The path may go
// through references that the registry knows.
func (r *Registry) Want(m *Model, path, text string) (any, error) {
	at, err := r.typeAt(m, path)
	if err != nil {
		return nil, err
	}
	if at.Kind == schema.KindString {
		return address(at, text), nil
	}
	if at.Kind == schema.KindBool && (text == "true" || text == "false") {
		return text == "true", nil
	}
	v, found := schema.Value(at, numbers(at, &schema.Node{Kind: schema.NodeString, Text: text}))
	if found.Err() != nil {
		return nil, m.fault(BadValue, "", path, "%s", strings.Replace(found[0].Message, "the value", path, 1))
	}
	return v, nil
}

// typeAt returns the type of the values at a path.
func (r *Registry) typeAt(m *Model, path string) (*schema.Type, error) {
	owner, steps := m, strings.Split(path, ".")
	var t *schema.Type
	for i, step := range steps {
		var f *Field
		switch {
		case owner != nil:
			f = owner.byKey[step]
		case t != nil:
			if inner := t.Field(step); inner != nil {
				f = &Field{Key: step, Type: inner.Type}
			}
		}
		if f == nil {
			return nil, m.fault(UnknownField, "", path, "%s has no field %s", m.Label(), strings.Join(steps[:i+1], "."))
		}
		t, owner = innermost(f.Type), f.Nested
		if target := f.Target; target != "" {
			owner, _ = r.Model(target)
		} else if t.Kind == schema.KindRef && t.Target != "" {
			owner, _ = r.Model(t.Target)
		}
	}
	return t, nil
}
