package schema

import (
	"fmt"
	"reflect"
)

// Typed is a value whose parameters are described by data and not by its own Go type.
// All functions here that take a Go value take a Typed too: Of, Decode, Encode and its
// variants, NodeOf, Equal, Diff, Get, Set and Save. They read and write the target of
// Params. A Typed inside of a struct does not count: it is read by its Go type.
type Typed interface {
	// Params returns the type, which Build or OfType made, and a pointer, never nil,
	// to a value of the type's Go side. Each call on one value gives the same. It is called often:
	// it should do nothing but return them.
	Params() (t *Type, v any)
}

// Data is the plainest Typed: a type, and a pointer to a value of its Go side. It may
// be embedded, and given to Init.Send. A copy of it is the same value. Its owner is the
// owner of Value: nothing here locks it.
type Data struct {
	Type  *Type
	Value any
}

// Params returns the two fields.
func (d Data) Params() (*Type, any) { return d.Type, d.Value }

// New returns a new value of the Go side of t, which Build or OfType made, with the
// defaults of its fields. A default that the type itself refuses is left out. Each
// value has its own lists, maps and pointers.
func (t *Type) New() Data {
	p := reflect.New(t.Go)
	for _, f := range t.Fields {
		if !f.HasDefault {
			continue
		}
		if n, err := NodeOf(f.Default); err == nil {
			_ = setter{path: []seg{{key: f.Key}}, node: n}.assign(f.Type, fieldOf(p.Elem(), f))
		}
	}
	return Data{Type: t, Value: p.Interface()}
}

// TypeOf returns the type of a value: for a Typed the type of Params, else OfType
// of its Go type.
func TypeOf(v any) (*Type, error) {
	t, _, err := Side(v)
	return t, err
}

// Side returns the type of v and its Go side, which is v without its pointers, or
// the target of Params. It is settable where v is a pointer or a Typed, and invalid
// where v is a nil pointer. All functions here find the Go side of a value by it.
func Side(v any) (*Type, reflect.Value, error) {
	if typed, ok := typedOf(v); ok {
		return typedSide(typed)
	}
	t, err := OfType(reflect.TypeOf(v))
	if err != nil {
		return nil, reflect.Value{}, err
	}
	return t, pointee(v), nil
}

// pointee returns v without its pointers.
func pointee(v any) reflect.Value {
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer {
		rv = rv.Elem()
	}
	return rv
}

// sideOf is Side where the type is known; invalid where v has none.
func sideOf(v any) reflect.Value {
	if typed, ok := typedOf(v); ok {
		_, rv, _ := typedSide(typed)
		return rv
	}
	return pointee(v)
}

// typedOf returns v as a Typed, unless it is none or a nil pointer.
func typedOf(v any) (Typed, bool) {
	typed, ok := v.(Typed)
	if !ok {
		return nil, false
	}
	rv := reflect.ValueOf(v)
	return typed, rv.Kind() != reflect.Pointer || !rv.IsNil()
}

// typedSide checks the answer of Params, since code of another package gives it.
func typedSide(v Typed) (*Type, reflect.Value, error) {
	t, p := v.Params()
	rv := reflect.ValueOf(p)
	switch {
	case t == nil || t.Kind != KindStruct || t.Go == nil:
		return nil, reflect.Value{}, fmt.Errorf("the type of a %T was made neither by Build nor by OfType", v)
	case rv.Kind() != reflect.Pointer || rv.IsNil() || rv.Type().Elem() != t.Go:
		return nil, reflect.Value{}, fmt.Errorf("the parameters of a %T must be a pointer, not nil, to what its type %s has as Go side, and not a %T", v, t.Name, p)
	}
	if _, named := v.(interface{ SetName(string) }); named && t.reserved != nil {
		return nil, reflect.Value{}, fmt.Errorf("%s: %w", t.Name, t.reserved)
	}
	return t, rv.Elem(), nil
}

// TypeKey is equal for two values if all facts of the type of one hold for the other.
// They are of one Go type and, where they are Typed, of one Type.
type TypeKey struct {
	Go   reflect.Type
	Data *Type
}

// KeyOf returns the key of v, which is not nil.
func KeyOf(v any) TypeKey {
	k := TypeKey{Go: reflect.TypeOf(v)}
	if typed, ok := typedOf(v); ok {
		k.Data, _ = typed.Params()
	}
	return k
}

// Snapshot returns what v holds now: a Data with a copy for a Typed, the struct itself
// for a pointer to one, and else v. Lists and maps are shared with v. It is one level
// deep and cheap: Set never writes through a list or a map.
func Snapshot(v any) any {
	if _, ok := typedOf(v); ok {
		if t, rv, err := Side(v); err == nil && rv.IsValid() {
			p := reflect.New(t.Go)
			p.Elem().Set(rv)
			return Data{Type: t, Value: p.Interface()}
		}
	}
	if rv := reflect.Indirect(reflect.ValueOf(v)); rv.IsValid() {
		return rv.Interface()
	}
	return v
}
