package idl

import (
	"fmt"
	"go/types"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// fault is why a type is refused.
type fault struct{ class, text string }

// faultf returns a fault of a class. Its text says how to go on.
func faultf(class, format string, args ...any) *fault {
	return &fault{class, fmt.Sprintf(format, args...)}
}

// shape reads the type of a property. It returns neither shape nor fault where Go has refused
// the type, or where it was refused at its own declaration. top says that a pointer is allowed.
func (c *compiler) shape(t types.Type, top bool) (*Shape, *fault) {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return basicShape(t)
	case *types.Named:
		return c.namedShape(t)
	case *types.Pointer:
		return c.pointerShape(t, top)
	case *types.Slice:
		elem, fault := c.shape(t.Elem(), false)
		if elem == nil {
			return nil, fault
		}
		return &Shape{Type: &schema.Type{Kind: schema.KindList}, Elem: elem}, nil
	case *types.Map:
		return c.mapShape(t)
	case *types.Struct:
		return nil, faultf(EInlineStruct, "a struct without a name is not supported; declare it with a name, and use that")
	case *types.Interface:
		if t.Empty() {
			return &Shape{Type: &schema.Type{Kind: schema.KindAny}}, nil
		}
	}
	return nil, faultf(EBadType, "the type %s is not supported; use a bool, a float64, a string, a struct, an enum, a slice, a map with keys of text, or a pointer to a resource", typeText(t))
}

// typeText writes a type for a message.
func typeText(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// basicShape reads a predeclared type. JSON has one kind of number, so Go has one here too.
func basicShape(t *types.Basic) (*Shape, *fault) {
	switch t.Kind() {
	case types.Invalid:
		return nil, nil
	case types.Bool:
		return &Shape{Type: &schema.Type{Kind: schema.KindBool}}, nil
	case types.Float64:
		return &Shape{Type: &schema.Type{Kind: schema.KindFloat, Bits: 64}}, nil
	case types.String:
		return &Shape{Type: &schema.Type{Kind: schema.KindString}}, nil
	}
	if t.Info()&types.IsNumeric != 0 {
		return nil, faultf(EBadPrimitive, "%s is not supported; numbers are float64", t.Name())
	}
	return nil, faultf(EBadPrimitive, "%s is not supported; use bool, float64 or string", t.Name())
}

// namedShape reads a struct or an enum of the definitions.
func (c *compiler) namedShape(t *types.Named) (*Shape, *fault) {
	decl := c.byObject[t.Obj()]
	st, isStruct := t.Underlying().(*types.Struct)
	switch {
	case c.refused[t.Obj()]:
		return nil, nil
	case t.Obj().Pkg() == c.marker && !c.isMarker(t):
		return nil, faultf(EResourceByValue, "it is referred to with a pointer: *%s", typeText(t))
	case c.isMarker(t) || isStruct && c.hasMarker(st):
		return nil, faultf(EResourceByValue, "a resource is not a part of another one; refer to it with the type *%s", t.Obj().Name())
	case decl == nil:
		return nil, faultf(EBadType, "the type %s is not supported; only types of the definitions are", typeText(t))
	case decl.Kind == DeclEnum:
		return &Shape{Type: &schema.Type{Kind: schema.KindString}, Decl: decl}, nil
	}
	return &Shape{Type: &schema.Type{Kind: schema.KindStruct}, Decl: decl}, nil
}

// isResource reports whether a type is one of resources, or stands for all of them.
func (c *compiler) isResource(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	st, ok := named.Underlying().(*types.Struct)
	return ok && (c.isMarker(named) || c.hasMarker(st))
}

// pointerShape reads a reference to a resource, or an optional property.
func (c *compiler) pointerShape(t *types.Pointer, top bool) (*Shape, *fault) {
	elem := types.Unalias(t.Elem())
	if _, twice := elem.(*types.Pointer); twice {
		return nil, faultf(EBadPointer, "a pointer to a pointer is not supported; write one *")
	}
	if c.isResource(elem) {
		return &Shape{Type: &schema.Type{Kind: schema.KindRef}, Decl: c.byObject[elem.(*types.Named).Obj()]}, nil
	}
	if named, ok := elem.(*types.Named); ok && named.Obj().Pkg() == c.marker {
		return &Shape{Type: blobType(named.Obj().Name()), Blob: named.Obj().Name()}, nil
	}
	if !top {
		return nil, faultf(EPointerNotOptional, "only references to resources, assets and archives are pointers inside of a list or a map; remove the *")
	}
	return c.shape(elem, false)
}

// blobType is the type of an asset or an archive: a map with one of a few keys.
func blobType(name string) *schema.Type {
	keys := []string{"path", "uri", "text"}
	if name == "Archive" {
		keys = keys[:2]
	}
	return &schema.Type{Kind: schema.KindMap, Enum: keys, Min: new(int64(1)), Max: new(int64(1)), Elem: &schema.Type{Kind: schema.KindString}}
}

// mapShape reads a map. JSON has keys of text only; those of an enum are texts too.
func (c *compiler) mapShape(t *types.Map) (*Shape, *fault) {
	key := types.Unalias(t.Key())
	var keys *Decl
	switch k := key.(type) {
	case *types.Basic:
		if k.Kind() != types.String && k.Kind() != types.Invalid {
			return nil, faultf(EMapKey, "the keys of a map are text or an enum, not %s; use string", k.Name())
		}
	case *types.Named:
		keys = c.byObject[k.Obj()]
		if c.refused[k.Obj()] {
			return nil, nil
		}
		if keys == nil || keys.Kind != DeclEnum {
			return nil, faultf(EMapKey, "the keys of a map are text or an enum, not %s; use string", typeText(k))
		}
	default:
		return nil, faultf(EMapKey, "the keys of a map are text or an enum, not %s; use string", typeText(k))
	}
	elem, fault := c.shape(t.Elem(), false)
	if elem == nil {
		return nil, fault
	}
	return &Shape{Type: &schema.Type{Kind: schema.KindMap}, Elem: elem, Keys: keys}, nil
}
