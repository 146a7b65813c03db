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

// readsItself returns the target of v where v is a Typed with an UnmarshalYAML of its
// own. A method of its Go side does not count here. A Typed inside of a struct does not
// count, as Typed says.
func readsItself(v any) (reflect.Value, bool) {
	_, typed := v.(Typed)
	_, custom := v.(customDecoder)
	rv := reflect.ValueOf(v)
	return reflect.Indirect(rv), typed && custom && rv.Kind() == reflect.Pointer
}

// callCustom lets rv decode itself. The findings of the inner Decode carry the path of
// the outer one. An error that the method makes of them, or returns as it got it, is
// taken apart again by flatten.
func (d *decoder) callCustom(n *Node, rv reflect.Value) {
	path, rt := slices.Clone(d.path), rv.Type()
	var last Diagnostics
	unmarshal := func(into any) error {
		// The type whose method runs is passed along, so that decoding into it again
		// does not call the method for ever.
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

// callUnmarshal calls code of a kind. Its panic is an error of the value.
func callUnmarshal(c customDecoder, unmarshal func(any) error) (err error) {
	defer recovered(&err, "UnmarshalYAML")
	return c.UnmarshalYAML(unmarshal)
}

// flatten reports the findings inside of err, and other errors as findings at n.
// Positions and paths of inner findings are kept. Any other error stands at the value
// as a whole.
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
