package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Description is a model that is written as data, in a file of the folder that the setting models names. FromData makes
// models of descriptions. The keys are those of the tags.
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

// FromData reads descriptions, one for each tree, and defines their models, bases and nested models first. It returns
// all of them; the caller adds those with a table to its registry. Every fault has its position.
func FromData(trees []*schema.Node) ([]*Model, error) {
	f := &fromData{all: map[string]*Description{}, made: map[string]*Model{}, open: map[string]bool{}}
	for _, n := range trees {
		d := &Description{}
		if err := schema.Decode(n, d).Err(); err != nil {
			f.errs = append(f.errs, err)
			continue
		}
		if f.all[d.Model] != nil {
			f.failf("model %q is described twice", d.Model)
		}
		f.all[d.Model] = d
	}
	var models []*Model
	for _, name := range slices.Sorted(maps.Keys(f.all)) {
		if m := f.get(name, name); m != nil {
			models = append(models, m)
		}
	}
	return models, errors.Join(f.errs...)
}

// fromData makes each model once, whatever order the descriptions come in.
type fromData struct {
	all  map[string]*Description
	made map[string]*Model
	open map[string]bool // being made
	errs []error
}

// failf adds a fault of a description.
func (f *fromData) failf(format string, args ...any) {
	f.errs = append(f.errs, &Error{Code: Registration, Message: fmt.Sprintf(format, args...)})
}

// get returns a model that another model names, nil after a fault. A model that is being made is inside of itself.
func (f *fromData) get(name, from string) *Model {
	d := f.all[name]
	switch {
	case d == nil:
		f.failf("model %q names the model %q, which is not described (did you mean %q?)", from, name, schema.Nearest(name, slices.Collect(maps.Keys(f.all))))
		return nil
	case f.open[name]:
		f.failf("model %q is inside of itself", name)
		return nil
	}
	if m, ok := f.made[name]; ok {
		return m
	}
	f.open[name] = true
	defer delete(f.open, name)
	before := len(f.errs)
	s := f.spec(d)
	if len(f.errs) > before {
		f.made[name] = nil
		return nil
	}
	m, err := Define(s)
	if err != nil {
		f.errs = append(f.errs, err)
	}
	f.made[name] = m
	return m
}

// mixinNames are the words of Description.Mixins.
var mixinNames = map[string]Mixin{"topic": Topic, "version": Version, "name": Name, "unique_key": UniqueKey, "events": BasicEvents}

// spec turns a description into a Spec. Faults are kept, and the Spec is of no use then.
func (f *fromData) spec(d *Description) Spec {
	s := Spec{
		Name: d.Model, Table: d.Table, Doc: d.Doc, Plain: d.Plain, Indexes: d.Indexes, Events: d.Events,
		Schema: d.Schema, Reads: d.Reads, Operations: map[string]Operation{},
	}
	for _, x := range d.Mixins {
		s.Mixins = append(s.Mixins, mixinNames[x])
	}
	for _, base := range d.Bases {
		if m := f.get(base, d.Model); m != nil {
			s.Bases = append(s.Bases, m)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Fields)) {
		own := d.Fields[key]
		field := Field{Key: key, Doc: own.Doc, Required: own.Required, Default: own.Default}
		field.Type = f.typeOf(d.Model, &field, &own)
		s.Fields = append(s.Fields, field)
	}
	for name, op := range d.Operations {
		switch {
		case op.Set != "":
			s.Operations[name] = SetField(op.Set)
		case op.Add != "":
			s.Operations[name] = AddTo(op.Add)
		case op.Remove != "":
			s.Operations[name] = RemoveFrom(op.Remove)
		default:
			f.failf("model %q: the operation %s needs set, add or remove", d.Model, name)
		}
	}
	for _, step := range d.Migrations {
		s.Migrations = append(s.Migrations, Migration{From: step.From, Up: step.up})
	}
	return s
}

// typeOf returns the type of a field or of its elements; nil for a nested object. The type alone cannot say the target,
// the set, and the nested model, so those are noted in the field.
func (f *fromData) typeOf(owner string, field *Field, d *FieldDescription) *schema.Type {
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
		if d.Of == nil {
			f.failf("model %q: the field %s is a %s, so it needs of", owner, field.Key, d.Type)
			return t
		}
		if t.Kind = schema.KindList; d.Type == "map" {
			t.Kind = schema.KindMap
		}
		field.Set = d.Type == "set"
		t.Elem = f.typeOf(owner, field, d.Of)
	case "object":
		field.Nested = f.get(d.Model, owner)
		return nil
	default:
		t.Format = d.Type
	}
	return t
}

// up does the step on the fields of a record.
func (d MigrationDescription) up(fields map[string]any) error {
	for from, to := range d.Rename {
		if v, ok := fields[from]; ok {
			delete(fields, from)
			fields[to] = v
		}
	}
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
