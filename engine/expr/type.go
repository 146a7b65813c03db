package expr

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Type is the type of a name or of a value. The zero Type takes every value, which is checked when it is used.
type Type struct {
	cel    *cel.Type
	fields map[string]Type // of Object, else nil
	elem   *Type           // of ListOf and MapOf, else nil
}

// Object is a type with a fixed set of fields: to ask for another one is a Fault. Its name must be the only one of that name in a Scope.
func Object(name string, fields map[string]Type) Type {
	return Type{cel: cel.ObjectType("mgmt." + name), fields: fields}
}

// The types of single values.
var (
	Bool  = Type{cel: cel.BoolType}
	Int   = Type{cel: cel.IntType}
	Float = Type{cel: cel.DoubleType}
	Text  = Type{cel: cel.StringType}
)

// ListOf is the type of lists.
func ListOf(elem Type) Type { return Type{cel: cel.ListType(elem.of()), elem: &elem} }

// MapOf is the type of maps from text.
func MapOf(elem Type) Type { return Type{cel: cel.MapType(cel.StringType, elem.of()), elem: &elem} }

// of returns the type of the library.
func (t Type) of() *cel.Type {
	if t.cel == nil {
		return cel.DynType
	}
	return t.cel
}

// OfValue returns the type of a plain value. Lists and maps whose parts differ take any.
func OfValue(v any) Type {
	switch v := v.(type) {
	case bool:
		return Bool
	case int64, int:
		return Int
	case uint64:
		return Type{cel: cel.UintType}
	case float64:
		return Float
	case string:
		return Text
	case []any:
		return ListOf(common(slices.Values(v)))
	case map[string]any:
		return MapOf(common(values(v)))
	}
	return Type{}
}

// values yields the values of a map.
func values(m map[string]any) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// common returns the type that all values have, or that of any value.
func common(all func(yield func(any) bool)) (t Type) {
	first := true
	for v := range all {
		u := OfValue(v)
		if first {
			t, first = u, false
		} else if !t.of().IsExactType(u.of()) {
			return Type{}
		}
	}
	return t
}

// OfSchema returns the type of the values that schema.EncodeAll gives for a type. A struct is an Object of this name.
func OfSchema(name string, t *schema.Type) Type {
	switch t.Kind {
	case schema.KindBool:
		return Bool
	case schema.KindInt, schema.KindSize:
		return Int
	case schema.KindFloat:
		return Float
	case schema.KindString:
		return Text
	case schema.KindList:
		return ListOf(OfSchema(name, t.Elem))
	case schema.KindMap:
		return MapOf(OfSchema(name, t.Elem))
	case schema.KindStruct:
		fields := make(map[string]Type, len(t.Fields))
		for _, f := range t.Fields {
			fields[f.Key] = OfSchema(name+"."+f.Key, f.Type)
		}
		return Object(name, fields)
	}
	return Type{}
}

// Elem returns the types of the keys and of the values of a list or a map, and whether t is one. The key of a list is its index. Of an optional
// type they are those of the value that it may have.
func (t Type) Elem() (key, value Type, ok bool) {
	c := t.of()
	if c.TypeName() == types.OptionalType.TypeName() {
		c = c.Parameters()[0]
	}
	switch c.Kind() {
	case types.ListKind:
		return Int, fromCEL(c.Parameters()[0]), true
	case types.MapKind:
		return fromCEL(c.Parameters()[0]), fromCEL(c.Parameters()[1]), true
	case types.DynKind:
		return Type{}, Type{}, true
	}
	return Type{}, Type{}, false
}

// IsAny reports whether the type says nothing of its values.
func (t Type) IsAny() bool { return t.of().Kind() == types.DynKind }

// fromCEL takes a type of the library, which is no Object.
func fromCEL(t *cel.Type) Type { return Type{cel: t} }

// String names the type in the words of a graph.
func (t Type) String() string { return nameOf(t.of()) }

// provider adds the objects of a scope to the types of the library.
type provider struct {
	types.Provider
	objects map[string]map[string]Type // fields, by the name in the library
}

// FindStructType implements types.Provider.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := p.objects[name]; ok {
		return sortedKeys(fields), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider. Values are maps, which the library reads by itself.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	f, ok := fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: f.of()}, true
}

// NewValue implements types.Provider. No expression makes an object.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.objects[name]; ok {
		return types.NewErr("an expression can't make %s", name)
	}
	return p.Provider.NewValue(name, fields)
}
