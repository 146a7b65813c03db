package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Build returns a copy of t, a KindStruct that is described as data, with a Go side.
// The Go side is a struct type with a field for each key, and a pointer where a type is
// optional. Its Go types are such that OfType reads the same types from them. With the
// copy, values can be made (New), held (Typed) and go through all of this package, as
// those of a struct in Go. The copy is immutable, safe for concurrent use, and shares
// nothing with t.
//
// It fills the parts that a description may leave out: 64 Bits, the Unit s, Min 0 of a
// duration and of a size, and GoName. Index is overwritten. A Default of a top-level
// field is brought into the form of Encode. A part that OfType has read from a Go type
// with conversions of its own (UnmarshalText, UnmarshalYAML) keeps that Go type.
//
// The error joins everything that is wrong with t, each with the path of the field.
// Build is called once for each type, not for each value: Go never frees its results.
func Build(t *Type) (*Type, error) {
	// A resource has its parameters at the top, so the outermost type is a struct that
	// is always there.
	if t == nil || t.Kind != KindStruct || t.Optional {
		return nil, errors.New("schema.Build needs a type of the kind struct that is not optional")
	}
	var b typeBuilder
	out := b.build(t, cmp.Or(t.Name, "the type"))
	return out, errors.Join(b.errs...)
}

// typeBuilder collects the problems of one type while its Go side is made.
type typeBuilder struct {
	faults
	open []opened // the types that are being built, outermost first
}

// opened is a type whose parts are being built, and the copy that is made of it. The
// identity of given tells that a description refers to itself.
type opened struct{ given, made *Type }

// loops returns the unfinished description of a type, nil where it is not. The search
// is linear: a type nests a few levels deep.
func (b *typeBuilder) loops(t *Type) *Type {
	for _, o := range b.open {
		if o.given == t {
			return o.made
		}
	}
	return nil
}

// link makes c stand for a struct around it, which is found by its name.
func (b *typeBuilder) link(c, target *Type, at string) {
	made := b.loops(target)
	switch {
	case made == nil || made.Kind != KindStruct:
		b.failf(at, "it links to what is no struct around it")
		return
	case made.Name == "":
		b.failf(at, "it links to a struct without a name")
		return
	}
	// A value must be able to end. An optional part may be nil, and a list or a map may
	// be empty.
	ends := c.Optional
	for i := len(b.open) - 1; b.open[i].made != made; i-- {
		in := b.open[i].made
		ends = ends || in.Optional || in.Kind == KindList || in.Kind == KindMap
		if in.Kind == KindStruct && in.Name == made.Name {
			b.failf(at, "it links to %s, and another struct of that name is between", made.Name)
			return
		}
	}
	if !ends {
		b.failf(at, "it contains itself without an end; make it optional, or an element of a list or a map")
		return
	}
	c.Name, c.Fields, c.Link = made.Name, nil, made
	c.Go = dataType
}

// build returns a copy of t with its Go side, or nil after a failure.
func (b *typeBuilder) build(t *Type, at string) *Type {
	if t == nil {
		b.failf(at, "it has no type")
		return nil
	}
	// A fault names the part in hand, and the outer part again when this one is done.
	outer := b.faults
	b.given, b.of = t, nil
	defer func() { b.given, b.of = outer.given, outer.of }()
	loop := b.loops(t)
	if loop != nil && t.Name == "" {
		b.failf(at, "it contains itself; use a field of any type for a tree")
		return nil
	}
	before := len(b.errs)
	// The copy owns all that the description may still alter.
	c := *t
	c.Enum, c.EnumNames, c.Min, c.Max = slices.Clone(t.Enum), slices.Clone(t.EnumNames), clonePtr(t.Min), clonePtr(t.Max)
	c.FloatMin, c.FloatMax = clonePtr(t.FloatMin), clonePtr(t.FloatMax)
	if c.Go == nil {
		c.conv, c.custom = convNone, false
	}
	b.settle(&c, at)
	switch {
	case loop != nil:
		b.link(&c, t, at)
	case c.Link != nil:
		b.link(&c, c.Link, at)
	default:
		b.open = append(b.open, opened{t, &c})
		b.parts(&c, at)
		b.open = b.open[:len(b.open)-1]
	}
	if len(b.errs) > before {
		return nil
	}
	return &c
}

// parts makes the parts of c, and its Go side.
func (b *typeBuilder) parts(c *Type, at string) {
	switch {
	case c.custom || c.conv != convNone: // keeps its Go type and all that it is made of
	case c.Kind == KindStruct:
		b.structure(c, at)
	case c.Kind == KindList || c.Kind == KindMap:
		b.collection(c, at)
	case c.Kind < NumKinds:
		c.Go = scalarGo(c)
	}
}

