package schema

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
)

// Kind is the kind of a Type. The zero Kind takes any value.
type Kind uint8

// The kinds of type. KindAny takes every value and is checked when it is used.
//
// The numbers are not written anywhere: the JSON form of a type has the names.
const (
	KindAny      Kind = iota
	KindBool          // true, false
	KindInt           // a whole number of 64 bits or less
	KindFloat         // a number of 64 bits
	KindString        // text; Type.Secret says that it must not be shown
	KindDuration      // a length of time; a bare integer counts in Type.Unit
	KindSize          // a number of bytes; 10MiB, 64k
	KindMode          // permission bits; octal or symbolic
	KindRef           // a reference to a resource: kind[name], or kind[name].key
	KindList          // a sequence of Type.Elem
	KindMap           // text keys to Type.Elem
	KindStruct        // a fixed set of Type.Fields
	NumKinds     = iota
)

// Type says what a value may be. It is plain data: immutable, comparable by Equal, and
// the source of every derived form. A struct of OfType or Build has a Go side and an
// index of its keys; a description by hand has neither.
type Type struct {
	Kind     Kind
	Name     string   // of the Go type or of the resource kind; for people only
	Doc      string   // Markdown, may be empty
	Secret   bool     // with KindString: never shown; with KindAny: no text in it is
	Optional bool     // the Go side is a pointer: null and absence are kept apart from the zero value
	Enum     []string // with KindString: the only values, with KindMap: the only keys; in the order in which they are shown
	Pattern  string   // with KindString: a regular expression that matches some part of the text; see CheckPattern
	Format   string   // with KindString: a notation of Formats, such as ip; empty for any text
	Target   string   // with KindRef: the kind of the resource that is named; empty for any
	Unit     string   // with KindDuration: the unit of a bare integer
	Bits     int      // with KindInt and KindFloat: 8, 16, 32 or 64
	Unsigned bool     // with KindInt
	Min, Max *int64   // inclusive bounds of a whole number (durations in nanoseconds) or of a length; nil for none
	Elem     *Type    // of KindList and KindMap
	Fields   []*Field // of KindStruct, in the order of declaration
	Link     *Type    // with KindStruct: the struct around this one whose fields it has too; Fields is empty then
	Opaque   bool     // code of the Go side reads the value, so other shapes may be right, and this one may be refused
	Go       reflect.Type

	FloatMin, FloatMax *float64 // with KindFloat: inclusive bounds; nil for none
	EnumNames          []string // with Enum: the names of the values in programs, one for each; empty where they have no names

	byKey    map[string]*Field // by key, by alias, and by Go name
	reserved error             // the answer of CheckReserved, where the type is indexed
	conv     conv              // how the Go side is read and written, where its Go kind does not say it
	custom   bool              // the Go side has an UnmarshalYAML of its own
	re       *regexp.Regexp    // of Pattern, where the type was checked
}

// conv is a way of reading and writing the Go side of a KindString.
type conv uint8

const (
	convNone  conv = iota
	convText       // by UnmarshalText and MarshalText
	convBytes      // a slice of bytes
)

// Role says what a field is to its resource. A role says who may set a value, whether
// it can be read back, and whether a difference can be repaired.
type Role uint8

// The roles of a field. State is what can be read back and compared.
const (
	RoleState Role = iota
	RoleIdentity
	RoleParam
	RoleInit
	RoleReadOnly
	RoleWriteOnly
)

// Lend says whether another host may give a field, as the author of the kind knows it: see package engine/lend. A field that can run a program,
// name a file of this machine, or choose an owner is not lent.
type Lend uint8

// What is lent of a field.
const (
	LendNone  Lend = iota // this machine's graph alone gives it
	LendValue             // any value, but no mode above 0777 and no value that takes the thing away
	LendName              // the texts that fit the pattern which the identity fits
)

// Field is one key of a KindStruct. A description by hand needs Key and Type alone;
// Build fills the rest.
type Field struct {
	Key        string // as written in a graph
	GoName     string // as written in Go; an alias of Key in Recv
	Alias      string // another key that is read for it; may be empty
	Manifest   string // its name in a manifest; empty for Key
	Index      []int  // for reflect.Value.FieldByIndex
	Type       *Type
	Role       Role
	Doc        string
	Required   bool
	NoWatch    bool     // a new received value needs no restart of Watch
	NoSecret   bool     // others on the machine can see it, so no secret is received into it
	Instead    []string // keys that take a secret instead; with NoSecret
	Default    any      // the value that absence means, as Encode gives it; nil when it is the zero value
	HasDefault bool
	Deprecated string // why the key should not be used any more, and the key to use; empty where it may be used
	Replaces   bool   // another value can't be given to the thing: it is removed, and made again
	Absent     string // the value that takes the thing away, where the word is not "absent"; most often empty
	Lend       Lend   // whether another host may give it

	ord int // its place in Type.Fields, where the type is indexed
}

// ReservedKeys are the keys of a resource's declaration that a kind may not use for its
// own fields. "name" is reserved too, except for an identity. It must not be altered.
// OfType refuses such a key of a resource.
var ReservedKeys = []string{"meta", "recv", "before", "depend", "notify", "listen"}

