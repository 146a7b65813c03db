package schema

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// Encode returns a Go value, usually a pointer to a struct, as plain values. These are
// nil, bool, int64, uint64 (above the range of int64 only), float64, string, Secret,
// time.Duration, Size, Mode, Ref, []any and map[string]any. The result shares nothing
// with v.
//
// Keys that hold their zero value, an empty list or an empty map are left out, unless
// they are optional and set. Decoded into the zero value, the result gives v again.
// Where the defaults are others, use EncodeAll or EncodeChanged. The error is that of a
// type that cannot be described, of a MarshalText, or of a value deeper than 256
// levels.
func Encode(v any) (any, error) { return plain(v, false, 0) }

// EncodeAll is Encode with every key, except for optional ones that are not set.
func EncodeAll(v any) (any, error) { return plain(v, true, 0) }

// EncodeChanged returns the keys of v that differ from those of base. Base is a pointer
// to a struct of the same type, such as the defaults. Decoded into base, the result
// gives v again; only an optional key that is set in base and not in v is then null.
func EncodeChanged(v, base any) (map[string]any, error) {
	t, a, err := Side(v)
	if err != nil {
		return nil, err
	}
	_, b, err := Side(base)
	if err != nil {
		return nil, err
	}
	if t.Kind != KindStruct || !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return nil, fmt.Errorf("EncodeChanged needs two pointers to structs of one type, not %T and %T", v, base)
	}
	out := map[string]any{}
	for _, f := range t.Fields {
		av := a.FieldByIndex(f.Index)
		if same(f.Type, av, b.FieldByIndex(f.Index)) {
			continue
		}
		if out[f.Key], err = (encoder{all: true}).value(f.Type, av, 0); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Key, err)
		}
	}
	return out, nil
}

// deref goes through pointers and interfaces. A nil one gives the invalid Value.
func deref(rv reflect.Value) reflect.Value {
	for rv.Kind() == reflect.Pointer || rv.Kind() == reflect.Interface {
		rv = rv.Elem()
	}
	return rv
}

// errTooDeep also ends a ring of pointers.
var errTooDeep = errors.New("the value nests too deeply")

// plain turns any supported Go value into plain values that share nothing with it.
func plain(v any, all bool, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, Secret, time.Duration, Size, Mode, Ref:
		return v, nil
	case int:
		return int64(v), nil
	case []any:
		return plainList(v, all, depth)
	case map[string]any:
		return plainMap(v, all, depth)
	}
	t, rv, err := Side(v)
	if err != nil || !rv.IsValid() {
		return nil, err
	}
	// The outermost value is never left out: a zero value is asked for as such.
	out, err := encoder{all: all}.value(t, rv, depth)
	if out == nil && err == nil {
		out = t.empty()
	}
	return out, err
}

