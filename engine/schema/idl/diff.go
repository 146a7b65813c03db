package idl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Level says what a change of definitions means to those who use them.
type Level uint8

// The levels of changes, the gravest last.
const (
	Cosmetic   Level = iota // for people only: docs and order
	Compatible              // graphs and programs of before still work
	Breaking                // some graph, program or resource of before does not
)

// String returns "cosmetic", "compatible" or "breaking".
func (l Level) String() string { return [...]string{"cosmetic", "compatible", "breaking"}[l] }

// Change is one difference of two packages.
type Change struct {
	Level   Level
	Path    string     // ec2.SecurityGroup.vpc
	Pos     schema.Pos // in the new package, else in the old one
	Message string
}

// Diff returns how two packages differ, in the order of the old one; new declarations come
// last. The verb `mgmt idl diff` shows it, and a release may be refused by it. A declaration
// that moved to another file of its module is the same one.
func Diff(before, after *Package) []Change {
	var d differ
	old, now := declsByName(before), declsByName(after)
	for _, o := range before.Decls() {
		name := nameOf(o)
		n := now[name]
		switch {
		case n == nil:
			d.add(Breaking, name, o.Pos, "it was removed")
		case o.Kind != n.Kind || o.Named != n.Named:
			d.add(Breaking, name, n.Pos, "it is another kind of declaration")
		default:
			d.decl(name, o, n)
		}
	}
	for _, n := range after.Decls() {
		if old[nameOf(n)] == nil {
			d.add(Compatible, nameOf(n), n.Pos, "it is new")
		}
	}
	d.packages(before, after)
	return d.found
}

// packages compares the names of the packages. The stubs of a module are a package of that name in Go, together with the
// files of their author.
func (d *differ) packages(before, after *Package) {
	for _, o := range before.Modules {
		for _, n := range after.Modules {
			if o.Dir == n.Dir && o.Name != n.Name {
				d.add(Breaking, strings.ReplaceAll(n.Dir, "/", "."), schema.Pos{File: n.Files[0].Path}, "its package in Go was %s, and is %s", o.Name, n.Name)
			}
		}
	}
}

// nameOf is the name of a declaration within its package. Its file is none of it: a type may
// move.
func nameOf(d *Decl) string {
	if d.File.Module.Dir == "." {
		return d.Name
	}
	return strings.ReplaceAll(d.File.Module.Dir, "/", ".") + "." + d.Name
}

// declsByName finds the declarations of a package by their names, which are unique in it.
func declsByName(p *Package) map[string]*Decl {
	all := map[string]*Decl{}
	for _, d := range p.Decls() {
		all[nameOf(d)] = d
	}
	return all
}

// differ collects changes.
type differ struct{ found []Change }

func (d *differ) add(l Level, path string, pos schema.Pos, format string, args ...any) {
	d.found = append(d.found, Change{l, path, pos, fmt.Sprintf(format, args...)})
}

// decl compares two declarations of one name. An ability that a graph can rely on breaks it
// when it goes; the others only change how fast something is seen.
func (d *differ) decl(name string, o, n *Decl) {
	if o.Doc != n.Doc {
		d.add(Cosmetic, name, n.Pos, "its text is another one")
	}
	if o.Token != n.Token {
		d.add(Breaking, name, n.Pos, "its token was %s, and is %s", o.Token, n.Token)
	}
	for _, a := range []struct {
		word      string
		was, is   bool
		lessBreak bool
	}{
		{"createBeforeDelete", o.CreateFirst, n.CreateFirst, false}, {"watch", o.Watch, n.Watch, false},
		{"list", o.List, n.List, true}, {"refresh", o.Refresh, n.Refresh, true}, {"collectable", o.Collectable, n.Collectable, true},
	} {
		switch {
		case a.was == a.is:
		case a.was && a.lessBreak:
			d.add(Breaking, name, n.Pos, "it has not %s any more", a.word)
		default:
			d.add(Compatible, name, n.Pos, "%s is %v now", a.word, a.is)
		}
	}
	if o.Batch != n.Batch {
		d.add(Compatible, name, n.Pos, "a batch had %d calls at most, and has %d", o.Batch, n.Batch)
	}
	if o.Kind == DeclConst && o.Of == nil && o.Value != n.Value {
		d.add(Breaking, name, n.Pos, "its value was %v, and is %v", o.Value, n.Value)
	}
	d.enum(name, o, n)
	d.fields(name, o, n)
}

// enum compares the values of enums. A value more may surprise a program that reads outputs,
// and breaks no graph.
func (d *differ) enum(name string, o, n *Decl) {
	for _, v := range o.Values {
		if !slices.ContainsFunc(n.Values, func(w *Decl) bool { return w.Value == v.Value }) {
			d.add(Breaking, name, n.Pos, "the value %q was removed", v.Value)
		}
	}
	for _, v := range n.Values {
		if !slices.ContainsFunc(o.Values, func(w *Decl) bool { return w.Value == v.Value }) {
			d.add(Compatible, name, v.Pos, "the value %q is new", v.Value)
		}
	}
}

