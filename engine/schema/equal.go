package schema

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"slices"
)

// Equal reports whether two values say the same: plain values, or Go values that Encode
// takes. Numbers are compared by value whatever their Go type, a Secret and a string by
// content, modes in canonical form. A nil list or map equals an empty one of its type,
// but nil itself equals nothing else. NaN equals NaN. A value that cannot be encoded
// equals nothing. It encodes both values, so it costs their size. Secrets are compared
// in constant time.
func Equal(a, b any) bool {
	pa, err := plain(a, true, 0)
	if err != nil {
		return false
	}
	pb, err := plain(b, true, 0)
	return err == nil && equalPlain(pa, pb)
}

// equalPlain compares plain values. A type that is not listed is compared by Go's ==,
// which none of the plain types makes panic.
func equalPlain(a, b any) bool {
	switch a := a.(type) {
	case int64, uint64, float64:
		return equalNumber(a, b)
	case Secret:
		return equalSecret(a, b)
	case string:
		if s, ok := b.(Secret); ok {
			return s.Equal(NewSecret(a))
		}
	case Mode:
		b, ok := b.(Mode)
		return ok && a.same(b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalPlain)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalPlain)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// equalSecret compares a secret with text too: a value that passed a plain field is
// still the same.
func equalSecret(a Secret, b any) bool {
	switch b := b.(type) {
	case Secret:
		return a.Equal(b)
	case string:
		return a.Equal(NewSecret(b))
	}
	return false
}

// equalNumber compares numbers of several Go types by their value.
func equalNumber(a, b any) bool {
	if a == b {
		return true
	}
	af, aok := a.(float64)
	bf, bok := b.(float64)
	switch {
	case aok && bok:
		return math.IsNaN(af) && math.IsNaN(bf)
	case aok:
		return equalFloat(af, b)
	case bok:
		return equalFloat(bf, a)
	}
	return false // an int64 and a uint64, whose ranges do not meet
}

// equalFloat compares a float with a whole number without rounding. A conversion of the
// whole number to a float would make neighbours equal from 1<<53 on.
func equalFloat(f float64, whole any) bool {
	switch n := whole.(type) {
	case int64:
		return f >= -1<<63 && f < 1<<63 && f == math.Trunc(f) && int64(f) == n
	case uint64:
		return f >= 0 && f < 1<<64 && f == math.Trunc(f) && uint64(f) == n
	}
	return false
}

// Clone returns a deep copy of a plain value. Other lists and maps are copied too;
// everything else is returned as it is. A Secret is shared, since nothing can alter its
// text.
func Clone(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, Secret:
		return v
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = Clone(v[i])
		}
		return out
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = Clone(item)
		}
		return out
	}
	return cloneOther(reflect.ValueOf(v)).Interface()
}

// cloneOther copies lists and maps of any Go type. The target of a pointer is shared.
func cloneOther(rv reflect.Value) reflect.Value {
	switch rv.Kind() {
	case reflect.Slice:
		if rv.IsNil() {
			return rv
		}
		out := reflect.MakeSlice(rv.Type(), rv.Len(), rv.Len())
		for i := range rv.Len() {
			out.Index(i).Set(cloneOther(rv.Index(i)))
		}
		return out
	case reflect.Map:
		if rv.IsNil() {
			return rv
		}
		out := reflect.MakeMapWithSize(rv.Type(), rv.Len())
		for it := rv.MapRange(); it.Next(); {
			out.SetMapIndex(it.Key(), cloneOther(it.Value()))
		}
		return out
	case reflect.Interface:
		if rv.IsNil() {
			return rv
		}
		out := reflect.New(rv.Type()).Elem()
		out.Set(cloneOther(rv.Elem()))
		return out
	}
	return rv
}

// same compares two Go values of type t without encoding them. Lists and maps are
// compared by content, nil as empty; an optional nil equals nil only. It allocates
// nothing for most types.
func same(t *Type, a, b reflect.Value) bool {
	if t.Optional {
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		// One target is equal to itself without a look.
		if a.Pointer() == b.Pointer() {
			return true
		}
		a, b = a.Elem(), b.Elem()
	}
	switch t.Kind {
	case KindBool:
		return a.Bool() == b.Bool()
	case KindInt, KindDuration, KindSize:
		if t.Unsigned {
			return a.Uint() == b.Uint()
		}
		return a.Int() == b.Int()
	case KindFloat:
		return a.Float() == b.Float() || math.IsNaN(a.Float()) && math.IsNaN(b.Float())
	case KindString:
		return sameText(t, a, b)
	case KindMode:
		return Mode(a.String()).same(Mode(b.String()))
	case KindRef:
		return a.Equal(b)
	case KindList:
		return sameList(t.Elem, a, b)
	case KindMap:
		return sameMap(t.Elem, a, b)
	case KindStruct:
		return sameStruct(t, a, b)
	}
	return Equal(a.Interface(), b.Interface())
}

// sameStruct compares field by field, through a Data where the struct is inside of
// itself.
func sameStruct(t *Type, a, b reflect.Value) bool {
	_, a = t.inside(a)
	t, b = t.inside(b)
	for _, f := range t.Fields {
		if !same(f.Type, fieldOf(a, f), fieldOf(b, f)) {
			return false
		}
	}
	return true
}

// sameText compares text by its notation, and a secret in constant time. A value whose
// MarshalText fails equals nothing.
func sameText(t *Type, a, b reflect.Value) bool {
	switch {
	case t.Secret:
		return a.Interface().(Secret).Equal(b.Interface().(Secret))
	case t.conv == convBytes:
		return bytes.Equal(a.Bytes(), b.Bytes())
	case t.conv == convText:
		x, err := marshalText(a)
		y, err2 := marshalText(b)
		return err == nil && err2 == nil && bytes.Equal(x, y)
	}
	return a.String() == b.String()
}

// sameList compares element by element, in order.
func sameList(elem *Type, a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !same(elem, a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

// sameMap asks for each key of a in b; as the lengths are equal, b has no other.
func sameMap(elem *Type, a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for it := a.MapRange(); it.Next(); {
		other := b.MapIndex(it.Key())
		if !other.IsValid() || !same(elem, it.Value(), other) {
			return false
		}
	}
	return true
}
