package idl

import (
	"go/token"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// collide refuses declarations that would have the same name in a target. A struct may have the
// name that is generated for another one, and two kinds may differ in capitals only.
func (c *compiler) collide(p *Package) {
	kinds := map[string]*Decl{}
	for _, m := range p.Modules {
		declared := map[string]*Decl{}
		for _, f := range m.Files {
			for _, d := range f.Decls {
				declared[d.Name] = d
			}
		}
		generated := map[string]*Decl{}
		for _, f := range m.Files {
			for _, d := range f.Decls {
				c.collideOne(d, declared, generated)
				if before := kinds[d.TypeKind()]; d.Kind == DeclResource && before != nil {
					c.collision(d, before, d.TypeKind())
				} else if d.Kind == DeclResource {
					kinds[d.TypeKind()] = d
				}
			}
		}
	}
}

// collideOne enters the names that are generated for a declaration.
func (c *compiler) collideOne(d *Decl, declared, generated map[string]*Decl) {
	for _, name := range d.generatedNames() {
		if other := declared[name]; other != nil && other != d {
			c.collision(other, d, name)
			continue
		}
		if other := generated[name]; other != nil {
			c.collision(d, other, name)
			continue
		}
		generated[name] = d
	}
}

// collision says once for each declaration that it has to have another name.
func (c *compiler) collision(d, with *Decl, name string) {
	if slices.ContainsFunc(c.found, func(x schema.Diagnostic) bool { return x.Class == ENameCollision && x.Pos == d.Pos }) {
		return
	}
	c.found = append(c.found, schema.Diagnostic{Class: ENameCollision, Pos: d.Pos, Path: d.Name,
		Message: d.Name + ": the name " + name + " is generated for " + with.Name + "; choose another name",
		Related: []schema.Related{{Pos: with.Pos, Message: "for this declaration"}}})
}

// generatedNames are the names that the targets make for a declaration. Its own name is not
// among them.
func (d *Decl) generatedNames() []string {
	var names []string
	if d.Kind != DeclStruct && d.Kind != DeclResource {
		return nil
	}
	if lower := d.Lower(); lower != d.Name {
		names = append(names, lower)
	}
	if d.Exported {
		names = append(names, d.Name+"Data")
	}
	if d.Kind == DeclResource {
		names = append(names, d.Name+"Args", d.Name+"Provider", d.Name+"ProviderOps", "New"+d.Name+"Provider")
	}
	return names
}

// predeclared are the names that Go has in every file.
var predeclared = strings.Fields(`any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
	uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex copy delete imag len make max min new panic print
	println real recover init main`)

// Lower is the name of the struct of a declaration in stubs: its own with a small first letter.
// A word that means something else in Go gets an underscore.
func (d *Decl) Lower() string {
	name := Property(d.Name)
	if token.IsKeyword(name) || slices.Contains(predeclared, name) {
		return name + "_"
	}
	return name
}
