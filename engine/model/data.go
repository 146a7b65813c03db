package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Description is a model that is written as data, in a file of the folder that the setting models names. Registry.Load
// makes models of descriptions. The keys are those of the tags.
//
// A description can say all that a Spec can say, except hooks, which need code. Its faults have positions.
type Description struct {
	Model      string                          `yaml:"model" mgmt:"required" doc:"The name of the model."`
	Table      string                          `yaml:"table" doc:"Where its objects are kept; empty for a model that is only nested."`
	Doc        string                          `yaml:"doc" doc:"What the model is, in Markdown."`
	Plain      bool                            `yaml:"plain" doc:"It has no id: a struct inside of other models."`
	Mixins     []string                        `yaml:"mixins" mgmt:"enum=topic|version|name|unique_key|events" doc:"Parts that many models have."`
	Bases      []string                        `yaml:"bases" doc:"Models whose fields, indexes and events it has, too."`
	Fields     map[string]FieldDescription     `yaml:"fields" doc:"The fields by their keys."`
	Indexes    map[string][]string             `yaml:"indexes" doc:"Dotted paths by the name of the index."`
	Events     []string                        `yaml:"events" doc:"The names of own events."`
	Operations map[string]OperationDescription `yaml:"operations" doc:"Changes of one object that have a name."`
	Schema     int                             `yaml:"schema" mgmt:"min=0" doc:"The version of the records; 1 without one."`
	Reads      int                             `yaml:"reads" mgmt:"min=0" doc:"The lowest version whose programs read the records."`
	Migrations []MigrationDescription          `yaml:"migrations" doc:"One step for each version below the present one."`
}

// FieldDescription describes one field, or the elements of a list, a set or a map.
//
// A list, a set and a map may be nested in each other.
type FieldDescription struct {
	Type     string            `yaml:"type" mgmt:"required,enum=string|int|float|bool|duration|size|secret|ip|cidr|mac|portrange|uri|email|semver|any|list|set|map|object" doc:"The type of the value."`
	Of       *FieldDescription `yaml:"of" doc:"The elements of a list, a set or a map."`
	Model    string            `yaml:"model" doc:"With object: the model that is nested."`
	Ref      string            `yaml:"ref" doc:"With string: the model or the table whose object the text names by id."`
	Values   []string          `yaml:"values" doc:"With string: the only values."`
	Pattern  string            `yaml:"pattern" doc:"With string: a regular expression that the text matches."`
	Min      *int64            `yaml:"min" doc:"The smallest number, or length."`
	Max      *int64            `yaml:"max" doc:"The greatest number, or length."`
	Required bool              `yaml:"required" doc:"No object is without it."`
	Default  any               `yaml:"default" doc:"The value that is shown where none is set."`
	Doc      string            `yaml:"doc" doc:"What the field means."`
}

// OperationDescription has one of its keys. The argument of the operation is called value, or, with set, as the field
// is.
type OperationDescription struct {
	Set    string `yaml:"set" doc:"The field that gets the argument."`
	Add    string `yaml:"add" doc:"The list that the argument is added to."`
	Remove string `yaml:"remove" doc:"The list that the argument is taken out of."`
}

// MigrationDescription is one step: first rename, then drop, then default.
//
// A step that needs more is written in Go, as a Migration.
type MigrationDescription struct {
	From    int               `yaml:"from" mgmt:"required,min=1" doc:"The version that the step begins with."`
	Rename  map[string]string `yaml:"rename" doc:"New names by old names."`
	Drop    []string          `yaml:"drop" doc:"Fields that are left out."`
	Default map[string]any    `yaml:"default" doc:"Values of fields that a record lacks."`
}

