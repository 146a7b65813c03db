package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Spec describes a model. Define reads it once; the Model that it returns shares the functions only.
type Spec struct {
	Name  string // how programs call it; never empty
	Table string // where its objects are kept; empty for a mixin and for a model that is only nested
	Doc   string // Markdown; may be empty
	Plain bool   // it has no id: a struct inside of other models

	Mixins []Mixin  // fields and hooks that many models have
	Bases  []*Model // models whose fields, indexes, events, hooks and operations it has, too; the first one wins
	Fields []Field  // a field of its own stands in the place of a base's

	Indexes    map[string][]string  // dotted paths by the name of the index; one path, or a tuple of them
	Events     []string             // words that Events.On takes; the words of the bases count, too
	Hooks      Hooks                // its own; those of the bases run before it
	Operations map[string]Operation // changes of one object that have a name

	Schema     int         // the version of its records; 0 is 1
	Reads      int         // the lowest version whose programs read a record of this one; 0 is Schema
	Migrations []Migration // one step each, from 1 up to Schema-1

	Kind string // the kind of resource that realizes it; empty for plain data

	Foreign *Foreign // where another part of the program keeps the records; nil for records of the API
}

// Mixin names a part that this package brings.
type Mixin uint8

// The mixins. Topic adds the required field topic and an index of that name. Version counts the changes of an object
// from 1. UniqueKey numbers the objects of a table. BasicEvents has the events created, updated and deleted.
const (
	Topic Mixin = iota + 1
	Version
	Name
	UniqueKey
	BasicEvents
)

// The names of the basic events.
const (
	Created = "created"
	Updated = "updated"
	Deleted = "deleted"
)

// Field is one field of a model.
type Field struct {
	Key      string
	Type     *schema.Type
	Doc      string
	Required bool   // Create and Update refuse an object without it
	Default  any    // a plain value that is shown where the field is unset, and never stored; nil for none
	Set      bool   // the list is a set: its order and repeats mean nothing
	Target   string // the name or table of the model that the text names by id; a schema.Ref needs none
	Eager    bool   // a View fetches the target at once
	Nested   *Model // of the objects in Type: Type is nil for one, or lists and maps whose innermost Elem is nil
	Param    string // the parameter of the kind, where it is called otherwise than Key
	Absent   string // the value that takes the thing away, where the word is not "absent"

	sets []*schema.Type // the lists in Type that are sets, of a field that data describes
}

// Index is a name for the values at some paths. More than one path is a tuple.
type Index struct {
	Name  string
	Paths []string
}

// Hooks are called before a change is checked and written, and may alter it. They get the transaction that the change
// is part of, so that they read and write with it. A transaction that lost against another writer runs again, and so
// do its hooks: they keep no state. An error fails the change. A nil hook does nothing.
type Hooks struct {
	CreatePre func(ctx context.Context, tx *Tx, o *Object) (*Object, error)
	UpdatePre func(ctx context.Context, tx *Tx, o, was *Object) (*Object, error)
	// DeletePre is also called with an object that the database lacks, which has its id alone; the deletion is a NotFound then,
	// and what the hook has asked for is taken back.
	DeletePre func(ctx context.Context, tx *Tx, was *Object) error
	// ListPost may leave out objects of a list, or put others in their place. Get does not call it.
	ListPost func(ctx context.Context, list []*Object) ([]*Object, error)
}

// Operation changes an object in memory; NB.Call applies it to a stored one and writes the result.
type Operation struct {
	Doc  string
	Args []Field // in the order of a call without names
	Run  func(o *Object, args map[string]any) (*Object, error)
}

// Migration brings the fields of a record from version From to the next one, in place.
type Migration struct {
	From int
	Up   func(fields map[string]any) error
}

// Model is a registered description. It is immutable and safe for concurrent use. Two models are the same only if they
// are one *Model: programs compare pointers.
type Model struct {
	spec       Spec
	fields     []*Field
	byKey      map[string]*Field
	indexes    []Index // by name; "id" is not among them
	events     []string
	hooks      []Hooks // the bases' first
	operations map[string]Operation
	mixins     []Mixin
	typ        *schema.Type
	nested     []*Model // of the fields, each once
}

// Name returns the model's name.
func (m *Model) Name() string { return m.spec.Name }

// Table returns where the objects are kept; empty for a model that is not first class.
func (m *Model) Table() string { return m.spec.Table }