// fields compares the properties of structs and resources.
func (d *differ) fields(name string, o, n *Decl) {
	var order []string
	for _, f := range o.Fields {
		i := slices.IndexFunc(n.Fields, func(g *Field) bool { return g.Key == f.Key })
		if i < 0 {
			d.add(Breaking, name+"."+f.Key, o.Pos, "the property was removed")
			continue
		}
		order = append(order, f.Key)
		d.field(name+"."+f.Key, f, n.Fields[i])
	}
	var kept []string
	for _, g := range n.Fields {
		switch {
		case slices.Contains(order, g.Key):
			kept = append(kept, g.Key)
		case g.Required():
			d.add(Breaking, name+"."+g.Key, g.Pos, "the property is new, and required")
		default:
			d.add(Compatible, name+"."+g.Key, g.Pos, "the property is new")
		}
	}
	if !slices.Equal(order, kept) {
		d.add(Cosmetic, name, n.Pos, "its properties are in another order")
	}
}

// field compares two properties of one name. An input that takes less breaks graphs, and an
// output that gives less breaks their readers.
func (d *differ) field(path string, o, n *Field) {
	say := func(l Level, format string, args ...any) { d.add(l, path, n.Pos, format, args...) }
	switch {
	case o.Out != n.Out:
		say(Breaking, "an input and an output are not the same")
	case !o.In && n.In:
		say(Breaking, "the provider does not give it back any more")
	case o.In && !n.In:
		say(Compatible, "the provider gives it back now")
	case o.Optional && !n.Optional && n.Out:
		say(Compatible, "it is always there now")
	case o.Optional && !n.Optional:
		say(Breaking, "it is required now")
	case !o.Optional && n.Optional && n.Out:
		say(Breaking, "it may be absent now")
	case !o.Optional && n.Optional:
		say(Compatible, "it is optional now")
	}
	switch {
	case !o.Replaces && n.Replaces:
		say(Breaking, "another value makes another resource now")
	case o.Replaces && !n.Replaces:
		say(Compatible, "another value changes the resource now")
	}
	switch {
	case o.Lend == n.Lend:
	case n.Lend == schema.LendValue || o.Lend == schema.LendNone:
		say(Compatible, "another host may give it now")
	default:
		say(Breaking, "another host may not give each value any more")
	}
	if o.Default != n.Default {
		say(Breaking, "its default was %v, and is %v", o.Default, n.Default)
	}
	if o.Doc != n.Doc || o.Deprecated != n.Deprecated {
		say(Cosmetic, "its text is another one")
	}
	if o.Name != n.Name {
		say(Breaking, "its field in Go was %s, and is %s", o.Name, n.Name)
	}
	if was, is := o.Shape.String(), n.Shape.String(); was != is {
		say(Breaking, "its type was %s, and is %s", was, is)
		return
	}
	d.bounds(path, n.Pos, o.Shape, n.Shape)
}

// String writes a type as the definitions do.
func (s *Shape) String() string {
	if s.Decl != nil {
		name := nameOf(s.Decl)
		if s.Type.Kind == schema.KindRef {
			name = "*" + name
		}
		return name
	}
	if s.Blob != "" {
		return "*idl." + s.Blob
	}
	switch s.Type.Kind {
	case schema.KindList:
		return "[]" + s.Elem.String()
	case schema.KindMap:
		key := "string"
		if s.Keys != nil {
			key = nameOf(s.Keys)
		}
		return "map[" + key + "]" + s.Elem.String()
	case schema.KindRef:
		return "*idl.Resource"
	}
	word := map[schema.Kind]string{schema.KindAny: "any", schema.KindBool: "bool", schema.KindFloat: "float64", schema.KindString: "string"}[s.Type.Kind]
	if s.Type.Secret {
		word = "secret " + word
	}
	return word
}

// bounds compares the constraints of types of one shape. A narrower one breaks; a wider one
// does not.
func (d *differ) bounds(path string, pos schema.Pos, o, n *Shape) {
	a, b := o.Type, n.Type
	narrow := narrower(a.FloatMin, b.FloatMin, 1) || narrower(a.FloatMax, b.FloatMax, -1) || narrower(a.Min, b.Min, 1) || narrower(a.Max, b.Max, -1)
	wide := narrower(b.FloatMin, a.FloatMin, 1) || narrower(b.FloatMax, a.FloatMax, -1) || narrower(b.Min, a.Min, 1) || narrower(b.Max, a.Max, -1)
	for _, text := range [][2]string{{a.Pattern, b.Pattern}, {a.Format, b.Format}} {
		narrow = narrow || text[0] != text[1] && text[1] != ""
		wide = wide || text[0] != text[1] && text[1] == ""
	}
	switch {
	case narrow:
		d.add(Breaking, path, pos, "it takes less than before")
	case wide:
		d.add(Compatible, path, pos, "it takes more than before")
	}
	if o.Elem != nil {
		d.bounds(path, pos, o.Elem, n.Elem)
	}
}

// narrower reports whether a bound leaves less room than the one before. The sign is 1 for a
// lower bound and -1 for an upper one.
func narrower[N int64 | float64](was, is *N, sign N) bool {
	return is != nil && (was == nil || (*is-*was)*sign > 0)
}
