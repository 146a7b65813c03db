package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Object is a snapshot of an object, or of the part of it that its set fields are. It is immutable: With and Merge
// make another one. A reader of a list or a map in it must not alter that.
type Object struct {
	model    *Model
	id       string
	fields   map[string]any // the fields that are set; nil is null
	extra    map[string]any // fields that this program does not know, of a record that a newer one wrote
	revision int64
	created  int64
	schema   int
	origin   string
}

// settle reads the id out of the fields.
func (o *Object) settle() { o.id, _ = o.fields["id"].(string) }

// Model returns the model.
func (o *Object) Model() *Model { return o.model }

// ID returns the id, or "" where it is not set.
func (o *Object) ID() string { return o.id }

// Topic returns the topic, or "" where there is none: the object is everybody's.
func (o *Object) Topic() string {
	t, _ := o.fields["topic"].(string)
	return t
}

// Version returns the version, or 0.
func (o *Object) Version() int64 {
	v, _ := o.fields["version"].(int64)
	return v
}

// Revision returns the revision of the store at which the object was written; 0 before that.
func (o *Object) Revision() int64 { return o.revision }

// Created returns the revision at which the object was created, in the present topic; 0 before that.
func (o *Object) Created() int64 { return o.created }

// Origin returns who wrote the object last, as Options.Origin said it.
func (o *Object) Origin() string { return o.origin }

// Unknown returns the names of fields that a newer program has written and this one does not know, sorted. Update
// keeps them.
func (o *Object) Unknown() []string { return slices.Sorted(maps.Keys(o.extra)) }

// Mask returns the names of the set fields, sorted.
func (o *Object) Mask() []string { return slices.Sorted(maps.Keys(o.fields)) }

// Has reports whether a field is set, be it to null.
func (o *Object) Has(key string) bool {
	_, ok := o.fields[key]
	return ok
}

// Get returns the plain value of a field, or its default where it is unset; nil for null.
func (o *Object) Get(key string) any {
	if v, ok := o.fields[key]; ok {
		return v
	}
	if f := o.model.byKey[key]; f != nil {
		return f.Default
	}
	return nil
}

// given returns a copy of the set fields that are not null.
func (o *Object) given() map[string]any {
	out := make(map[string]any, len(o.fields))
	for key, v := range o.fields {
		if v != nil {
			out[key] = v
		}
	}
	return out
}

// Values returns the set fields that are not null as plain values, for schema.NodeOf. Secrets are schema.Secret.
func (o *Object) Values() map[string]any { return o.given() }

// With returns a copy in which a field has another value, which may be anything that Model.New takes.
func (o *Object) With(key string, value any) (*Object, error) {
	part, err := o.model.New(map[string]any{key: value})
	if err != nil {
		return nil, err
	}
	c := o.copy()
	c.fields[key] = part.fields[key]
	c.settle()
	return c, nil
}

// Without returns a copy in which a field is not set.
func (o *Object) Without(key string) *Object {
	c := o.copy()
	delete(c.fields, key)
	c.settle()
	return c
}

func (o *Object) copy() *Object {
	c := *o
	c.fields = maps.Clone(o.fields)
	return &c
}

// Merge returns o with the set fields of part: null clears a field, lists and nested objects are replaced whole. The
// names are those of the fields that changed, sorted.
func (o *Object) Merge(part *Object) (*Object, []string) {
	var changed []string
	for key, v := range part.fields {
		_, had := o.fields[key]
		switch {
		case v == nil && (!had || o.fields[key] == nil), v != nil && schema.Equal(o.Get(key), v):
		default:
			changed = append(changed, key)
		}
	}
	if len(changed) == 0 {
		return o, nil
	}
	c := o.copy()
	for _, key := range changed {
		if c.fields[key] = part.fields[key]; c.fields[key] == nil {
			delete(c.fields, key)
		}
	}
	c.settle()
	slices.Sort(changed)
	return c, changed
}

// Equal reports whether two objects say the same: model, set fields and values. Revisions do not count.
func (o *Object) Equal(p *Object) bool {
	if o == nil || p == nil || o == p {
		return o == p
	}
	return o.model == p.model && o.id == p.id && maps.EqualFunc(o.given(), p.given(), schema.Equal)
}

