package provider

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// binding says which field of a struct stands for which attribute.
type binding struct{ fields []boundField }

type boundField struct {
	attr  *compiled
	index int
	opt   bool // it is an Opt
}

// newBinding compares a struct with a definition.
func newBinding[T any](d *Definition) (*binding, error) {
	if err := d.Check().Err(); err != nil {
		return nil, err
	}
	attrs, err := d.compile()
	if err != nil {
		return nil, err
	}
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the type %s: its records are %s, a struct is wanted", d.Name, t)
	}
	b, errs := &binding{}, []error(nil)
	bound := map[string]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, tagged := f.Tag.Lookup("attr")
		if !tagged {
			continue
		}
		a := attributeNamed(attrs, name)
		if err := fieldFits(f, name, a, bound[name], d); err != nil {
			errs = append(errs, fmt.Errorf("%s.%s: %w", t, f.Name, err))
		} else {
			b.fields = append(b.fields, boundField{a, i, isOpt(f.Type)})
		}
		bound[name] = f.Name
	}
	for _, a := range attrs {
		if bound[a.Name] == "" {
			errs = append(errs, fmt.Errorf("%s has no field with the tag attr:%q", t, a.Name))
		}
	}
	return b, errors.Join(errs...)
}

func attributeNamed(attrs []compiled, name string) *compiled {
	for i := range attrs {
		if attrs[i].Name == name {
			return &attrs[i]
		}
	}
	return nil
}

// fieldFits says what is wrong with a field.
func fieldFits(f reflect.StructField, name string, a *compiled, other string, d *Definition) error {
	switch {
	case a == nil:
		var all []string
		for _, a := range d.Attributes {
			all = append(all, a.Name)
		}
		return fmt.Errorf("%s has no attribute %q%s", d.Name, name, meant(name, all))
	case other != "":
		return fmt.Errorf("the attribute %q has the field %s already", name, other)
	case !f.IsExported():
		return errors.New("a field with the tag attr must be exported")
	}
	text := heldBy(f.Type, 0)
	if text == "" {
		return fmt.Errorf("no attribute can be held by a %s", f.Type)
	}
	holds := puppettype.MustParse(text)
	if !holds.Assignable(a.typ) {
		hint := ""
		if a.optional && !isOpt(f.Type) {
			hint = "; an Opt is wanted, as it may be undef"
		}
		return fmt.Errorf("a %s can't hold every value of %s.%s, which is %s%s", f.Type, d.Name, name, a.typ, hint)
	}
	return nil
}

// meant returns a hint at the word that was meant.
func meant(word string, candidates []string) string {
	if near := schema.Nearest(word, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

func isOpt(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[interface{ optional() }]()) && t.NumField() == 3 && t.Field(1).Name == "Set"
}

// wholes are the Go types that hold a type as it is.
var wholes = map[reflect.Type]string{
	reflect.TypeFor[any]():                      "Any",
	reflect.TypeFor[time.Time]():                "Timestamp",
	reflect.TypeFor[time.Duration]():            "Timespan",
	reflect.TypeFor[[]byte]():                   "Binary",
	reflect.TypeFor[puppettype.Version]():       "SemVer",
	reflect.TypeFor[*puppettype.VersionRange](): "SemVerRange",
	reflect.TypeFor[*rubyre.Regexp]():           "Regexp",
	reflect.TypeFor[puppettype.URI]():           "URI",
	reflect.TypeFor[schema.Secret]():            "Sensitive[String]",
	reflect.TypeFor[puppettype.Sensitive]():     "Sensitive",
}

// scalars are the types that a Go kind holds. Integers of 64 bits stand for all.
var scalars = map[reflect.Kind]string{
	reflect.Bool: "Boolean", reflect.String: "String", reflect.Float64: "Float",
	reflect.Int: "Integer", reflect.Int64: "Integer",
	reflect.Int8: "Integer[-128, 127]", reflect.Int16: "Integer[-32768, 32767]", reflect.Int32: "Integer[-2147483648, 2147483647]",
	reflect.Uint: "Integer[0]", reflect.Uint64: "Integer[0]",
	reflect.Uint8: "Integer[0, 255]", reflect.Uint16: "Integer[0, 65535]", reflect.Uint32: "Integer[0, 4294967295]",
}

// heldBy returns the text of the type whose values a Go type can hold, or nothing.
func heldBy(t reflect.Type, depth int) string {
	inner := func(format string, t reflect.Type) string {
		if text := heldBy(t, depth+1); text != "" {
			return fmt.Sprintf(format, text)
		}
		return ""
	}
	whole, ok := wholes[t]
	switch {
	case depth > maxNesting:
		return ""
	case ok:
		return whole
	case isOpt(t):
		return inner("Optional[%s]", t.Field(0).Type)
	case t.Kind() == reflect.Slice:
		return inner("Array[%s]", t.Elem())
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		return inner("Hash[String, %s]", t.Elem())
	}
	return scalars[t.Kind()]
}

const maxNesting = 20

// readable keeps what Get may return: no parameters.
func readable(f *boundField, _ bool) bool { return f.attr.Role != Parameter }

// record returns the fields that keep wants as a Record. v points to the struct; set
// says that the field is an Opt that is set.
func (b *binding) record(v any, keep func(f *boundField, set bool) bool) Record {
	rv := reflect.ValueOf(v).Elem()
	rec := make(Record, len(b.fields))
	for i := range b.fields {
		f := &b.fields[i]
		fv := rv.Field(f.index)
		set := f.opt && fv.Field(1).Bool()
		if f.opt && !set || !keep(f, set) {
			continue
		}
		rec[f.attr.Name] = ofGo(fv)
	}
	return rec
}

// fill puts a Record into the struct that v points to. The errors name attributes.
func (b *binding) fill(v any, rec Record) error {
	rv := reflect.ValueOf(v).Elem()
	var errs []error
	for _, f := range b.fields {
		value, ok := rec[f.attr.Name]
		if !ok {
			continue
		}
		if err := toGo(rv.Field(f.index), value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.attr.Name, err))
		}
	}
	return errors.Join(errs...)
}