// Field returns the field with that key, alias, or name in Go, or nil. A key wins
// over an alias, and an alias over a name. It may be called on a nil Type.
func (t *Type) Field(key string) *Field {
	if t == nil {
		return nil
	}
	t = t.linked()
	if t.byKey != nil {
		return t.byKey[key]
	}
	for _, by := range fieldNames {
		for _, f := range t.Fields {
			if by(f) == key {
				return f
			}
		}
	}
	return nil
}

// fieldNames are what a field is found by, the strongest first.
var fieldNames = []func(*Field) string{(*Field).key, (*Field).alias, (*Field).goName}

// The three names of a field, as functions, so that one loop serves them in order.
func (f *Field) key() string    { return f.Key }
func (f *Field) alias() string  { return f.Alias }
func (f *Field) goName() string { return f.GoName }

// Keys returns the keys of a KindStruct in the order of declaration. The list is new
// each time, and holds no alias.
func (t *Type) Keys() []string {
	if t == nil {
		return nil
	}
	t = t.linked()
	keys := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		keys[i] = f.Key
	}
	return keys
}

// place returns where f is in t.Fields.
func (t *Type) place(f *Field) int {
	if t.byKey != nil {
		return f.ord
	}
	return slices.Index(t.Fields, f)
}

// Absence returns the parameter of a kind by which a thing is taken away, and the value for that. Both are empty for a kind
// that takes nothing away.
func (t *Type) Absence() (key, value string) {
	if t == nil {
		return "", ""
	}
	t = t.linked()
	for _, f := range t.Fields {
		if f.Absent != "" {
			return f.Key, f.Absent
		}
	}
	for _, key := range []string{"state", "ensure"} {
		if f := t.Field(key); f != nil && slices.Contains(f.Type.Enum, "absent") {
			return f.Key, "absent"
		}
	}
	return "", ""
}

// index fills the lookup by key. It is called once, before t is shared. The maps are
// only read later, so no lock is needed.
func (t *Type) index() {
	t.byKey = make(map[string]*Field, 2*len(t.Fields))
	for i, f := range t.Fields {
		f.ord = i
	}
	for _, by := range fieldNames {
		for _, f := range t.Fields {
			if _, taken := t.byKey[by(f)]; !taken && by(f) != "" {
				t.byKey[by(f)] = f
			}
		}
	}
	t.reserved = t.CheckReserved()
}

// CheckReserved returns an error for each top-level field whose key belongs to
// the declaration of a resource. OfType asks it for Go types that are resources, and so does
// each reader of a Typed that is one.
func (t *Type) CheckReserved() error {
	var errs []error
	for _, f := range t.Fields {
		switch {
		case slices.Contains(ReservedKeys, f.Key):
			errs = append(errs, fmt.Errorf("field %s: the key %q is reserved for the declaration of a resource", cmp.Or(f.GoName, f.Key), f.Key))
		case f.Key == "name" && f.Role != RoleIdentity:
			errs = append(errs, fmt.Errorf("field %s: the key \"name\" is reserved for the name of the resource, unless the field is tagged mgmt:\"identity\"", cmp.Or(f.GoName, f.Key)))
		}
	}
	return errors.Join(errs...)
}

// Equal reports whether two types accept the same values under the same keys. The parts
// for people only (Name, Doc, EnumNames, Deprecated) and the Go side are not compared.
// It costs a walk over both types, unless they are one.
func (t *Type) Equal(o *Type) bool { return comparison{}.types(t, o) }

// comparison has the pairs of structs that are taken for equal while their own parts are compared.
type comparison [][2]*Type

// types compares two types part by part. A pair that is being compared further up is
// taken for equal, so types that contain themselves end.
func (c comparison) types(t, o *Type) bool {
	switch {
	case t == nil || o == nil || t == o:
		return t == o
	case !t.sameScalar(o):
		return false
	}
	if t.Link != nil || o.Link != nil {
		t, o = t.linked(), o.linked()
		if slices.Contains(c, [2]*Type{t, o}) {
			return true
		}
		c = append(slices.Clip(c), [2]*Type{t, o})
	}
	return c.types(t.Elem, o.Elem) && slices.EqualFunc(t.Fields, o.Fields, c.fields)
}

// sameScalar compares all but the parts.
func (t *Type) sameScalar(o *Type) bool {
	return t.Kind == o.Kind && t.Secret == o.Secret && t.Optional == o.Optional && t.Unit == o.Unit &&
		t.Bits == o.Bits && t.Unsigned == o.Unsigned && slices.Equal(t.Enum, o.Enum) &&
		t.Pattern == o.Pattern && t.Format == o.Format && t.Target == o.Target && t.Opaque == o.Opaque &&
		sameBound(t.Min, o.Min) && sameBound(t.Max, o.Max) &&
		sameBound(t.FloatMin, o.FloatMin) && sameBound(t.FloatMax, o.FloatMax)
}

// fields compares the parts that decide about values. A name in Go and a text for
// people are left out.
func (c comparison) fields(f, o *Field) bool {
	return f.Key == o.Key && f.Role == o.Role && f.Required == o.Required && f.NoWatch == o.NoWatch &&
		f.Replaces == o.Replaces && f.Absent == o.Absent && f.Lend == o.Lend && f.HasDefault == o.HasDefault && Equal(f.Default, o.Default) && c.types(f.Type, o.Type)
}

// sameBound compares two bounds; nil is only equal to nil.
func sameBound[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
