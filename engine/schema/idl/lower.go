package idl

import (
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// lowerAll makes the schema.Type of every struct and every resource. A few small structs inside
// of each other can stand for a type that no memory holds, so the parts of all together are
// counted.
func (c *compiler) lowerAll(p *Package) {
	l := lowering{}
	for _, d := range p.Decls() {
		if d.Kind != DeclStruct && d.Kind != DeclResource {
			continue
		}
		d.Type = l.structure(d)
		if l.parts > maxParts {
			c.found = append(c.found, schema.Diagnostic{Class: ETooLarge, Pos: d.Pos, Path: d.Name,
				Message: fmt.Sprintf("%s: the definitions have more than %d properties, counted wherever a struct is used; divide them", d.Name, maxParts)})
			return
		}
	}
}

// lowering is the way into one type, and the number of all properties so far.
type lowering struct {
	parts int
	open  []opened
}

// opened is a struct whose fields are being lowered.
type opened struct {
	decl *Decl
	t    *schema.Type
}

// structure lowers a struct, or links to it where it is inside of itself.
func (l *lowering) structure(d *Decl) *schema.Type {
	for _, o := range l.open {
		if o.decl == d {
			return &schema.Type{Kind: schema.KindStruct, Name: o.t.Name, Link: o.t}
		}
	}
	t := &schema.Type{Kind: schema.KindStruct, Name: l.name(d), Doc: d.Doc}
	l.open = append(l.open, opened{d, t})
	if d.Named {
		t.Fields = append(t.Fields, &schema.Field{
			Key: "name", GoName: "Name", Role: schema.RoleIdentity, Replaces: true, Type: &schema.Type{Kind: schema.KindString},
			Doc: "The name of the thing: that of the resource, if nothing else is given.",
		})
	}
	for _, f := range d.Fields {
		if l.parts++; l.parts > maxParts {
			break
		}
		t.Fields = append(t.Fields, l.field(d, f))
	}
	l.open = l.open[:len(l.open)-1]
	return t
}

// name is the name of a struct, which no struct around it has: links go by the names. Structs
// of one name in two modules get that of their module before it.
func (l *lowering) name(d *Decl) string {
	if d.Kind == DeclResource {
		return d.TypeKind()
	}
	name := d.Name
	for slices.ContainsFunc(l.open, func(o opened) bool { return o.t.Name == name }) {
		name = Flat(d.File.Module.Dir) + "_" + name
	}
	return name
}

// field lowers a property. An optional one is a pointer of the Go side, so its absence is kept
// apart from the zero value.
func (l *lowering) field(d *Decl, f *Field) *schema.Field {
	out := &schema.Field{
		Key: f.Key, GoName: f.Name, Doc: f.Doc, Required: f.Required(), Replaces: f.Replaces, Lend: f.Lend, Deprecated: f.Deprecated,
		Default: f.Default, HasDefault: f.Default != nil, Type: l.shape(f.Shape),
	}
	switch {
	case f.Out:
		out.Role = schema.RoleReadOnly
	case f.In:
		out.Role = schema.RoleWriteOnly
	case f.Key == "name" && d.Kind == DeclResource:
		out.Role = schema.RoleIdentity
	}
	out.Type.Optional = f.Pointer && out.Type.Kind != schema.KindAny
	return out
}

// shape lowers the type of a property. The result is a copy, since schema.Build fills in parts
// of it.
func (l *lowering) shape(s *Shape) *schema.Type {
	t := *s.Type
	switch {
	case s.Blob != "":
		return blobType(s.Blob)
	case t.Kind == schema.KindStruct:
		return l.structure(s.Decl)
	case t.Kind == schema.KindRef && s.Decl != nil:
		t.Target = s.Decl.TypeKind()
	case t.Kind == schema.KindString && s.Decl != nil:
		t.Name, t.Doc = s.Decl.Name, s.Decl.Doc
		t.Enum, t.EnumNames = valuesOf(s.Decl)
	case s.Elem != nil:
		t.Elem = l.shape(s.Elem)
		if s.Keys != nil {
			t.Enum, t.EnumNames = valuesOf(s.Keys)
		}
	}
	return &t
}

// valuesOf returns the values of an enum, and what Go calls them.
func valuesOf(d *Decl) (values, names []string) {
	for _, v := range d.Values {
		values, names = append(values, v.Value.(string)), append(names, v.Name)
	}
	return values, names
}

// Flat makes a word of the path of a folder, for names of imports: a/b-c gives a_b_c.
func Flat(dir string) string {
	if dir == "." {
		return "index"
	}
	word := []byte(dir)
	for i, c := range word {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			word[i] = '_'
		}
	}
	return string(word)
}
