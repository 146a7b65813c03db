package idl

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// properties reads the fields of all structs of a folder.
func (c *compiler) properties(f *folder) {
	for _, file := range f.files {
		for _, d := range file.syntax.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.TypeSpec)
				decl := c.byObject[f.info.Defs[spec.Name]]
				if st, ok := ast.Unparen(spec.Type).(*ast.StructType); ok && decl != nil {
					c.structure(f, decl, spec.Name.Pos(), st)
				}
			}
		}
	}
}

// structure reads the fields of one struct.
func (c *compiler) structure(f *folder, decl *Decl, at token.Pos, st *ast.StructType) {
	if marker := c.marked(f, st); marker != "" {
		decl.Kind = DeclResource
		decl.Token = c.token(f, decl.Name)
		decl.Named = marker == "NamedResource"
		if !decl.Exported {
			c.fail(EUnexportedResource, at, decl.Name, "every graph can have the resource, so its name has a capital letter; write it so, or remove the marker")
		}
	}
	r := &reader{c: c, f: f, decl: decl}
	for _, field := range st.Fields.List {
		if len(field.Names) == 0 {
			r.embedded(field)
			continue
		}
		for _, id := range field.Names {
			r.field(field, id)
		}
	}
}

// marked returns the marker that a struct embeds by value, if any.
func (c *compiler) marked(f *folder, st *ast.StructType) string {
	for _, field := range st.Fields.List {
		if len(field.Names) > 0 {
			continue
		}
		if named, ok := types.Unalias(f.info.Types[field.Type].Type).(*types.Named); ok && c.isMarker(named) {
			return named.Obj().Name()
		}
	}
	return ""
}

// isMarker reports whether a type is a marker itself.
func (c *compiler) isMarker(t *types.Named) bool {
	return t.Obj().Pkg() == c.marker && strings.HasSuffix(t.Obj().Name(), "Resource")
}

// reader reads the fields of one struct.
type reader struct {
	c    *compiler
	f    *folder
	decl *Decl
	base string // the marker
	// The embedded structs that are being read, outermost first.
	inside []types.Object
}

// fail adds a finding about a field of the struct in hand.
func (r *reader) fail(class string, at token.Pos, name, format string, args ...any) {
	r.c.fail(class, at, r.decl.Name+"."+name, format, args...)
}

// embedded reads an embedded field: a marker, or a struct whose fields become those of the
// outer one.
func (r *reader) embedded(field *ast.Field) {
	t := types.Unalias(r.f.info.Types[field.Type].Type)
	at := field.Type.Pos()
	if p, ok := t.(*types.Pointer); ok {
		if named, ok := types.Unalias(p.Elem()).(*types.Named); ok {
			r.fail(EEmbedPointer, at, named.Obj().Name(), "it is embedded as a pointer; embed it without the *")
		}
		return
	}
	named, ok := t.(*types.Named)
	if !ok {
		if basic, ok := t.(*types.Basic); ok && basic.Kind() != types.Invalid {
			r.fail(EBadType, at, basic.Name(), "only markers and structs are embedded; give the field a name")
		}
		return
	}
	name := named.Obj().Name()
	if r.c.isMarker(named) {
		r.marker(field, at, name)
		return
	}
	if field.Tag != nil {
		r.fail(ETagUnknown, at, name, "an embedded struct takes no tag; set it at its fields")
	}
	inner := r.c.byObject[named.Obj()]
	switch st, ok := named.Underlying().(*types.Struct); {
	case r.c.refused[named.Obj()]:
	case named.Underlying() == types.Typ[types.Invalid]: // Go has refused it
	case !ok || inner == nil:
		r.fail(EBadType, at, name, "only markers and structs are embedded; give the field a name")
	case r.c.hasMarker(st):
		r.fail(EEmbedResource, at, name, "a resource is not embedded; refer to it with a field of the type *%s", name)
	default:
		r.flatten(at, named.Obj())
	}
}

// marker takes the marker of a resource. It has one.
func (r *reader) marker(field *ast.Field, at token.Pos, name string) {
	if r.base != "" {
		r.fail(EEmbedResource, at, name, "the struct embeds %s already; leave one of the markers", r.base)
		return
	}
	r.base = name
	r.abilities(field, at, name)
}

// hasMarker reports whether a struct is a resource.
func (c *compiler) hasMarker(st *types.Struct) bool {
	for f := range st.Fields() {
		if named, ok := types.Unalias(f.Type()).(*types.Named); ok && f.Embedded() && c.isMarker(named) {
			return true
		}
	}
	return false
}

// specOf finds the syntax of a struct, and the folder that it is in.
func (c *compiler) specOf(object types.Object) (*folder, *ast.StructType) {
	f := c.folders[object.Pkg().Path()]
	if f == nil {
		return nil, nil
	}
	for _, file := range f.files {
		for _, d := range file.syntax.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.TypeSpec)
				if st, ok := ast.Unparen(spec.Type).(*ast.StructType); ok && f.info.Defs[spec.Name] == object {
					return f, st
				}
			}
		}
	}
	return nil, nil
}

// flatten takes the fields of an embedded struct. Their own faults are said where they are
// written. Here only names that are there twice count.
func (r *reader) flatten(at token.Pos, object types.Object) {
	f, st := r.c.specOf(object)
	if st == nil || slices.Contains(r.inside, object) {
		return // Go has refused it, such as a struct that embeds itself
	}
	silent := &compiler{o: r.c.o, fset: r.c.fset, folders: r.c.folders, marker: r.c.marker, byObject: r.c.byObject, refused: r.c.refused}
	inner := &reader{c: silent, f: f, decl: &Decl{Name: r.decl.Name, Exported: object.Exported()}, inside: append(slices.Clip(r.inside), object)}
	for _, field := range st.Fields.List {
		if len(field.Names) == 0 {
			inner.embedded(field)
		}
		for _, id := range field.Names {
			inner.field(field, id)
		}
	}
	for _, field := range inner.decl.Fields {
		r.add(at, field)
	}
}