// Changed returns the names of the fields that differ between two snapshots, sorted. Either may be nil.
func Changed(was, now *Object) (keys []string) {
	seen := map[string]bool{}
	for _, pair := range [][2]*Object{{was, now}, {now, was}} {
		if pair[0] == nil {
			continue
		}
		for key, v := range pair[0].fields {
			var other any
			if pair[1] != nil {
				other = pair[1].fields[key]
			}
			if (v == nil) != (other == nil) || v != nil && !schema.Equal(v, other) {
				seen[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Check returns an Error for each required field that has no value.
func (o *Object) Check() error {
	return errors.Join(o.model.missing(o.fields, "", o.id)...)
}

// missing looks for required fields, in nested objects too.
func (m *Model) missing(fields map[string]any, at, id string) (errs []error) {
	for _, f := range m.fields {
		v := fields[f.Key]
		if v == nil && f.Required && f.Default == nil {
			errs = append(errs, m.fault(Validation, id, at+f.Key, "%s is required: %s", at+f.Key, f.Type))
		}
		if f.Key == "id" && v == "" {
			errs = append(errs, m.fault(Validation, id, at+f.Key, "%s must not be empty", at+f.Key))
		}
		if f.Nested != nil && v != nil {
			eachNested(f, v, func(inner map[string]any) {
				errs = append(errs, f.Nested.missing(inner, at+f.Key+".", id)...)
			})
		}
	}
	return errs
}

// eachNested calls yield with the fields of each object that a value of f nests.
func eachNested(f *Field, v any, yield func(map[string]any)) { nestedIn(f.Type, v, yield) }

func nestedIn(t *schema.Type, v any, yield func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			nestedIn(t.Elem, item, yield)
		}
	case map[string]any:
		if t.Kind == schema.KindStruct {
			yield(v)
			return
		}
		for _, item := range v {
			nestedIn(t.Elem, item, yield)
		}
	}
}

// Nested returns the nested objects that have an id, but not the objects that those nest. A nested object of a model with an id
// that lacks it is an Error.
func (o *Object) Nested() (all []*Object, err error) {
	var errs []error
	for _, f := range o.model.fields {
		if f.Nested == nil || f.Nested.spec.Plain || o.fields[f.Key] == nil {
			continue
		}
		eachNested(f, o.fields[f.Key], func(fields map[string]any) {
			inner := &Object{model: f.Nested, fields: fields, revision: o.revision, created: o.created}
			if inner.settle(); inner.id == "" {
				errs = append(errs, o.model.fault(Validation, o.id, f.Key, "the object in %s needs an id", f.Key))
				return
			}
			all = append(all, inner)
		})
	}
	return all, errors.Join(errs...)
}

// Plain returns the object as encoding/json takes it: the set fields that are not null, and the defaults. Secrets are
// redacted. An object that lacks a required field has no such form, and gives the errors of Check.
func (o *Object) Plain() (map[string]any, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return o.model.shown(o.fields), nil
}

// MarshalJSON is Plain, also for a partial object.
func (o *Object) MarshalJSON() ([]byte, error) { return marshal(o.model.shown(o.fields)) }

// Stored returns the set fields as they are in the record, for a dump: a secret is as it is stored, which is encrypted.
func (o *Object) Stored() ([]byte, error) { return marshal(o.model.stored(o.fields)) }

// marshal writes JSON without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// shown returns fields for people: with defaults, secrets redacted.
func (m *Model) shown(fields map[string]any) map[string]any {
	out := make(map[string]any, len(fields))
	for _, f := range m.fields {
		v := fields[f.Key]
		if v == nil {
			v = f.Default
		}
		switch {
		case v == nil:
		case isMarked(fields, f):
			out[f.Key] = schema.Redacted
		default:
			out[f.Key] = written(f, f.Type, v, false)
		}
	}
	return out
}

// stored returns fields for a record: without defaults, secrets as they are.
func (m *Model) stored(fields map[string]any) map[string]any {
	out := make(map[string]any, len(fields))
	for key, v := range fields {
		if f := m.byKey[key]; v != nil && f != nil {
			out[key] = written(f, f.Type, v, true)
		}
	}
	return out
}

// written turns a plain value into what JSON has for it.
func written(f *Field, t *schema.Type, v any, stored bool) any {
	switch v := v.(type) {
	case schema.Secret:
		if stored {
			return v.Reveal()
		}
		return schema.Redacted
	case time.Duration:
		return schema.FormatDuration(v)
	case schema.Size:
		return v.String()
	case schema.Mode:
		return string(v)
	case schema.Ref:
		return v.String()
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = written(f, elem(t), item, stored)
		}
		return out
	case map[string]any:
		if f.Nested != nil && t.Kind == schema.KindStruct && !stored {
			return f.Nested.shown(v)
		}
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = written(f, elem(t), item, stored)
		}
		return out
	}
	return v
}

var anything = &schema.Type{Kind: schema.KindAny}

// elem returns the type of the parts of a list or a map.
func elem(t *schema.Type) *schema.Type {
	if t.Elem == nil {
		return anything
	}
	return t.Elem
}
