package httpd

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
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// schema describes a *schema.Type, or the Go type of a value. Structs that have a name
// become components, so that a type may hold itself.
func (d *describer) schema(of any) (object, error) {
	if t, ok := of.(*schema.Type); ok {
		return fromType(t)
	}
	return d.goType(reflect.TypeOf(of))
}

// fromType describes a type of the graph, without the name of its dialect: OpenAPI 3.1
// has the same one.
func fromType(t *schema.Type) (object, error) {
	text, err := derive.JSONSchema(t)
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

func (d *describer) goType(t reflect.Type) (object, error) {
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}, nil
	case t == numType:
		return object{"type": "number"}, nil
	case t == rawType, t.Kind() == reflect.Interface, t.Implements(jsonType):
		return object{}, nil
	case t.Implements(textType):
		return object{"type": "string"}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.goType(t.Elem())
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
		items, err := d.goType(t.Elem())
		return object{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := d.goType(t.Elem())
		return object{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return d.structure(t)
	default:
		return nil, fmt.Errorf("the type %s has no form in JSON", t)
	}
}

func (d *describer) structure(t reflect.Type) (object, error) {
	if name, ok := d.names[t]; ok {
		return refTo(name), nil
	}
	s := object{"type": "object"}
	if t.Name() != "" {
		if err := d.enter(t, s); err != nil { // before its fields, which may have this type, too
			return nil, err
		}
	}
	props, required := object{}, []string{}
	for f := range jsonFields(t) {
		p, err := d.goType(f.of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		props[f.name] = p
		if !f.optional {
			required = append(required, f.name)
		}
	}
	s["properties"] = props
	if slices.Sort(required); len(required) > 0 {
		s["required"] = required
	}
	if t.Name() == "" {
		return s, nil
	}
	return refTo(d.names[t]), nil
}

// enter makes a type a component. Packages may have types of one name: the later one has the name of its package in front.
func (d *describer) enter(t reflect.Type, s object) error {
	name := t.Name()
	if d.schemas[name] != nil {
		name = path.Base(t.PkgPath()) + "." + name
	}
	if d.schemas[name] != nil {
		return fmt.Errorf("another type has the name %s, too", name)
	}
	d.schemas[name], d.names[t] = s, name
	return nil
}

// jsonField is a field of a struct, as encoding/json sees it.
type jsonField struct {
	name     string
	of       reflect.Type
	optional bool
}

// jsonFields yields the fields of a struct, those of embedded structs among them.
func jsonFields(t reflect.Type) iter.Seq[jsonField] {
	return func(yield func(jsonField) bool) { eachField(t, yield) }
}

func eachField(t reflect.Type, yield func(jsonField) bool) bool {
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
		if !yield(jsonField{name, f.Type, optional}) {
			return false
		}
	}
	return true
}
