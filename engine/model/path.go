package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Missing stands in an index for a value that is not there. No value that is given finds it; "any" does.
type missing struct{}

// Missing is what Keys has for an absent value.
var Missing any = missing{}

// MaxKeys bounds how many keys one object may have in one index.
const MaxKeys = 10_000

// Lookup returns the object that a reference names, or nil. Keys calls it for each reference that a path goes through.
type Lookup func(target, id string) *Object

// At returns the values at a path, each once, in no order: the path goes through lists, sets, and the values of
// maps. An absent value is Missing. Values are plain, and comparable with ==.
func (o *Object) At(path string, at Lookup) []any {
	w := walker{at: at}
	w.object(o, strings.Split(path, "."))
	return w.found
}

// Keys returns the keys of an object in an index: the product of the values at its paths. More than MaxKeys of them
// are an Error.
func (o *Object) Keys(x Index, at Lookup) ([][]any, error) {
	return o.product(x, &walker{at: at})
}

// Wanted returns the keys that a query by example asks for, with Any in the place of each value that o has not set. A
// reference stands for the value at its target; where the target is absent, nothing has that value.
func (o *Object) Wanted(x Index, at Lookup) ([][]any, error) {
	keys, err := o.product(x, &walker{at: at, query: true})
	for _, key := range keys {
		for i, v := range key {
			if v == Missing {
				key[i] = Any
			}
		}
	}
	return slices.DeleteFunc(keys, func(key []any) bool { return slices.Contains(key, unresolved) }), err
}

// unresolved stands in a wanted key for a value at an absent target.
var unresolved any = unresolvedValue{}

type unresolvedValue struct{}

// product returns the keys of an object in an index: each combination of the values at its paths, in the order of the paths. An error
// stands for more than MaxKeys keys, so an object with long lists costs no more than that.
func (o *Object) product(x Index, w *walker) ([][]any, error) {
	keys := [][]any{nil}
	for _, path := range x.Paths {
		w.found = nil
		w.object(o, strings.Split(path, "."))
		if len(keys)*len(w.found) > MaxKeys {
			return nil, o.model.fault(Validation, o.id, path, "the object has more than %d keys in the index %s", MaxKeys, x.Name)
		}
		if len(w.found) == 1 {
			for i := range keys {
				keys[i] = append(keys[i], w.found[0])
			}
			continue
		}
		next := make([][]any, 0, len(keys)*len(w.found))
		for _, key := range keys {
			for _, v := range w.found {
				next = append(next, append(append(make([]any, 0, len(x.Paths)), key...), v))
			}
		}
		keys = next
	}
	return keys, nil
}

// walker collects the values at a path.
type walker struct {
	at    Lookup
	query bool // of an example: defaults do not count, and an absent target is unresolved
	found []any
}

// object walks on at the fields of o.
func (w *walker) object(o *Object, steps []string) {
	if o == nil && w.query {
		w.add(unresolved)
		return
	}
	if o == nil {
		w.add(Missing)
		return
	}
	w.field(o.model, o.fields, steps)
}

// field walks on at one field. A stored object counts with its defaults, and an example only with the fields that it sets.
func (w *walker) field(m *Model, fields map[string]any, steps []string) {
	f := m.byKey[steps[0]]
	if f == nil {
		w.add(Missing)
		return
	}
	v := fields[f.Key]
	if v == nil && !w.query {
		v = f.Default
	}
	w.value(f, f.Type, v, steps[1:])
}

// value walks on at a value: into each element of a list, and over a reference to its target. Missing stands
// for an empty list.
func (w *walker) value(f *Field, t *schema.Type, v any, rest []string) {
	switch x := v.(type) {
	case nil:
		w.add(Missing)
	case []any:
		if len(x) == 0 {
			w.add(Missing)
		}
		for _, item := range x {
			w.value(f, elem(t), item, rest)
		}
	case map[string]any:
		w.mapping(f, t, x, rest)
	case schema.Ref:
		w.follow(x.Kind, x.Name, v, rest)
	case string:
		if f.Target != "" {
			w.follow(f.Target, x, v, rest)
			return
		}
		w.scalar(v, rest)
	default:
		w.scalar(v, rest)
	}
}

// scalar ends a path; a path that goes on has no value.
func (w *walker) scalar(v any, rest []string) {
	if len(rest) > 0 {
		v = Missing
	}
	w.add(v)
}

// mapping walks on in a map, whose values all count, or in a struct.
func (w *walker) mapping(f *Field, t *schema.Type, x map[string]any, rest []string) {
	switch {
	case t.Kind != schema.KindStruct && len(x) == 0, t.Kind == schema.KindStruct && len(rest) == 0:
		w.add(Missing)
	case t.Kind != schema.KindStruct:
		for _, item := range x {
			w.value(f, elem(t), item, rest)
		}
	case f.Nested != nil:
		w.field(f.Nested, x, rest)
	default:
		inner := t.Field(rest[0])
		if inner == nil {
			w.add(Missing)
			return
		}
		w.value(&Field{Key: inner.Key}, inner.Type, x[inner.Key], rest[1:])
	}
}

// follow walks on behind a reference. Its id needs no look at the target.
func (w *walker) follow(target, id string, whole any, rest []string) {
	switch {
	case len(rest) == 0:
		w.add(whole)
	case len(rest) == 1 && rest[0] == "id":
		w.add(id)
	default:
		w.object(w.at(target, id), rest)
	}
}

// add adds a value once.
func (w *walker) add(v any) {
	if slices.Contains(w.found, v) {
		return
	}
	w.found = append(w.found, v)
}

// Compare orders plain values: first by type, then by value. Missing comes first. Lists are compared by their elements, and maps by
// their sorted keys with the values. It is 0 for the same values alone.
func Compare(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case string:
		return cmp.Compare(a, b.(string))
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case bool:
		return cmp.Compare(truth(a), truth(b.(bool)))
	case time.Duration:
		return cmp.Compare(a, b.(time.Duration))
	case schema.Size:
		return cmp.Compare(a, b.(schema.Size))
	case schema.Secret:
		return cmp.Compare(a.Reveal(), b.(schema.Secret).Reveal())
	case []any:
		return slices.CompareFunc(a, b.([]any), Compare)
	case map[string]any:
		return slices.CompareFunc(pairs(a), pairs(b.(map[string]any)), Compare)
	case missing:
		return 0
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pairs returns the keys and values of a map as one list, sorted by key.
func pairs(m map[string]any) []any {
	list := make([]any, 0, 2*len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, key, m[key])
	}
	return list
}

// rank orders values of different types, so that a list of objects is sorted the same way on every host.
func rank(v any) int {
	switch v.(type) {
	case missing:
		return 0
	case bool:
		return 1
	case int64:
		return 2
	case uint64:
		return 3
	case float64:
		return 4
	case time.Duration:
		return 5
	case schema.Size:
		return 6
	case string:
		return 7
	case schema.Secret:
		return 8
	case []any:
		return 9
	case map[string]any:
		return 10
	}
	return 11
}