// field reads one field with a name. It stops at the first fault of the field, since the next
// one would often follow from it.
func (r *reader) field(field *ast.Field, id *ast.Ident) {
	at, name := id.Pos(), id.Name
	if !id.IsExported() {
		r.fail(EUnexportedField, at, name, "a property is a field with a capital letter; write it so, or remove it")
		return
	}
	tag, ok := r.tag(field, at, name)
	if !ok {
		return
	}
	object := r.f.info.Defs[id]
	if object == nil {
		return // Go has refused the field before it had a type
	}
	t := types.Unalias(object.Type())
	pointer, isPointer := t.(*types.Pointer)
	shape, fault := r.c.shape(t, true)
	if fault != nil {
		r.fail(fault.class, at, name, "%s", fault.text)
	}
	if shape == nil {
		return
	}
	out := &Field{
		Key: tag.name, Name: name, Doc: docOf(field.Doc, field.Comment), Shape: shape, Optional: tag.optional, Out: tag.out, In: tag.in, Replaces: tag.replaces,
		Lend: tag.lend, Deprecated: tag.deprecated, Pos: r.c.pos(at),
	}
	if out.Key == "" {
		out.Key = Property(name)
	}
	reference := isPointer && (r.c.isResource(pointer.Elem()) || shape.Blob != "")
	out.Pointer = isPointer && (!reference || out.Optional || out.Out)
	if r.optional(at, out, isPointer, reference) && r.roles(at, out) && r.constrain(at, out, tag) {
		r.add(at, out)
	}
}

// optional checks that a property is a pointer if, and only if, it may be absent. So an author
// can't mistake absence for an empty text. References and assets are pointers in any case.
func (r *reader) optional(at token.Pos, f *Field, pointer, reference bool) bool {
	switch {
	case f.Optional && !pointer:
		r.fail(EOptionalNotPointer, at, f.Name, "an optional property is a pointer, so that its absence can be told; write a * before the type, or remove optional")
	case pointer && !reference && !f.Optional && !f.Out:
		r.fail(EPointerNotOptional, at, f.Name, "only an optional property and an output are pointers; tag it optional, or remove the *")
	default:
		return true
	}
	return false
}

// roles checks options that only resources have.
func (r *reader) roles(at token.Pos, f *Field) bool {
	resource := r.decl.Kind == DeclResource
	switch {
	case f.Replaces && f.Out:
		r.fail(EOutReplaces, at, f.Name, "the provider sets an output, so nobody else changes it; remove out or replaces")
	case f.Replaces && !resource:
		r.fail(EReplacesNotResource, at, f.Name, "only properties of resources are marked with replaces; mark the property that holds the struct")
	case f.Lend != schema.LendNone && (f.Out || !resource):
		r.fail(ELend, at, f.Name, "another host gives inputs of resources alone; remove lend, and mark the property that holds a struct")
	case f.In && (f.Out || !resource):
		r.fail(EIn, at, f.Name, "only an input of a resource is kept from its outputs; remove in, or mark the property that holds the struct")
	case f.Out && !resource:
		r.fail(EOutNotResource, at, f.Name, "only properties of resources are outputs; make the property that holds the struct an output")
	default:
		return true
	}
	return false
}

// reserved are names that a graph, or a class in TypeScript, has for something else.
var reserved = append([]string{"id", "urn", "constructor"}, schema.ReservedKeys...)

// add takes a property whose name is free.
func (r *reader) add(at token.Pos, f *Field) {
	resource := r.decl.Kind == DeclResource
	taken := resource && r.decl.Named && (f.Key == "name" || f.Name == "Name")
	for _, other := range r.decl.Fields {
		taken = taken || other.Key == f.Key || other.Name == f.Name
	}
	switch {
	case taken:
		r.fail(EDuplicateProperty, at, f.Name, "the property %q is there already; give this one another name with name=", f.Key)
	case resource && slices.Contains(reserved, f.Key), f.Key == "__proto__":
		r.fail(EReservedProperty, at, f.Name, "%q means something else in every resource; give the property another name with name=", f.Key)
	case r.decl.Exported && f.Shape.unexported() != nil:
		r.fail(EUnexportedType, at, f.Name, "the type %s has a small letter, so only its module can use it; write it with a capital letter, as its user %s", f.Shape.unexported().Name, r.decl.Name)
	case !plainName(f.Key):
		r.fail(ETagName, at, f.Name, "the name %q of the property has other characters than letters of English, digits and _; give it a name with name=", f.Key)
	default:
		r.decl.Fields = append(r.decl.Fields, f)
	}
}

// unexported returns a type of the module alone that a shape speaks of, nil for none.
func (s *Shape) unexported() *Decl {
	for ; s != nil; s = s.Elem {
		for _, d := range []*Decl{s.Decl, s.Keys} {
			if d != nil && !d.Exported && s.Type.Kind != schema.KindRef { // a resource is refused where it is declared
				return d
			}
		}
	}
	return nil
}

// plainName reports whether every target can write a name without quotes.
func plainName(s string) bool {
	return s != "" && strings.Trim(s[:1], "0123456789") != "" &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
}
