package schema

import (
	"reflect"
	"slices"
)

// linked returns the struct whose fields t has: t, or the one around it. A link is
// never to another link.
func (t *Type) linked() *Type {
	if t.Link != nil {
		return t.Link
	}
	return t
}

// Resolved returns t, or where t stands for a struct around it, a type with the fields of that
// struct. The Go side of a resolved type may be another one than that of t.
func (t *Type) Resolved() *Type {
	if t == nil || t.Link == nil {
		return t
	}
	c := *t.Link
	c.Optional = t.Optional
	return &c
}

// Some reports whether a type, or one inside of it, is such. On each way down a struct
// is entered by a link once, so a type that contains itself ends. It may be called on a
// nil Type.
func (t *Type) Some(such func(*Type) bool) bool {
	return walk{such: such}.some(t)
}

// HoldsSecret reports whether a value of the type has a secret in it. The answer is
// about the type: a value of it may still be empty.
func (t *Type) HoldsSecret() bool { return t.Some(func(t *Type) bool { return t.Secret }) }

// walk goes through the parts of a type.
type walk struct {
	such func(*Type) bool
	open []*Type // the structs that were entered by a link
}

// some goes into a struct once for each way that leads to it by a link.
func (w walk) some(t *Type) bool {
	if t == nil {
		return false
	}
	if t.Link != nil {
		if slices.Contains(w.open, t.Link) {
			return false
		}
		// The list is cut to its length, so that a sibling does not write into it.
		w.open = append(w.open[:len(w.open):len(w.open)], t.Link)
		t = t.Link
	}
	if w.such(t) || w.some(t.Elem) {
		return true
	}
	for _, f := range t.Fields {
		if w.some(f.Type) {
			return true
		}
	}
	return false
}

// dataType is the Go side of a struct inside of itself that Build has made: Go makes no such
// struct types at run time. A Data without a value stands for the zero struct.
var dataType = reflect.TypeFor[Data]()

// boxed reports whether rv is a Data that has the value of t.
func (t *Type) boxed(rv reflect.Value) bool { return t.Link != nil && rv.Type() == dataType }

// inside returns the struct whose fields t has, and the Go side of it. It is not settable where
// it is in a Data.
func (t *Type) inside(rv reflect.Value) (*Type, reflect.Value) {
	if !rv.IsValid() || !t.boxed(rv) {
		return t.linked(), rv
	}
	d := rv.Interface().(Data)
	if d.Value == nil {
		return t.Link, reflect.Zero(t.Link.Go)
	}
	return t.Link, reflect.ValueOf(d.Value).Elem()
}

// unbox returns a copy of the struct in a Data, which is settable, and a func that puts
// it into rv. The earlier values of the Data are not written to. The caller calls box
// only after all below has succeeded.
func (t *Type) unbox(rv reflect.Value) (fresh reflect.Value, box func()) {
	p := reflect.New(t.Link.Go)
	_, old := t.inside(rv)
	p.Elem().Set(old)
	return p.Elem(), func() { rv.Set(reflect.ValueOf(Data{Type: t.Link, Value: p.Interface()})) }
}
