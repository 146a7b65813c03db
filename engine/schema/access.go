package schema

import (
	"fmt"
	"reflect"
)

// Get returns the value at a path of a Go value, usually a pointer to a struct, as
// EncodeAll gives it. It shares nothing with v. A step into a map entry, a list element
// or an optional value that is not there is an error. A field may be named by its key
// or by its name in Go. The cost is that of the path and of the value at its end, not
// of the whole struct.
func Get(v any, path string) (any, error) {
	segs, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	t, rv, err := Side(v)
	switch {
	case v == nil || err == nil && !rv.IsValid():
		return nil, fmt.Errorf("%s: there is no value to look into", path)
	case err != nil:
		return nil, err
	}
	for i, s := range segs {
		if t, rv, err = follow(t, rv, s); err != nil {
			return nil, fmt.Errorf("%s%w", pathPrefix(segs[:i]), err)
		}
	}
	out, err := (encoder{all: true}).value(t, rv, 1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// follow goes one step down a Go value.
func follow(t *Type, rv reflect.Value, s seg) (*Type, reflect.Value, error) {
	if t.Optional && rv.Kind() == reflect.Pointer {
		rv = rv.Elem()
	}
	if t.Kind == KindAny {
		return followAny(rv, s)
	}
	next, f, err := t.step(s)
	switch {
	case err != nil:
		return nil, rv, err
	case !rv.IsValid():
		return nil, rv, fmt.Errorf("it is not set")
	// A struct inside of itself has its value in a Data; see inside.
	case f != nil:
		_, rv = t.inside(rv)
		return next, fieldOf(rv, f), nil
	case s.list && s.index < rv.Len():
		return next, rv.Index(s.index), nil
	case s.list:
		return nil, rv, fmt.Errorf("there is no element %d, the list has %d", s.index, rv.Len())
	}
	entry := rv.MapIndex(reflect.ValueOf(s.key).Convert(rv.Type().Key()))
	if !entry.IsValid() {
		return nil, rv, fmt.Errorf("there is no key %q", s.key)
	}
	return next, entry, nil
}

// followAny goes one step into a value of any type. The type below a KindAny is that of
// the value which is there now.
func followAny(rv reflect.Value, s seg) (*Type, reflect.Value, error) {
	rv = deref(rv)
	if !rv.IsValid() {
		return nil, rv, fmt.Errorf("it is not set")
	}
	t, rv, err := Side(rv.Interface())
	if err != nil {
		return nil, rv, err
	}
	return follow(t, rv, s)
}

// Set puts value, a plain value or anything that EncodeAll takes, at a path of the
// struct that v points to. Lists, maps and pointers on the way are copied, so no other
// holder of them sees it. v gets no part of value itself. A map that is nil is made,
// and a list is never made longer.
//
// The value must be of the kind of the place. But text is taken for a kind with a
// notation in text, and Secret and string for each other. Enumerations and bounds hold,
// and a number that does not fit exactly is an error. After an error v is as it was. A
// list or a map on the way is copied once for each level.
func Set(v any, path string, value any) error {
	return set(v, path, func() (*Node, error) { return NodeOf(value) })
}

// SetWritten is Set for a plain value that is read as a value of a file: a number may be text where text is wanted.
func SetWritten(v any, path string, value any) error {
	return set(v, path, func() (*Node, error) {
		n, err := NodeOf(value)
		if err == nil {
			n.untype()
		}
		return n, err
	})
}

// untype has a tree read as one of a file, with its texts in quotes. The tree must be
// the caller's own, as it is altered in place.
func (n *Node) untype() {
	for at := range n.All() {
		at.typed, at.Quoted = false, at.Kind == NodeString
	}
}

// set sets the place of a path to the value of a node.
func set(v any, path string, node func() (*Node, error)) error {
	segs, err := parsePath(path)
	if err != nil {
		return err
	}
	t, rv, err := Side(v)
	switch {
	case v == nil || err == nil && !rv.CanSet():
		return fmt.Errorf("%s: cannot be set in %T, which is no pointer or nil", path, v)
	case err != nil:
		return err
	}
	n, err := node()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s := setter{path: segs, node: n}
	return s.set(t, rv, 0)
}

// setter carries the values that do not change on the way down.
type setter struct {
	path []seg
	node *Node
}

// set puts the value below rv, which is settable, at path[depth:].
func (s setter) set(t *Type, rv reflect.Value, depth int) error {
	if depth == len(s.path) {
		return s.assign(t, rv)
	}
	// The target is copied, and rv points to the copy only when all below has
	// succeeded.
	if t.Optional && rv.Kind() == reflect.Pointer {
		fresh := reflect.New(rv.Type().Elem())
		if !rv.IsNil() {
			fresh.Elem().Set(rv.Elem())
		}
		bare := *t
		bare.Optional = false
		if err := s.set(&bare, fresh.Elem(), depth); err != nil {
			return err
		}
		rv.Set(fresh)
		return nil
	}
	if t.boxed(rv) {
		fresh, box := t.unbox(rv)
		err := s.set(t.Link, fresh, depth)
		if err == nil {
			box()
		}
		return err
	}
	step := s.path[depth]
	next, f, err := t.step(step)
	switch {
	case err != nil:
		return fmt.Errorf("%s%w", pathPrefix(s.path[:depth]), err)
	case t.Kind == KindAny:
		return s.setAny(rv, depth)
	case f != nil:
		return s.set(next, fieldOf(rv, f), depth+1)
	case step.list:
		return s.setElement(next, rv, depth)
	}
	return s.setEntry(next, rv, depth)
}

// setElement puts the value into a copy of a list, and assigns the copy after a
// success.
func (s setter) setElement(elem *Type, rv reflect.Value, depth int) error {
	i := s.path[depth].index
	if i >= rv.Len() {
		return fmt.Errorf("%sthere is no element %d, the list has %d", pathPrefix(s.path[:depth]), i, rv.Len())
	}
	fresh := reflect.MakeSlice(rv.Type(), rv.Len(), rv.Len())
	reflect.Copy(fresh, rv)
	if err := s.set(elem, fresh.Index(i), depth+1); err != nil {
		return err
	}
	rv.Set(fresh)
	return nil
}

// setEntry is setElement for a map. A key that is not there begins with the zero value,
// so a path may go through it.
func (s setter) setEntry(elem *Type, rv reflect.Value, depth int) error {
	rt := rv.Type()
	key := reflect.ValueOf(s.path[depth].key).Convert(rt.Key())
	entry := reflect.New(rt.Elem()).Elem()
	if old := rv.MapIndex(key); old.IsValid() {
		entry.Set(old)
	}
	if err := s.set(elem, entry, depth+1); err != nil {
		return err
	}
	fresh := reflect.MakeMapWithSize(rt, rv.Len()+1)
	for it := rv.MapRange(); it.Next(); {
		fresh.SetMapIndex(it.Key(), it.Value())
	}
	fresh.SetMapIndex(key, entry)
	rv.Set(fresh)
	return nil
}

// setAny puts the value below a field of type any, which then holds plain lists
// and maps.
func (s setter) setAny(rv reflect.Value, depth int) error {
	step := s.path[depth]
	switch old := rv.Interface().(type) {
	// A value of nothing becomes a map for a key. A list is never made, since its
	// length would be a guess.
	case nil:
		if step.list {
			return fmt.Errorf("%sthere is no element %d", pathPrefix(s.path[:depth]), step.index)
		}
		return s.setAnyMap(rv, nil, depth)
	case map[string]any:
		if !step.list {
			return s.setAnyMap(rv, old, depth)
		}
	case []any:
		if step.list {
			list := reflect.New(reflect.TypeFor[[]any]()).Elem()
			list.Set(reflect.ValueOf(old))
			if err := s.setElement(anyType, list, depth); err != nil {
				return err
			}
			rv.Set(list)
			return nil
		}
	}
	return fmt.Errorf("%sit holds %s, which has no %s", pathPrefix(s.path[:depth]), holds(rv.Interface()), formatPath(s.path[depth:depth+1]))
}

// holds names the sort of a value for a message, without its content.
func holds(v any) string {
	t, err := OfType(reflect.TypeOf(v))
	if err != nil {
		return reflect.TypeOf(v).String()
	}
	return t.sort()
}

// setAnyMap relies on setEntry to copy old.
func (s setter) setAnyMap(rv reflect.Value, old map[string]any, depth int) error {
	fresh := reflect.New(reflect.TypeFor[map[string]any]()).Elem()
	fresh.Set(reflect.ValueOf(old))
	if err := s.setEntry(anyType, fresh, depth); err != nil {
		return err
	}
	rv.Set(fresh)
	return nil
}

// assign replaces rv by the value, or leaves it. The value is decoded as one of a graph
// is, so the same checks and words apply.
func (s setter) assign(t *Type, rv reflect.Value) error {
	if s.node.Kind == NodeNull && (t.Kind == KindList || t.Kind == KindMap) {
		rv.SetZero()
		return nil
	}
	fresh := reflect.New(rv.Type()).Elem()
	d := decoder{path: s.path}
	d.value(t, s.node, fresh)
	if err := d.diags.Err(); err != nil {
		return err
	}
	rv.Set(fresh)
	return nil
}

// Save remembers the top-level field that a path begins with, as it is now. It returns
// a func that puts it back, whatever Set did at the path since. Unlike Set, it also
// brings back nil, a value out of bounds, and a map without the entry. Its memory is
// safe from Set, which never writes through a list, a map or a pointer.
func Save(v any, path string) (restore func(), err error) {
	segs, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	t, rv, err := Side(v)
	switch {
	case v == nil || err == nil && (t.Kind != KindStruct || !rv.CanSet()):
		return nil, fmt.Errorf("%s: %T is no pointer to a struct", path, v)
	case err != nil:
		return nil, err
	}
	_, f, err := t.step(segs[0])
	if err != nil {
		return nil, err
	}
	place := fieldOf(rv, f)
	// Only the field itself is copied. Set never writes to the target of a pointer.
	old := reflect.New(place.Type()).Elem()
	old.Set(place)
	return func() { place.Set(old) }, nil
}
