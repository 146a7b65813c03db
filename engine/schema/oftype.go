package schema

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// The types that read asks for by identity, and the methods that it looks for.
var (
	secretType   = reflect.TypeFor[Secret]()
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
	modeType     = reflect.TypeFor[Mode]()
	refType      = reflect.TypeFor[Ref]()

	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
	textWriter = reflect.TypeFor[encoding.TextMarshaler]()
	yamlReader = reflect.TypeFor[customDecoder]()
	resource   = reflect.TypeFor[interface{ SetName(string) }]()
)

// known remembers what OfType has read. It is a pure memo: its content follows from
// the key alone, so it does not matter who filled it.
var known sync.Map // reflect.Type to *reading

// reading is the result of one Go type: a description, or its errors.
type reading struct {
	t   *Type
	err error
}

// OfType reads a Go type, usually a struct, and returns its description: the same
// one each time, immutable and safe for concurrent use. A pointer at the top stands
// for its target. The error joins everything that is wrong with the type, each with
// the Go name of the field; it is the programmer's, not the user's.
func OfType(rt reflect.Type) (*Type, error) {
	if rt == nil {
		return nil, errors.New("nil has no schema")
	}
	for rt.Kind() == reflect.Pointer {
		rt = rt.Elem()
	}
	if got, ok := known.Load(rt); ok {
		r := got.(*reading)
		return r.t, r.err
	}
	// Two goroutines may read one type at a time. The first result stays, so that all
	// have one Type.
	got, _ := known.LoadOrStore(rt, readType(rt))
	r := got.(*reading)
	return r.t, r.err
}

// readType reads a Go type anew. For a resource the reserved keys are refused, too.
func readType(rt reflect.Type) *reading {
	var r typeReader
	t := r.read(rt, rt.String())
	if t != nil && reflect.PointerTo(rt).Implements(resource) {
		if err := t.CheckReserved(); err != nil {
			r.errs = append(r.errs, fmt.Errorf("%s: %w", rt, err))
		}
	}
	if err := errors.Join(r.errs...); err != nil {
		return &reading{err: err}
	}
	return &reading{t: t}
}

// Of returns the type of a Typed, or of the struct that v points to. Every top-level
// field that does not hold its zero value now has that value as its Default.
func Of(v any) (*Type, error) {
	shared, rv, err := Side(v)
	switch {
	case err != nil:
		return nil, err
	case shared.Kind != KindStruct || !rv.CanSet():
		return nil, fmt.Errorf("schema.Of needs a pointer to a struct, not %T", v)
	}
	t := *shared
	t.Fields = make([]*Field, len(shared.Fields))
	for i, sf := range shared.Fields {
		f := *sf
		if f.Default, err = (encoder{}).value(f.Type, fieldOf(rv, sf), 1); err != nil {
			return nil, fmt.Errorf("default of %s: %w", f.Key, err)
		}
		f.HasDefault = f.Default != nil
		t.Fields[i] = &f
	}
	t.index()
	return &t, nil
}

// typeReader collects the problems of one type while it is read.
type typeReader struct {
	faults
	open []*Type // the structs being read, outermost first
}

// Fault is something that is wrong with a type. The errors of Build and OfType join such.
type Fault struct {
	Path  string // the place in the type, or in Go
	Type  *Type  // the part of the description given to Build; nil from OfType
	Field *Field // the field of Type, where the fault is not that of the whole type
	Err   error
}

// Error returns the path and the fault there.
func (f *Fault) Error() string { return f.Path + ": " + f.Err.Error() }

// Unwrap returns the fault without its path.
func (f *Fault) Unwrap() error { return f.Err }

// faults are what is wrong with a type, each with its place.
type faults struct {
	errs  []error
	given *Type  // the type that is being built
	of    *Field // its field, where one is being built
}

// failf adds a fault of the part in hand.
func (f *faults) failf(at, format string, args ...any) {
	f.errs = append(f.errs, &Fault{Path: at, Type: f.given, Field: f.of, Err: fmt.Errorf(format, args...)})
}

// read describes rt; at names the place in Go. It returns nil after a failure.
func (r *typeReader) read(rt reflect.Type, at string) *Type {
	t := &Type{Name: rt.Name(), Go: rt}
	if rt.Kind() == reflect.Pointer {
		return r.optional(rt, at)
	}
	if r.special(t, rt, at) {
		return t
	}
	t.custom = rt.Name() != "" && reflect.PointerTo(rt).Implements(yamlReader)
	t.Opaque = t.custom
	switch rt.Kind() {
	case reflect.Bool:
		t.Kind = KindBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		t.Kind, t.Bits = KindInt, rt.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		t.Kind, t.Bits, t.Unsigned = KindInt, rt.Bits(), true
	case reflect.Float32, reflect.Float64:
		t.Kind, t.Bits = KindFloat, rt.Bits()
	case reflect.String:
		t.Kind = KindString
	case reflect.Slice:
		t.Kind, t.Elem = KindList, r.read(rt.Elem(), at+"[]")
		return t.orNil(t.Elem)
	case reflect.Map:
		return r.mapping(t, rt, at)
	case reflect.Struct:
		return r.structure(t, rt, at)
	case reflect.Interface:
		if rt.NumMethod() == 0 {
			return t
		}
		fallthrough
	default:
		r.failf(at, "the type %s is not supported; give the field the tag `yaml:\"-\"` if it is no key", rt)
		return nil
	}
	return t
}