// Label returns the table, or the name of a model without one.
func (m *Model) Label() string { return cmp.Or(m.spec.Table, m.spec.Name) }

// Doc returns the description.
func (m *Model) Doc() string { return m.spec.Doc }

// Kind returns the kind of resource that realizes the model, or "".
func (m *Model) Kind() string { return m.spec.Kind }

// Schema returns the version of the model's records.
func (m *Model) Schema() int { return m.spec.Schema }

// FirstClass reports whether the model has a table.
func (m *Model) FirstClass() bool { return m.spec.Table != "" }

// Fields returns the fields in order, those of bases first. It must not be altered.
func (m *Model) Fields() []*Field { return m.fields }

// Field returns a field, or nil.
func (m *Model) Field(key string) *Field { return m.byKey[key] }

// Type returns the fields as one struct, as JSON Schema and wire need it.
func (m *Model) Type() *schema.Type { return m.typ }

// Events returns the names of the events, sorted.
func (m *Model) Events() []string { return m.events }

// Has reports whether the model has a mixin.
func (m *Model) Has(x Mixin) bool { return slices.Contains(m.mixins, x) }

// Indexes returns the indexes by their names, with id.
func (m *Model) Indexes() []Index {
	all := append([]Index{{"id", []string{"id"}}}, m.indexes...)
	sorted.Func(all, func(a, b Index) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Index returns the paths of an index, or an UnknownIndex.
func (m *Model) Index(name string) (Index, error) {
	if name == "id" {
		return Index{"id", []string{"id"}}, nil
	}
	if i, ok := m.index(name); ok {
		return m.indexes[i], nil
	}
	names := []string{"id"}
	for _, i := range m.indexes {
		names = append(names, i.Name)
	}
	e := m.fault(UnknownIndex, "", "", "there is no index %q; the indexes are %s", name, strings.Join(names, ", "))
	e.Suggestion = schema.Nearest(name, names)
	return Index{}, e
}

func (m *Model) index(name string) (int, bool) {
	return slices.BinarySearchFunc(m.indexes, name, func(i Index, n string) int { return cmp.Compare(i.Name, n) })
}

// Embedded returns the models of nested objects at any depth, each once.
func (m *Model) Embedded() (all []*Model) {
	for _, n := range m.nested {
		for _, x := range append([]*Model{n}, n.Embedded()...) {
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// Operations returns the operations by name: its own, and add and remove where a field is a list.
func (m *Model) Operations() map[string]Operation { return m.operations }

// Define makes a Model and reports everything that is wrong with the Spec. The model can be nested, and be a base, at
// once; Registry.Add makes it known.
func Define(s Spec) (*Model, error) {
	b := &definer{m: &Model{spec: s, byKey: map[string]*Field{}, operations: map[string]Operation{}}}
	b.m.spec.Schema = cmp.Or(s.Schema, 1)
	b.m.spec.Reads = cmp.Or(s.Reads, b.m.spec.Schema)
	if s.Name == "" {
		b.failf("model", "", "a model needs a name")
	}
	if !s.Plain {
		b.field(Field{Key: "id", Type: &schema.Type{Kind: schema.KindString}, Required: true, Doc: "The name of the object in its table."})
	}
	b.inherit()
	for _, f := range s.Fields {
		b.field(f)
	}
	b.indexes()
	b.behaviour()
	b.migrations()
	b.defaults()
	if len(b.errs) == 0 {
		b.types()
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	return b.m, nil
}

// definer collects the faults of a Spec.
type definer struct {
	m    *Model
	errs []error
}

// failf adds a fault of the Spec. part is the part of the Spec, such as indexes, and name its entry there.
func (b *definer) failf(part, name, format string, args ...any) {
	b.errs = append(b.errs, &Error{
		Code: Registration, Field: strings.TrimSuffix(part+"."+name, "."),
		Message: fmt.Sprintf("model %q: ", b.m.spec.Name) + fmt.Sprintf(format, args...),
	})
}

// inherit takes the fields of mixins and bases over, so that a field of the Spec can stand in the place of one of them. The first base that has a field wins.
func (b *definer) inherit() {
	for _, x := range b.m.spec.Mixins {
		b.mixin(x)
	}
	for _, base := range slices.Backward(b.m.spec.Bases) {
		for _, f := range base.fields {
			if f.Key != "id" || !b.m.spec.Plain {
				b.field(*f)
			}
		}
		for _, x := range base.mixins {
			if !b.m.Has(x) {
				b.m.mixins = append(b.m.mixins, x)
			}
		}
	}
}

// mixin adds the fields that a mixin brings.
func (b *definer) mixin(x Mixin) {
	text, number := &schema.Type{Kind: schema.KindString}, &schema.Type{Kind: schema.KindInt, Bits: 64}
	switch x {
	case Topic:
		b.field(Field{Key: "topic", Type: text, Required: true, Doc: "Who takes the object over: host:NAME, group:NAME or all."})
	case Version:
		b.field(Field{Key: "version", Type: number, Doc: "Counts the changes of the object. One that is given with a change is the expected one."})
	case Name:
		b.field(Field{Key: "name", Type: text})
	case UniqueKey:
		b.field(Field{Key: "unique_key", Type: number, Required: true, Doc: "A number that no other object of the table has had."})
	case BasicEvents:
	default:
		b.failf("mixins", "", "there is no mixin %d", x)
		return
	}
	b.m.mixins = append(b.m.mixins, x)
}

// field adds a field, or puts it in the place of a base's.
func (b *definer) field(f Field) {
	switch {
	case f.Key == "" || strings.ContainsAny(f.Key, "./ "):
		b.failf("fields", f.Key, "the field %q needs a key without dots, slashes and spaces", f.Key)
		return
	case f.Type == nil && f.Nested == nil:
		b.failf("fields", f.Key, "the field %s has no type", f.Key)
		return
	}
	if f.Nested != nil {
		if f.Type = fillNested(f.Type, f.Nested.typ); f.Type == nil {
			b.failf("fields", f.Key, "the field %s nests model %q, so its type is that, or lists and maps without an innermost element", f.Key, f.Nested.Name())
			return
		}
	}
	if old := b.m.byKey[f.Key]; old != nil {
		*old = f
		return
	}
	own := f
	b.m.fields = append(b.m.fields, &own)
	b.m.byKey[f.Key] = &own
}

// fillNested puts the struct of a nested model into the innermost part of a type. A type that is that already stays.
func fillNested(t, of *schema.Type) *schema.Type {
	switch {
	case t == nil:
		return of
	case t.Kind == schema.KindStruct:
		return t
	case t.Kind != schema.KindList && t.Kind != schema.KindMap:
		return nil
	}
	c := *t
	if c.Elem = fillNested(t.Elem, of); c.Elem == nil {
		return nil
	}
	return &c
}

// indexes joins the indexes of bases and its own, and checks the paths.
func (b *definer) indexes() {
	all := map[string][]string{}
	for _, x := range b.m.mixins {
		switch x {
		case Topic:
			all["topic"] = []string{"topic"}
		case UniqueKey:
			all["unique_key"] = []string{"unique_key"}
		}
	}
	for _, base := range slices.Backward(b.m.spec.Bases) {
		for _, i := range base.indexes {
			all[i.Name] = i.Paths
		}
	}
	maps.Copy(all, b.m.spec.Indexes)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "id" {
			continue
		}
		if len(all[name]) == 0 {
			b.failf("indexes", name, "the index %s has no path", name)
		}
		for _, path := range all[name] {
			b.path(name, path)
		}
		b.m.indexes = append(b.m.indexes, Index{name, slices.Clone(all[name])})
	}
}

// path checks the part of an index's path up to the first reference; the model behind it may come later.
func (b *definer) path(index, path string) {
	steps := strings.Split(path, ".")
	f, rest := b.m.byKey[steps[0]], steps[1:]
	for f != nil {
		at := innermost(f.Type)
		switch {
		case at.Secret:
			b.failf("indexes", index, "the index %s would show the secret %s", index, path)
			return
		case len(rest) == 0:
			if at.Kind == schema.KindStruct && f.Target == "" {
				b.failf("indexes", index, "the index %s ends at the object %s; name a field of it", index, path)
			}
			return
		case f.Target != "" || at.Kind == schema.KindRef:

			return
		case f.Nested != nil:
			f, rest = f.Nested.byKey[rest[0]], rest[1:]
		default:
			inner := at.Field(rest[0])
			if inner == nil {
				f = nil
				break
			}
			f, rest = &Field{Key: inner.Key, Type: inner.Type}, rest[1:]
		}
	}
	b.failf("indexes", index, "the index %s has the path %s, and there is no such field", index, path)
}

// innermost returns the element of lists and maps.
func innermost(t *schema.Type) *schema.Type {
	for t.Kind == schema.KindList || t.Kind == schema.KindMap {
		t = t.Elem
	}
	return t
}

// behaviour joins events, hooks and operations. Events are a union; an operation of the Spec wins over that of a base;
// hooks are called one after another.
func (b *definer) behaviour() {
	m, seen := b.m, map[string]bool{}
	if m.Has(BasicEvents) {
		seen[Created], seen[Updated], seen[Deleted] = true, true, true
	}
	for _, base := range m.spec.Bases {
		for _, e := range base.events {
			seen[e] = true
		}
		m.hooks = append(m.hooks, base.hooks...)
	}
	for _, base := range slices.Backward(m.spec.Bases) {
		maps.Copy(m.operations, base.operations)
	}
	for _, e := range m.spec.Events {
		seen[e] = true
	}
	m.events = slices.Sorted(maps.Keys(seen))
	m.hooks = append(m.hooks, m.spec.Hooks)
	maps.Copy(m.operations, m.spec.Operations)
	for _, f := range m.fields {
		if f.Type.Kind == schema.KindList {
			addListOperations(m.operations)
			break
		}
	}
}

// migrations checks that each version below the present one has its step.
func (b *definer) migrations() {
	for from := 1; from < b.m.spec.Schema; from++ {
		if !slices.ContainsFunc(b.m.spec.Migrations, func(s Migration) bool { return s.From == from && s.Up != nil }) {
			b.failf("schema", "", "its records have version %d, and there is no migration from version %d", b.m.spec.Schema, from)
		}
	}
	for _, s := range b.m.spec.Migrations {
		if s.From < 1 || s.From >= b.m.spec.Schema {
			b.failf("migrations", "", "there is a migration from version %d, and its records have version %d", s.From, b.m.spec.Schema)
		}
	}
}

// defaults reads the defaults as values of their types. An index and an answer then have them in the form of other
// values. A secret has none: the description of the model would show it.
func (b *definer) defaults() {
	for _, f := range b.m.fields {
		if f.Default == nil {
			continue
		}
		if f.Type.Some(func(t *schema.Type) bool { return t.Secret }) {
			b.failf("fields", f.Key, "the field %s is a secret, so it has no default: the description of the model would show it", f.Key)
			continue
		}
		n, err := schema.NodeOf(f.Default)
		if err != nil {
			b.failf("fields", f.Key, "the default of %s: %v", f.Key, err)
			continue
		}
		d := decoder{model: b.m, path: []string{"the default of " + f.Key}}
		v, _ := d.value(f, f.Type, n)
		for _, fault := range Faults(errors.Join(d.errs...)) {
			b.failf("fields", f.Key, "%s", fault.Message)
		}
		f.Default = v
	}
}

// types makes the struct of all fields, and the list of nested models.
func (b *definer) types() {
	m := b.m
	m.typ = &schema.Type{Kind: schema.KindStruct, Name: m.spec.Name, Doc: m.spec.Doc}
	for _, f := range m.fields {
		m.typ.Fields = append(m.typ.Fields, &schema.Field{
			Key: f.Key, Type: f.Type, Doc: f.Doc, Required: f.Required && f.Default == nil, Default: f.Default, HasDefault: f.Default != nil,
		})
		if f.Nested != nil && !slices.Contains(m.nested, f.Nested) {
			m.nested = append(m.nested, f.Nested)
		}
	}
}

// Through reports whether the keys of an index depend on other objects: a path of it goes through a reference to more
// than the id.
func (m *Model) Through(x Index) bool {
	for _, path := range x.Paths {
		steps := strings.Split(path, ".")
		f, rest := m.byKey[steps[0]], steps[1:]
		for f != nil && len(rest) > 0 {
			if f.Target != "" || innermost(f.Type).Kind == schema.KindRef {
				if len(rest) > 1 || rest[0] != "id" {
					return true
				}
				break
			}
			if f.Nested != nil {
				f, rest = f.Nested.byKey[rest[0]], rest[1:]
				continue
			}
			inner := innermost(f.Type).Field(rest[0])
			if inner == nil {
				break
			}
			f, rest = &Field{Key: inner.Key, Type: inner.Type}, rest[1:]
		}
	}
	return false
}