// plainList copies a list of plain values; the error names the element.
func plainList(v []any, all bool, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	out := make([]any, len(v))
	for i, item := range v {
		var err error
		if out[i], err = plain(item, all, depth+1); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return out, nil
}

// plainMap copies a map of plain values; the error names the key.
func plainMap(v map[string]any, all bool, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	out := make(map[string]any, len(v))
	for key, item := range v {
		var err error
		if out[key], err = plain(item, all, depth+1); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return out, nil
}

// empty returns the plain zero value of a type that is not optional.
func (t *Type) empty() any {
	switch t.Kind {
	case KindBool:
		return false
	case KindInt:
		return int64(0)
	case KindFloat:
		return float64(0)
	case KindString:
		if t.Secret {
			return Secret{}
		}
		return ""
	case KindDuration:
		return time.Duration(0)
	case KindSize:
		return Size(0)
	case KindMode:
		return Mode("")
	case KindRef:
		return Ref{}
	case KindList:
		return []any{}
	case KindMap, KindStruct:
		return map[string]any{}
	}
	return nil
}

// encoder turns the Go side of a type into plain values. Unless all is set, value
// returns nil for a zero value.
type encoder struct{ all bool }

// value encodes one value. It returns nil without an error for an absent one, which the
// caller leaves out.
func (e encoder) value(t *Type, rv reflect.Value, depth int) (any, error) {
	if t.Optional && rv.Kind() == reflect.Pointer {
		if rv.IsNil() {
			return nil, nil
		}
		v, err := encoder{all: e.all}.value(t, rv.Elem(), depth)
		// A set optional value is kept even where it is zero: that is what sets it
		// apart from nil.
		if v == nil && err == nil {
			v = t.empty()
		}
		return v, err
	}
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch t.Kind {
	case KindAny:
		if rv.IsNil() {
			return nil, nil
		}
		return plain(rv.Interface(), true, depth+1)
	case KindList:
		return e.list(t, rv, depth)
	case KindMap:
		return e.mapping(t, rv, depth)
	case KindStruct:
		return e.structure(t, rv, depth)
	case KindString:
		if t.conv == convText {
			return e.text(rv)
		}
	}
	if !e.all && rv.IsZero() {
		return nil, nil
	}
	return scalarOf(t, rv), nil
}

// scalarOf reads a scalar without a conversion of its own.
func scalarOf(t *Type, rv reflect.Value) any {
	switch t.Kind {
	case KindBool:
		return rv.Bool()
	case KindInt:
		if !t.Unsigned {
			return rv.Int()
		}
		// Whole numbers have one Go type where they fit, so that equal numbers are
		// equal values.
		if u := rv.Uint(); u > 1<<63-1 {
			return u
		}
		return int64(rv.Uint())
	case KindFloat:
		return rv.Float()
	case KindDuration:
		return time.Duration(rv.Int())
	case KindSize:
		return Size(rv.Int())
	case KindMode:
		return Mode(rv.String())
	case KindString:
		if t.conv == convBytes {
			return string(rv.Bytes())
		}
		if !t.Secret {
			return rv.String()
		}
	}
	return rv.Interface() // Secret, Ref
}

// text encodes a value that writes itself. Its IsZero is that of Go: all fields are
// zero.
func (e encoder) text(rv reflect.Value) (any, error) {
	if !e.all && rv.IsZero() {
		return nil, nil
	}
	b, err := marshalText(rv)
	return string(b), err
}

// marshalText calls MarshalText on the value or on a pointer to a copy of it.
func marshalText(rv reflect.Value) ([]byte, error) {
	if m, ok := rv.Interface().(encoding.TextMarshaler); ok {
		return m.MarshalText()
	}
	p := reflect.New(rv.Type()) // the method is on the pointer, and rv may not be addressable
	p.Elem().Set(rv)
	return p.Interface().(encoding.TextMarshaler).MarshalText()
}

// list encodes all elements, zero ones too: an element that is left out would move the
// others.
func (e encoder) list(t *Type, rv reflect.Value, depth int) (any, error) {
	if !e.all && rv.Len() == 0 {
		return nil, nil
	}
	out := make([]any, rv.Len())
	for i := range out {
		var err error
		if out[i], err = (encoder{all: true}).value(t.Elem, rv.Index(i), depth+1); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return out, nil
}

// mapping encodes all entries, zero ones too, since a key says something by itself.
func (e encoder) mapping(t *Type, rv reflect.Value, depth int) (any, error) {
	if !e.all && rv.Len() == 0 {
		return nil, nil
	}
	out := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		v, err := encoder{all: true}.value(t.Elem, it.Value(), depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", it.Key(), err)
		}
		out[it.Key().String()] = v
	}
	return out, nil
}

// structure encodes the fields that are to be seen. An empty struct inside of another
// one is left out, and the outermost never.
func (e encoder) structure(t *Type, rv reflect.Value, depth int) (any, error) {
	t, rv = t.inside(rv)
	out := make(map[string]any, len(t.Fields))
	for _, f := range t.Fields {
		v, err := e.value(f.Type, rv.FieldByIndex(f.Index), depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Key, err)
		}
		if v != nil {
			out[f.Key] = v
		}
	}
	if len(out) == 0 && !e.all && depth > 0 {
		return nil, nil
	}
	return out, nil
}