// Load makes models of descriptions, one for each tree, and adds those with a table. A description may name models that
// the registry has, and the descriptions may come in any order. Every fault comes at once, with its position. Where
// there is one, the registry stays as it was.
func (r *Registry) Load(trees []*schema.Node) schema.Diagnostics {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := &Registry{byName: maps.Clone(r.byName), tables: maps.Clone(r.tables), kinds: r.kinds, made: map[string]kindModel{}}
	f := &fromData{known: next, all: map[string]*described{}, made: map[string]*Model{}, open: map[string]bool{}}
	f.read(trees)
	for _, name := range slices.Sorted(maps.Keys(f.all)) {
		f.get(name, f.all[name].name(), name)
	}
	f.register()
	if f.found.Errors() == 0 {
		r.byName, r.tables = next.byName, next.tables
	}
	return f.found.All()
}

// described is a description with the tree that it was read from.
type described struct {
	Description
	tree *schema.Node
}

// name returns the place of the model's name.
func (d *described) name() *schema.Node { return cmp.Or(d.tree.Get("model"), d.tree) }

// fromData makes each model once, whatever order the descriptions come in.
type fromData struct {
	known *Registry
	all   map[string]*described // by name
	made  map[string]*Model     // nil for one with a fault
	open  map[string]bool       // being made
	holes int                   // faults that leave a Spec without a type or a base
	found schema.Findings
}

// read reads the descriptions by name. An unreadable description makes its name faulty, where it has so much.
func (f *fromData) read(trees []*schema.Node) {
	for _, n := range trees {
		d := &described{tree: n}
		ds := schema.Decode(n, &d.Description)
		f.found.Add(ds...)
		switch first := f.all[d.Model]; {
		case ds.Err() != nil:
			if name := n.Get("model"); name != nil {
				f.made[name.Text] = nil // so that no other model is told that it is absent
			}
		case first != nil:
			f.found.Add(schema.Diagnostic{
				Severity: schema.Error, Pos: d.name().Pos, Message: fmt.Sprintf("model %q is described twice", d.Model),
				Related: []schema.Related{{Pos: first.name().Pos, Message: "the first description is here"}},
			})
		default:
			f.all[d.Model] = d
		}
	}
}

// get returns a model that another model names at a place, nil after a fault. A model that is being made is inside of itself.
func (f *fromData) get(name string, at *schema.Node, from string) *Model {
	if m, ok := f.made[name]; ok {
		if m == nil {
			f.holes++
		}
		return m
	}
	d := f.all[name]
	switch {
	case d == nil:
		m, err := f.known.Model(name)
		if err == nil && m.Kind() == "" {
			return m
		}
		f.holes++
		f.found.Add(schema.Diagnostic{
			Severity: schema.Error, Pos: at.Pos, Message: fmt.Sprintf("model %q names the model %q, and there is no such model", from, name),
			Suggestion: schema.Nearest(name, slices.Collect(maps.Keys(f.all))),
		})
		return nil
	case f.open[name]:
		f.holes++
		f.found.Errorf(at.Pos, "model %q is inside of itself", name)
		return nil
	}
	f.open[name] = true
	defer delete(f.open, name)
	before, holes := f.found.Errors(), f.holes
	s := f.spec(d)
	f.made[name] = nil
	if f.holes > holes {
		return nil
	}
	m, err := Define(s)
	f.take(d, err)
	f.aims(d, m)
	if f.found.Errors() > before {
		return nil
	}
	f.made[name] = m
	return m
}

// take adds the Errors of a description, each with the place of the part that it is about.
func (f *fromData) take(d *described, err error) {
	for _, e := range Faults(err) {
		at := d.name()
		for n, rest := d.tree, e.Field; rest != "" && n != nil; {
			key, more, _ := strings.Cut(rest, ".")
			if next := n.Get(rest); next != nil { // the last key may have dots
				key, more = rest, ""
			}
			if n = n.Get(key); n != nil {
				at = n
			}
			rest = more
		}
		f.found.Add(schema.Diagnostic{Severity: schema.Error, Pos: at.Pos, Message: e.Message, Suggestion: e.Suggestion})
	}
}

