package idl

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Package is a compiled folder of definitions. It is immutable, and safe for concurrent use.
type Package struct {
	Name    string    // begins every token: aws
	Modules []*Module // in the order of their folders
}

// Module is one folder: a package of Go.
type Module struct {
	Dir   string  // relative to the root, with slashes; "." for the root itself
	Name  string  // of the package in Go
	Path  string  // by which Go imports it
	Files []*File // in the order of their names
}

// File is one file of definitions.
type File struct {
	Path   string // relative to the root, with slashes: ec2/instance.go
	Module *Module
	Decls  []*Decl // in the order of the source
}

// DeclKind tells declarations apart.
type DeclKind uint8

// The kinds of declarations.
const (
	DeclStruct   DeclKind = iota // a part of resources
	DeclResource                 // a type of resources
	DeclEnum                     // a closed set of texts
	DeclConst                    // a constant; one of an enum has Of
)

// Decl is one declaration. Which fields it has follows from Kind.
type Decl struct {
	Kind     DeclKind
	Name     string // as it is written in Go
	Doc      string // without the marks of a comment
	Exported bool
	File     *File
	Pos      schema.Pos

	Token string // of a resource: aws:ec2:SecurityGroup
	Named bool   // of a resource: it embeds NamedResource
	// Of a resource: the abilities of its provider beyond the necessary ones. Batch is the
	// greatest number of calls at once, 0 for none.
	CreateFirst, Watch, List, Refresh, Collectable bool
	Batch                                          int

	Fields []*Field     // of a struct and of a resource; without the name of a named one
	Type   *schema.Type // of a struct and of a resource, not built yet; its name is the kind of a resource

	Values []*Decl // of an enum: its constants
	Of     *Decl   // of a constant: its enum; nil for another one
	Value  any     // of a constant: a bool, a float64 or a string
}

// TypeKind is the kind of the resources of a type in a graph: its token in lower case.
func (d *Decl) TypeKind() string { return strings.ToLower(d.Token) }

// Field is one property.
type Field struct {
	Key        string // in a graph and in TypeScript
	Name       string // in Go
	Doc        string
	Shape      *Shape
	Pointer    bool // it is a pointer in Go, so absence is told from the zero value
	Optional   bool // the declaration of a resource may leave it out; of an output: it may be absent
	Out        bool // the provider sets it
	In         bool // the provider takes it, and does not give it back
	Replaces   bool // another value makes another resource
	Lend       schema.Lend
	Deprecated string
	Default    any // of an optional one: the value that stands for absence; nil for none
	Pos        schema.Pos
}

// Required reports whether a resource must be declared with the property.
func (f *Field) Required() bool { return !f.Optional && !f.Out }

// Shape is the type of a property, with the names that its parts have in the source.
type Shape struct {
	Type *schema.Type // the kind and the constraints; without parts
	Decl *Decl        // of a struct, an enum or a reference; nil for a reference to any resource
	Blob string       // of an asset or an archive: its name in the package of the markers
	Elem *Shape       // of a list and of a map
	Keys *Decl        // of a map: the enum of its keys; nil for any text
}

// Decls returns the declarations of a package in their order: by folder, by file, then as
// written.
func (p *Package) Decls() []*Decl {
	var all []*Decl
	for _, f := range p.Files() {
		all = append(all, f.Decls...)
	}
	return all
}

// Files returns the files of a package in their order.
func (p *Package) Files() []*File {
	var all []*File
	for _, m := range p.Modules {
		all = append(all, m.Files...)
	}
	return all
}

// Resources returns the types of resources in their order.
func (p *Package) Resources() []*Decl {
	var all []*Decl
	for _, d := range p.Decls() {
		if d.Kind == DeclResource {
			all = append(all, d)
		}
	}
	return all
}

// Sends returns the type of the outputs of a resource, nil where it has none.
func (d *Decl) Sends() *schema.Type {
	if d.Type == nil {
		return nil
	}
	out := &schema.Type{Kind: schema.KindStruct, Name: d.Type.Name}
	for _, f := range d.Type.Fields {
		if f.Role == schema.RoleReadOnly {
			out.Fields = append(out.Fields, f)
		}
	}
	if len(out.Fields) == 0 {
		return nil
	}
	return out
}