// ofGo returns the value of a field as package puppettype has it. It shares nothing
// that can be altered, except for the content of an any.
func ofGo(v reflect.Value) any {
	if isOpt(v.Type()) {
		if !v.Field(1).Bool() || v.Field(2).Bool() {
			return nil
		}
		return ofGo(v.Field(0))
	}
	if _, whole := wholes[v.Type()]; whole {
		return clone(v.Interface())
	}
	switch v.Kind() {
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = ofGo(v.Index(i))
		}
		return out
	case reflect.Map:
		out := make(map[string]any, v.Len())
		for _, k := range v.MapKeys() {
			out[k.String()] = ofGo(v.MapIndex(k))
		}
		return out
	}
	return scalarOf(v)
}

func scalarOf(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return v.Int()
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint())
	case v.CanUint():
		return new(big.Int).SetUint64(v.Uint())
	}
	return v.Float()
}

// toGo puts a value into a field.
func toGo(into reflect.Value, v any) error {
	if isOpt(into.Type()) {
		into.Field(1).SetBool(true)
		into.Field(2).SetBool(v == nil)
		if v == nil {
			return nil
		}
		return toGo(into.Field(0), v)
	}
	from := reflect.ValueOf(v)
	switch {
	case v == nil:
		return nil
	case from.Type().AssignableTo(into.Type()):
		into.Set(reflect.ValueOf(clone(v)))
		return nil
	case into.Type() == reflect.TypeFor[schema.Secret](), into.Type() == reflect.TypeFor[puppettype.Sensitive]():
		return toSecret(into, v)
	case from.Kind() == reflect.Slice && into.Kind() == reflect.Slice:
		return toSlice(into, from)
	case from.Kind() == reflect.Map && into.Kind() == reflect.Map:
		return toMap(into, from)
	}
	return toScalar(into, from)
}

// toSecret puts a secret into a field of the other sort.
func toSecret(into reflect.Value, v any) error {
	switch s := v.(type) {
	case schema.Secret:
		into.Set(reflect.ValueOf(puppettype.NewSensitive(s.Reveal())))
		return nil
	case puppettype.Sensitive:
		if text, ok := s.Reveal().(string); ok {
			into.Set(reflect.ValueOf(schema.NewSecret(text)))
			return nil
		}
	}
	return errors.New("it is no secret text")
}

func toSlice(into, from reflect.Value) error {
	out := reflect.MakeSlice(into.Type(), from.Len(), from.Len())
	for i := range from.Len() {
		if err := toGo(out.Index(i), from.Index(i).Interface()); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	into.Set(out)
	return nil
}

func toMap(into, from reflect.Value) error {
	out := reflect.MakeMapWithSize(into.Type(), from.Len())
	for _, k := range from.MapKeys() {
		elem := reflect.New(into.Type().Elem()).Elem()
		if err := toGo(elem, from.MapIndex(k).Interface()); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
		out.SetMapIndex(k.Convert(into.Type().Key()), elem)
	}
	into.Set(out)
	return nil
}

func toScalar(into, from reflect.Value) error {
	switch {
	case into.Kind() == reflect.String && from.Kind() == reflect.String:
		into.SetString(from.String())
	case into.Kind() == reflect.Bool && from.Kind() == reflect.Bool:
		into.SetBool(from.Bool())
	case into.CanFloat() && from.CanFloat():
		into.SetFloat(from.Float())
	case into.CanInt() && from.CanInt() && !into.OverflowInt(from.Int()):
		into.SetInt(from.Int())
	case into.CanUint() && from.CanInt() && from.Int() >= 0 && !into.OverflowUint(uint64(from.Int())):
		into.SetUint(uint64(from.Int()))
	case into.CanUint() && from.Type() == reflect.TypeFor[*big.Int]() && from.Interface().(*big.Int).IsUint64():
		into.SetUint(from.Interface().(*big.Int).Uint64())
	default:
		return fmt.Errorf("a %s can't hold this value, which is a %s", into.Type(), from.Type())
	}
	return nil
}