// register adds the models with a table, and then checks what models say about each other.
func (f *fromData) register() {
	names := slices.Sorted(maps.Keys(f.all))
	for _, name := range names {
		if m := f.made[name]; m != nil && m.FirstClass() {
			f.take(f.all[name], f.known.Add(m))
		}
	}
	faulty := map[string]bool{} // a model that refers to these has no fault
	for name, m := range f.made {
		if faulty[name] = m == nil; m == nil && f.all[name] != nil {
			faulty[f.all[name].Table] = true
		}
	}
	faults := f.found.Errors()
	for _, name := range names {
		m := f.made[name]
		if m == nil {
			continue
		}
		f.take(f.all[name], f.known.checkTargets(m, faulty))
		if faults == 0 {
			f.take(f.all[name], f.known.checkPaths(m))
		}
	}
}

// mixinNames are the words of Description.Mixins.
var mixinNames = map[string]Mixin{"topic": Topic, "version": Version, "name": Name, "unique_key": UniqueKey, "events": BasicEvents}

// spec turns a description into a Spec. Faults are kept. A fault that leaves a hole makes the Spec of no use.
// After any other fault Define goes on: its faults come at the same time.
func (f *fromData) spec(d *described) Spec {
	s := Spec{
		Name: d.Model, Table: d.Table, Doc: d.Doc, Plain: d.Plain, Indexes: d.Indexes, Events: d.Events,
		Schema: d.Schema, Reads: d.Reads, Operations: map[string]Operation{},
	}
	for _, x := range d.Mixins {
		s.Mixins = append(s.Mixins, mixinNames[x])
	}
	for i, base := range d.Bases {
		if m := f.get(base, d.tree.Get("bases").Items[i], d.Model); m != nil {
			s.Bases = append(s.Bases, m)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Fields)) {
		own := d.Fields[key]
		field := Field{Key: key, Doc: own.Doc, Required: own.Required, Default: own.Default}
		field.Type = f.typeOf(d.Model, &field, &own, d.tree.Get("fields").Get(key))
		s.Fields = append(s.Fields, field)
	}
	f.operations(&s, d)
	for i, step := range d.Migrations {
		if slices.ContainsFunc(s.Migrations, func(m Migration) bool { return m.From == step.From }) {
			f.found.Errorf(d.tree.Get("migrations").Items[i].Pos, "model %q: there is a migration from version %d already", d.Model, step.From)
		}
		s.Migrations = append(s.Migrations, Migration{From: step.From, Up: step.up})
	}
	return s
}

// operations adds the operations of a description.
func (f *fromData) operations(s *Spec, d *described) {
	for _, name := range slices.Sorted(maps.Keys(d.Operations)) {
		op, at := d.Operations[name], d.tree.Get("operations").Get(name)
		ways := 0
		for _, way := range []struct {
			field string
			make  func(string) Operation
		}{{op.Set, SetField}, {op.Add, AddTo}, {op.Remove, RemoveFrom}} {
			if way.field != "" {
				s.Operations[name] = way.make(way.field)
				ways++
			}
		}
		if ways != 1 {
			f.found.Errorf(at.Pos, "model %q: the operation %s needs one of set, add and remove", s.Name, name)
		}
	}
}

// aims reports operations on absent fields, and operations of lists on other fields.
func (f *fromData) aims(d *described, m *Model) {
	for _, name := range slices.Sorted(maps.Keys(d.Operations)) {
		op := d.Operations[name]
		key := op.Set + op.Add + op.Remove
		at := d.tree.Get("operations").Get(name)
		switch {
		case m == nil, key == "":
		case m.Field(key) == nil:
			f.found.Add(schema.Diagnostic{
				Severity: schema.Error, Pos: at.Pos, Message: fmt.Sprintf("model %q: the operation %s is about %s, and there is no such field", d.Model, name, key),
				Suggestion: schema.Nearest(key, m.keys()),
			})
		case op.Set == "" && m.Field(key).Type.Kind != schema.KindList:
			f.found.Errorf(at.Pos, "model %q: the operation %s is about %s, which is no list", d.Model, name, key)
		}
	}
}

