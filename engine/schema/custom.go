package schema

import (
	"fmt"
	"reflect"
	"slices"
)

// customDecoder is what a type has that decodes itself, in the form that users of
// go-yaml know.
type customDecoder interface {
	UnmarshalYAML(unmarshal func(any) error) error
}

// readsItself returns what v points to where v is a Typed that has an
// UnmarshalYAML of its own, beside that which its Go side may have.
func readsItself(v any) (reflect.Value, bool) {
	_, typed := v.(Typed)
	_, custom := v.(customDecoder)
	rv := reflect.ValueOf(v)
	return reflect.Indirect(rv), typed && custom && rv.Kind() == reflect.Pointer
}

// callCustom lets rv decode itself.
func (d *decoder) callCustom(n *Node, rv reflect.Value) {
	path, rt := slices.Clone(d.path), rv.Type()
	var last Diagnostics
	unmarshal := func(into any) error {
		inner := decoder{path: path}
		inner.decode(n, into, rt)
		last = inner.diags
		return last.Err()
	}
	err := callUnmarshal(rv.Addr().Interface().(customDecoder), unmarshal)
	if err == nil {
		for _, w := range last {
			if w.Severity == Warning {
				d.diags = append(d.diags, w)
			}
		}
		return
	}
	d.flatten(n, err)
}

func callUnmarshal(c customDecoder, unmarshal func(any) error) (err error) {
	defer recovered(&err, "UnmarshalYAML")
	return c.UnmarshalYAML(unmarshal)
}

// flatten reports the findings inside of err, and other errors as findings at n.
func (d *decoder) flatten(n *Node, err error) {
	switch e := err.(type) {
	case Diagnostics:
		d.diags = append(d.diags, e...)
		return
	case interface{ Unwrap() []error }:
		for _, sub := range e.Unwrap() {
			d.flatten(n, sub)
		}
		return
	case interface{ Unwrap() error }:
		if inner, ok := e.Unwrap().(Diagnostics); ok {
			d.diags = append(d.diags, inner...)
			return
		}
	}
	message := err.Error()
	if len(d.path) > 0 {
		message = fmt.Sprintf("%s: %s", d.name(), message)
	}
	d.add(Error, n.Pos, "", message)
}