// clonePtr copies a value, so that two types never share a bound.
func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// settle fills the absent parts of c and checks all but its parts. It goes on after a
// fault, so that all faults of a type are reported at once.
func (b *typeBuilder) settle(c *Type, at string) {
	switch c.Kind {
	case KindDuration:
		c.Unit = cmp.Or(c.Unit, "s")
		c.Min = cmp.Or(c.Min, new(int64(0)))
	case KindSize:
		c.Min = cmp.Or(c.Min, new(int64(0)))
	case KindInt:
		c.Bits = cmp.Or(c.Bits, 64)
	// Whole bounds of a float are taken for the same bounds with a point.
	case KindFloat:
		c.Bits = cmp.Or(c.Bits, 64)
		c.FloatMin, c.Min = cmp.Or(c.FloatMin, floatOf(c.Min)), nil
		c.FloatMax, c.Max = cmp.Or(c.FloatMax, floatOf(c.Max)), nil
	}
	for _, err := range []error{c.checkKind(), c.checkEnum(), c.checkUnit(), c.checkBounds(), c.checkText(), c.checkTarget()} {
		if err != nil {
			b.failf(at, "%w", err)
		}
	}
}

// floatOf keeps nil, which stands for no bound.
func floatOf(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// checkKind refuses parts that do not belong to the kind of t.
func (t *Type) checkKind() error {
	switch {
	case t.Kind >= NumKinds:
		return fmt.Errorf("there is no kind %d of types", t.Kind)
	case t.Secret && t.Kind != KindString && t.Kind != KindAny:
		return fmt.Errorf("only text, and any value with its texts, can be secret, not %s", t)
	case t.Unsigned && t.Kind != KindInt:
		return fmt.Errorf("only a whole number can be unsigned, not %s", t)
	case t.Elem != nil && t.Kind != KindList && t.Kind != KindMap:
		return fmt.Errorf("%s has no elements", t)
	case len(t.Fields) > 0 && t.Kind != KindStruct:
		return fmt.Errorf("%s has no fields", t)
	case t.Link != nil && (t.Kind != KindStruct || len(t.Fields) > 0):
		return errors.New("only a struct without fields of its own links to one around it")
	case !slices.Contains(widths[t.Kind], t.Bits):
		return fmt.Errorf("%d bits are not for %s", t.Bits, t.sort())
	}
	return nil
}

// widths are the numbers of bits that a kind can have.
var widths = [NumKinds][]int{
	KindAny: {0}, KindBool: {0}, KindString: {0}, KindDuration: {0}, KindSize: {0}, KindMode: {0}, KindRef: {0},
	KindList: {0}, KindMap: {0}, KindStruct: {0},
	KindInt:   {8, 16, 32, 64},
	KindFloat: {32, 64},
}

// checkUnit refuses a unit of another kind, and an unknown one.
func (t *Type) checkUnit() error {
	if t.Unit == "" {
		return nil
	}
	return t.setUnit(t.Unit)
}

// checkBounds checks bounds that bound does not see in a tag, because they are not
// numbers yet.
func (t *Type) checkBounds() error {
	if t.FloatMin != nil || t.FloatMax != nil {
		return t.checkFloatBounds()
	}
	if t.Min == nil && t.Max == nil {
		return nil
	}
	switch t.Kind {
	case KindInt, KindDuration, KindSize:
	case KindString, KindList, KindMap:
		if t.Min != nil && *t.Min < 0 || t.Max != nil && *t.Max < 0 {
			return errors.New("a length is never below 0")
		}
	default:
		return fmt.Errorf("bounds are not for %s", t.sort())
	}
	return t.crossed()
}

// checkFloatBounds refuses NaN and infinity: the one holds for no value, and the other
// says nothing.
func (t *Type) checkFloatBounds() error {
	if t.Kind != KindFloat {
		return fmt.Errorf("bounds with a point are not for %s", t.sort())
	}
	for _, f := range []*float64{t.FloatMin, t.FloatMax} {
		if f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			return errors.New("a bound is a number that has an end")
		}
	}
	return t.crossed()
}

// scalars are the Go types that OfType reads as the same kinds, so that both ways lead
// to one type.
var scalars = [NumKinds]reflect.Type{
	KindAny:      reflect.TypeFor[any](),
	KindBool:     reflect.TypeFor[bool](),
	KindString:   reflect.TypeFor[string](),
	KindDuration: reflect.TypeFor[time.Duration](),
	KindSize:     sizeType,
	KindMode:     modeType,
	KindRef:      refType,
}

// The Go types of numbers, by their bits.
var (
	signed   = map[int]reflect.Type{8: reflect.TypeFor[int8](), 16: reflect.TypeFor[int16](), 32: reflect.TypeFor[int32](), 64: reflect.TypeFor[int64]()}
	unsigned = map[int]reflect.Type{8: reflect.TypeFor[uint8](), 16: reflect.TypeFor[uint16](), 32: reflect.TypeFor[uint32](), 64: reflect.TypeFor[uint64]()}
	floats   = map[int]reflect.Type{32: reflect.TypeFor[float32](), 64: reflect.TypeFor[float64]()}
)