// orNil returns t, unless a part of it has failed.
func (t *Type) orNil(part *Type) *Type {
	if part == nil {
		return nil
	}
	return t
}

// special describes the types that have a notation of their own, and types that
// read themselves from text.
func (r *typeReader) special(t *Type, rt reflect.Type, at string) bool {
	switch {
	case rt == secretType:
		t.Kind, t.Secret = KindString, true
	case rt == durationType:
		t.Kind, t.Unit, t.Min = KindDuration, "s", new(int64(0))
	case rt == sizeType:
		t.Kind, t.Min = KindSize, new(int64(0))
	case rt == modeType:
		t.Kind = KindMode
	case rt == refType:
		t.Kind = KindRef
	case rt.Kind() == reflect.Interface:
		return false
	case reflect.PointerTo(rt).Implements(textReader):
		t.Kind, t.conv, t.Opaque = KindString, convText, true
		if !reflect.PointerTo(rt).Implements(textWriter) {
			r.failf(at, "the type %s has UnmarshalText but no MarshalText", rt)
		}
	case rt.Kind() == reflect.Slice && rt.Elem().Kind() == reflect.Uint8:
		t.Kind, t.conv = KindString, convBytes
	default:
		return false
	}
	return true
}

// optional reads a pointer, which makes its target optional.
func (r *typeReader) optional(rt reflect.Type, at string) *Type {
	if rt.Elem().Kind() == reflect.Pointer {
		r.failf(at, "a pointer to a pointer is not supported")
		return nil
	}
	t := r.read(rt.Elem(), at)
	if t != nil {
		t.Optional = true
	}
	return t
}

// mapping reads a map. Keys of any type made of string are taken.
func (r *typeReader) mapping(t *Type, rt reflect.Type, at string) *Type {
	if rt.Key().Kind() != reflect.String {
		r.failf(at, "the keys of a map must be strings, not %s", rt.Key())
		return nil
	}
	t.Kind, t.Elem = KindMap, r.read(rt.Elem(), at+"[]")
	return t.orNil(t.Elem)
}

// structure reads a struct. If the same one is being read further up, this one becomes
// a link to it.
func (r *typeReader) structure(t *Type, rt reflect.Type, at string) *Type {
	t.Kind = KindStruct
	for _, o := range slices.Backward(r.open) {
		switch {
		case o.Go == rt:
			t.Link = o
			return t
		// Links are found again by name in the written form of a type, so the nearest
		// struct of a name must be the right one.
		case o.Name == rt.Name() && slices.ContainsFunc(r.open, func(o *Type) bool { return o.Go == rt }):
			r.failf(at, "%s contains itself, and %s of the same name is between", rt, o.Go)
			return nil
		}
	}
	r.open = append(r.open, t)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	before := len(r.errs)
	r.fields(t, rt, nil, at)
	if len(r.errs) > before {
		return nil
	}
	t.index()
	return t
}

// fields appends the fields of rt, which is t's own struct or one inlined in it.
func (r *typeReader) fields(t *Type, rt reflect.Type, index []int, at string) {
	for i := range rt.NumField() {
		sf := rt.Field(i)
		key, inline, ok := keyOf(sf)
		if !ok {
			continue
		}
		here, place := at+"."+sf.Name, append(slices.Clone(index), i)
		switch {
		case inline && sf.Type.Kind() == reflect.Struct:
			r.fields(t, sf.Type, place, here)
		case inline:
			r.failf(here, "only a struct can be inlined, not %s", sf.Type)
		default:
			r.field(t, sf, key, place, here)
		}
	}
}

// keyOf returns the key of a field, or whether it is inlined. ok is false when it does
// not make a key. An embedded struct without a tag makes no keys, so that traits add
// none.
func keyOf(sf reflect.StructField) (key string, inline, ok bool) {
	key, opts, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
	for opt := range strings.SplitSeq(opts, ",") {
		inline = inline || opt == "inline"
	}
	if key == "" {
		key, _, _ = strings.Cut(sf.Tag.Get("lang"), ",")
	}
	switch {
	case key == "-":
		return "", false, false
	case inline:
		return "", true, sf.IsExported() || sf.Anonymous
	case !sf.IsExported(), sf.Anonymous && key == "":
		return "", false, false
	case key == "":
		key = strings.ToLower(sf.Name)
	}
	return key, false, true
}

// field reads one field with its tags. It goes on after a fault, so that all of them
// are reported.
func (r *typeReader) field(t *Type, sf reflect.StructField, key string, index []int, at string) {
	f := &Field{Key: key, GoName: sf.Name, Index: index, Doc: sf.Tag.Get("doc"), Deprecated: sf.Tag.Get("deprecated")}
	if !plainKey(key) {
		r.failf(at, "the key %q may hold only letters, digits, _ and -", key)
	}
	for _, o := range t.Fields {
		if o.Key == key {
			r.failf(at, "the key %q belongs to the field %s already", key, o.GoName)
		}
	}
	if f.Type = r.read(sf.Type, at); f.Type == nil {
		return
	}
	if err := f.readTag(sf.Tag.Get("mgmt")); err != nil {
		r.failf(at, "%w", err)
	}
	t.Fields = append(t.Fields, f)
}