// typeOf returns the type of a field or of its elements; nil for a nested object. The type alone cannot say the target,
// the set, and the nested model, so those are noted in the field.
func (f *fromData) typeOf(owner string, field *Field, d *FieldDescription, n *schema.Node) *schema.Type {
	f.suits(field.Key, d, n)
	t := &schema.Type{Kind: schema.KindString, Enum: d.Values, Pattern: d.Pattern, Min: d.Min, Max: d.Max}
	switch d.Type {
	case "string":
		field.Target = d.Ref
	case "int":
		t.Kind, t.Bits = schema.KindInt, 64
	case "float":
		t.Kind, t.Bits = schema.KindFloat, 64
	case "bool":
		t.Kind = schema.KindBool
	case "duration":
		t.Kind, t.Unit = schema.KindDuration, "s"
	case "size":
		t.Kind = schema.KindSize
	case "any":
		t.Kind = schema.KindAny
	case "secret":
		t.Secret = true
	case "list", "set", "map":
		if t.Kind = schema.KindList; d.Type == "map" {
			t.Kind = schema.KindMap
		}
		if d.Of == nil {
			f.holes++
			f.found.Errorf(n.Pos, "the field %s is a %s, so it needs the key of with the type of its elements", field.Key, d.Type)
			return t
		}
		t.Elem = f.typeOf(owner, field, d.Of, n.Get("of"))
		if field.Set = d.Type == "set"; field.Set {
			field.sets = append(field.sets, t) // the outermost one is the last
		}
	case "object":
		if at := n.Get("model"); at != nil {
			field.Nested = f.get(d.Model, at, owner)
			return nil
		}
		f.holes++
		f.found.Errorf(n.Pos, "the field %s is an object, so it needs the key model", field.Key)
		return nil
	default:
		t.Format = d.Type
	}
	return t
}

// suits reports keys of a field that its type has no use for: a rule that is not kept would mislead its reader.
func (f *fromData) suits(key string, d *FieldDescription, n *schema.Node) {
	for word, types := range map[string][]string{
		"of": {"list", "set", "map"}, "model": {"object"}, "ref": {"string"}, "values": {"string"}, "pattern": {"string"},
		"min": {"string", "secret", "int", "float", "duration", "size", "list", "set", "map"},
		"max": {"string", "secret", "int", "float", "duration", "size", "list", "set", "map"},
	} {
		if at := n.Get(word); at != nil && !slices.Contains(types, d.Type) {
			f.found.Errorf(at.Pos, "the field %s is a %s, and %s is for %s", key, d.Type, word, strings.Join(types, ", "))
		}
	}
	if d.Pattern != "" {
		if err := schema.CheckPattern(d.Pattern); err != nil {
			f.found.Errorf(n.Get("pattern").Pos, "the pattern of the field %s: %v", key, err)
		}
	}
	if of := n.Get("of"); of != nil {
		for _, word := range []string{"required", "default", "doc"} {
			if at := of.Get(word); at != nil {
				f.found.Errorf(at.Pos, "%s is for the field %s as a whole: write it next to of", word, key)
			}
		}
	}
}

// up does the step on the fields of a record.
func (d MigrationDescription) up(fields map[string]any) error {
	renamed := map[string]any{} // all at once, so that two fields may change places
	for from, to := range d.Rename {
		if v, ok := fields[from]; ok {
			renamed[to] = v
		}
	}
	for from := range d.Rename {
		delete(fields, from)
	}
	maps.Copy(fields, renamed)
	for _, key := range d.Drop {
		delete(fields, key)
	}
	for key, v := range d.Default {
		if _, ok := fields[key]; !ok {
			fields[key] = v
		}
	}
	return nil
}