// scalarGo is the Go type of a scalar of a type that is data.
func scalarGo(t *Type) reflect.Type {
	switch {
	case t.Secret && t.Kind == KindString:
		return secretType
	case t.Unsigned:
		return unsigned[t.Bits]
	case t.Kind == KindInt:
		return signed[t.Bits]
	case t.Kind == KindFloat:
		return floats[t.Bits]
	}
	return scalars[t.Kind]
}

// goType returns the type of a Go variable that holds a t.
func (t *Type) goType() reflect.Type {
	if t.Optional {
		return reflect.PointerTo(t.Go)
	}
	return t.Go
}

// collection builds the element first, since the Go type of a list or a map is made of
// it.
func (b *typeBuilder) collection(c *Type, at string) {
	c.Elem = b.build(c.Elem, at+"[]")
	switch {
	case c.Elem == nil:
	case c.Kind == KindList:
		c.Go = reflect.SliceOf(c.Elem.goType())
	default:
		c.Go = reflect.MapOf(reflect.TypeFor[string](), c.Elem.goType())
	}
}

// structure makes the Go struct of the fields that were built without a fault. With a
// fault in one of them there is no struct, and all of them are reported.
func (b *typeBuilder) structure(c *Type, at string) {
	fields := make([]*Field, 0, len(c.Fields))
	names := map[string]bool{}
	var in []reflect.StructField
	before := len(b.errs)
	for _, f := range c.Fields {
		if f = b.field(f, fields, at); f == nil {
			continue
		}
		sf := reflect.StructField{Name: goName(f, names), Type: f.Type.goType(), Tag: reflect.StructTag(`yaml:"` + f.Key + `"`)}
		f.GoName = cmp.Or(f.GoName, sf.Name)
		f.Index = []int{len(in)}
		in, fields = append(in, sf), append(fields, f)
	}
	if len(b.errs) > before {
		return
	}
	c.Fields, c.Go = fields, reflect.StructOf(in)
	c.index()
}

// field returns a copy of f with a type that is built, or nil after a failure.
// before are the fields that the struct has already.
func (b *typeBuilder) field(f *Field, before []*Field, at string) *Field {
	if f == nil {
		b.failf(at, "a field is nil")
		return nil
	}
	at += "." + f.Key
	b.of = f
	defer func() { b.of = nil }()
	// A key has to stand in a path without quotes.
	if !plainKey(f.Key) {
		b.failf(at, "the key %q may hold only letters, digits, _ and -", f.Key)
	}
	if slices.ContainsFunc(before, func(o *Field) bool { return o.Key == f.Key }) {
		b.failf(at, "the key %q is there twice", f.Key)
	}
	if f.Role > RoleWriteOnly {
		b.failf(at, "there is no role %d", f.Role)
	}
	c := *f
	c.Instead = slices.Clone(f.Instead)
	if c.Type = b.build(f.Type, at); c.Type == nil {
		return nil
	}
	if err := c.settleDefault(len(b.open) == 1); err != nil {
		b.failf(at, "default: %w", err)
	}
	return &c
}

// settleDefault brings the default into the form of Encode. The default goes through
// the setter, so it is held to the type as a value of a graph is. Only outermost fields
// have one, for the whole of their value.
func (f *Field) settleDefault(top bool) error {
	if f.Default == nil {
		f.HasDefault = false
		return nil
	}
	if f.Type.Some(func(t *Type) bool { return t.Go == nil }) {
		return errors.New("what contains itself has none")
	}
	if !top {
		return errors.New("it is given for the whole of the outermost field, not for one within")
	}
	n, err := NodeOf(f.Default)
	if err != nil {
		return err
	}
	rv := reflect.New(f.Type.goType()).Elem()
	if err = (setter{path: []seg{{key: f.Key}}, node: n}).assign(f.Type, rv); err != nil {
		return err
	}
	f.Default, err = encoder{}.value(f.Type, rv, 1)
	if f.HasDefault = f.Default != nil; err != nil || !f.HasDefault { // the zero value is what absence means anyway
		return err
	}
	if err = Check(f.Type, f.Default).Err(); err != nil {
		return fmt.Errorf("null stands for an empty element, and %w: give that element or leave it out", err)
	}
	return nil
}

// goName returns a name in Go for a field that no other one in taken has: user_name
// gives UserName. Two keys may lead to one name, as a-b and a_b do; the later one gets
// an X.
func goName(f *Field, taken map[string]bool) string {
	var name strings.Builder
	for word := range strings.FieldsFuncSeq(cmp.Or(f.GoName, f.Key), func(r rune) bool { return r == '_' || r == '-' }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if s := name.String(); s == "" || s[0] < 'A' || s[0] > 'Z' {
		name.Reset()
		name.WriteString("X" + s)
	}
	for taken[name.String()] {
		name.WriteString("X")
	}
	taken[name.String()] = true
	return name.String()
}
