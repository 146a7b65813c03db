package enginetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// dump writes everything that is in a resource, unexported fields too, as text. Handles
// of the engine, functions and channels are left out. It is made to be compared, never
// to be shown: secrets are in it in clear.
func dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v), map[uintptr]bool{})
	return b.String()
}

// opaque are the types of values that a resource points to and cannot alter. They
// belong to the engine; a dump tells only whether they are nil.
var opaque = []reflect.Type{reflect.TypeFor[*engine.Init](), reflect.TypeFor[*schema.Type]()}

// opaqueNames are the names in packages that this one cannot import: the shared part of
// a virtual kind remembers choices.
var opaqueNames = []string{"*virtual.Kind"}

func isOpaque(t reflect.Type) bool {
	return slices.Contains(opaque, t) || slices.Contains(opaqueNames, t.String())
}

// dumpValue writes one value. seen has the pointers that were met, and is shared by the
// whole walk.
func dumpValue(b *strings.Builder, v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Invalid:
		b.WriteString("nil")
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprintf(b, "%s nil=%t", v.Type(), v.IsNil())
	case reflect.Pointer:
		dumpPointer(b, v, seen)
	case reflect.Interface:
		dumpValue(b, v.Elem(), seen)
	case reflect.Struct:
		b.WriteString(v.Type().String() + "{")
		for i := range v.NumField() {
			b.WriteString(v.Type().Field(i).Name + ":")
			dumpValue(b, v.Field(i), seen)
			b.WriteString(" ")
		}
		b.WriteString("}")
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(b, "%s(%d)[", v.Type(), v.Len())
		for i := range v.Len() {
			dumpValue(b, v.Index(i), seen)
			b.WriteString(" ")
		}
		b.WriteString("]")
	case reflect.Map:
		dumpMap(b, v, seen)
	default:
		fmt.Fprintf(b, "%#v", v)
	}
}

// dumpPointer writes a pointer once, so that rings end.
func dumpPointer(b *strings.Builder, v reflect.Value, seen map[uintptr]bool) {
	if v.IsNil() || isOpaque(v.Type()) || seen[v.Pointer()] {
		fmt.Fprintf(b, "%s nil=%t", v.Type(), v.IsNil())
		return
	}
	seen[v.Pointer()] = true
	b.WriteString("&")
	dumpValue(b, v.Elem(), seen)
}

// dumpMap goes through the keys in their order: the target of a pointer is shown where
// it is met first. Without an order two texts of one resource would differ.
func dumpMap(b *strings.Builder, v reflect.Value, seen map[uintptr]bool) {
	values := map[string]reflect.Value{}
	for it := v.MapRange(); it.Next(); {
		values[dumpKey(it.Key())] = it.Value()
	}
	fmt.Fprintf(b, "%s nil=%t [", v.Type(), v.IsNil())
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(b, "%q:", key)
		dumpValue(b, values[key], seen)
		b.WriteString(" ")
	}
	b.WriteString("]")
}

// dumpKey writes a key by itself, so that its text does not depend on pointers that
// were met before.
func dumpKey(v reflect.Value) string {
	var b strings.Builder
	dumpValue(&b, v, map[uintptr]bool{})
	return b.String()
}

// mutate gives a field another value of its type, and reports whether it could. The
// target of a pointer is copied first, since another resource may share the old one.
func mutate(v reflect.Value, t *schema.Type) bool {
	if t.Optional && v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
			return true
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(v.Elem())
		v.Set(p)
		return mutate(v.Elem(), t)
	}
	switch s := v.Interface().(type) {
	case schema.Secret:
		v.Set(reflect.ValueOf(schema.NewSecret(s.Reveal() + "x")))
		return true
	case schema.Ref:
		s.Name += "x"
		s.Kind += "x"
		v.Set(reflect.ValueOf(s))
		return true
	}
	return mutateGo(v, t)
}

// mutateGo is mutate for a value that schema has no type of its own for.
func mutateGo(v reflect.Value, t *schema.Type) bool {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(otherText(v.String(), t))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(v.Float() + 1)
	// The last bit is flipped, so that no number leaves its range of bits.
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() ^ 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() ^ 1)
	case reflect.Slice:
		longer := reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1)
		reflect.Copy(longer, v)
		v.Set(longer)
	case reflect.Map:
		if t.Kind != schema.KindMap || t.Elem == nil {
			return false
		}
		// The map is copied, as the default of a kind may share it.
		bigger := reflect.MakeMap(v.Type())
		for it := v.MapRange(); it.Next(); {
			bigger.SetMapIndex(it.Key(), it.Value())
		}
		bigger.SetMapIndex(reflect.ValueOf(fmt.Sprintf("x%d", v.Len())).Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
		v.Set(bigger)
	case reflect.Struct:
		return mutateStruct(v, t)
	default:
		return false
	}
	return true
}

// mutateStruct alters the first field that it can. That is enough to make the whole
// differ.
func mutateStruct(v reflect.Value, t *schema.Type) bool {
	for _, f := range t.Fields {
		if field := v.FieldByIndex(f.Index); field.CanSet() && mutate(field, f.Type) {
			return true
		}
	}
	return false
}

// otherText returns another text of the type. An enumeration gets another of its words,
// since Validate or Cmp may know no others.
func otherText(s string, t *schema.Type) string {
	for _, e := range t.Enum {
		if e != s {
			return e
		}
	}
	if t.Kind == schema.KindMode {
		if s == "0600" {
			return "0644"
		}
		return "0600"
	}
	return s + "x"
}

// sameChanges returns an error if two runs reported different changes. A value that is
// Unknown beforehand may be anything later. The order counts: an apply makes its
// changes in the order of the plan.
func sameChanges(noop, apply []engine.Change) error {
	same := slices.EqualFunc(noop, apply, func(a, b engine.Change) bool {
		return a.Field == b.Field && a.Verb == b.Verb && sameValue(a.From, b.From) &&
			(a.To == any(engine.Unknown) || sameValue(a.To, b.To))
	})
	if !same {
		return fmt.Errorf("CheckApply(false) reported %v, CheckApply(true) then %v", noop, apply)
	}
	return nil
}

// sameValue compares values of a parameter; a secret only equals a secret. Values that
// schema knows are compared by meaning, so a mode written in two ways is equal.
func sameValue(a, b any) bool {
	if _, ok := a.(schema.Secret); ok {
		if _, ok := b.(schema.Secret); !ok {
			return false
		}
	}
	if ca, ok := a.(schema.Confined); ok {
		cb, ok := b.(schema.Confined)
		return ok && ca.Reveal() == cb.Reveal()
	}
	return reflect.DeepEqual(a, b) || schema.Equal(a, b)
}
