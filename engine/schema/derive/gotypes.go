package derive

import (
	"encoding"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// GoTypes makes JSON Schema of Go types, as encoding/json writes them. One goroutine uses it.
type GoTypes struct {
	// Schemas are those of the structs that have a name, by it: a type may hold itself, and stands there once.
	Schemas map[string]any
	refs    string
	names   map[reflect.Type]string // of the types in Schemas
}

// NewGoTypes returns a GoTypes that has seen no type. A reference to one of its Schemas is the text refs and the name.
func NewGoTypes(refs string) *GoTypes {
	return &GoTypes{Schemas: object{}, refs: refs, names: map[reflect.Type]string{}}
}

// object is a JSON object. Its members are written in the order of their names, so that the same types give the same bytes.
type object = map[string]any

// Schema describes a *schema.Type, or the Go type of a value. It is an error where JSON has no form for it, or where two types of one
// package name have the same name.
func (g *GoTypes) Schema(of any) (map[string]any, error) {
	if t, ok := of.(*schema.Type); ok {
		return fromType(t)
	}
	return g.goType(reflect.TypeOf(of))
}

// Ref is a reference to one of the Schemas.
func (g *GoTypes) Ref(name string) map[string]any { return object{"$ref": g.refs + name} }

// fromType describes a type of the graph, without the name of its dialect: OpenAPI 3.1
// has the same one.
func fromType(t *schema.Type) (object, error) {
	text, err := JSONSchema(t)
	if err != nil {
		return nil, err
	}
	var s object
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	delete(s, "$schema")
	return s, nil
}

var (
	timeType = reflect.TypeFor[time.Time]()
	numType  = reflect.TypeFor[json.Number]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	jsonType = reflect.TypeFor[json.Marshaler]()
)

func (g *GoTypes) goType(t reflect.Type) (object, error) {
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}, nil
	case t == numType:
		return object{"type": "number"}, nil
	// encoding/json calls the method of a pointer, too, where a value can be addressed.
	case t == rawType, t.Kind() == reflect.Interface, t.Implements(jsonType), reflect.PointerTo(t).Implements(jsonType):
		return object{}, nil
	case t.Implements(textType):
		return object{"type": "string"}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.goType(t.Elem())
	case reflect.String:
		return object{"type": "string"}, nil
	case reflect.Bool:
		return object{"type": "boolean"}, nil
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}, nil
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}, nil
		}
		items, err := g.goType(t.Elem())
		return object{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := g.goType(t.Elem())
		return object{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return g.structure(t)
	default:
		return nil, fmt.Errorf("the type %s has no form in JSON", t)
	}
}

func (g *GoTypes) structure(t reflect.Type) (object, error) {
	if name, ok := g.names[t]; ok {
		return g.Ref(name), nil
	}
	s := object{"type": "object"}
	if t.Name() != "" {
		if err := g.enter(t, s); err != nil { // before its fields, which may have this type, too
			return nil, err
		}
	}
	props, required := object{}, []string{}
	for f := range JSONFields(t) {
		p, err := g.goType(f.Of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		props[f.Name] = p
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	s["properties"] = props
	if slices.Sort(required); len(required) > 0 {
		s["required"] = required
	}
	if t.Name() == "" {
		return s, nil
	}
	return g.Ref(g.names[t]), nil
}

// enter makes a type a component. Packages may have types of one name: the later one has the name of its package in front.
func (g *GoTypes) enter(t reflect.Type, s object) error {
	name := t.Name()
	if g.Schemas[name] != nil {
		name = path.Base(t.PkgPath()) + "." + name
	}
	if g.Schemas[name] != nil {
		return fmt.Errorf("another type has the name %s, too", name)
	}
	g.Schemas[name], g.names[t] = s, name
	return nil
}

// A JSONField is a field of a struct, as encoding/json sees it.
type JSONField struct {
	Name     string
	Of       reflect.Type
	Optional bool // it is left out where it is empty
}

// JSONFields yields the fields of a struct, those of embedded structs among them.
func JSONFields(t reflect.Type) iter.Seq[JSONField] {
	return func(yield func(JSONField) bool) { eachField(t, yield) }
}

func eachField(t reflect.Type, yield func(JSONField) bool) bool {
	for f := range t.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			if !eachField(f.Type, yield) {
				return false
			}
			continue
		case name == "-", !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		optional := slices.ContainsFunc(strings.Split(rest, ","), func(o string) bool { return o == "omitempty" || o == "omitzero" })
		if !yield(JSONField{name, f.Type, optional}) {
			return false
		}
	}
	return true
}
