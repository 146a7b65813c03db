package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Of defines a model whose fields are those of a struct. Package schema says which tags it reads; they are those of the
// kinds. One more tag says what only models have:
//
//	model:"ref=NAME"  the text, or each element, is the id of an object of that model or table
//	model:"eager"     a View fetches the target of the reference at once
//	model:"set"       the list is a set
//
// Values in defaults are shown where a field is unset. The name of the model is that of the struct, unless s has one. A
// field of s stands in the place of one of the struct, which is how a field nests another model. The struct may have
// id, topic and the fields of the other mixins: As fills them. The error is a Registration, and joins all faults.
func Of[T any](defaults T, s Spec) (*Model, error) {
	t, err := schema.Of(&defaults)
	if err != nil {
		return nil, &Error{Code: Registration, Message: fmt.Sprintf("model %q", s.Name), Err: err}
	}
	rt := reflect.TypeFor[T]()
	s.Name = cmp.Or(s.Name, rt.Name())
	brought := broughtBy(s)
	var fields []Field
	var errs []error
	for _, f := range t.Fields {
		if slices.Contains(brought, f.Key) {
			continue
		}
		own := Field{Key: f.Key, Type: f.Type, Doc: f.Doc, Required: f.Required, Default: f.Default}
		if err := own.tagged(rt.FieldByIndex(f.Index).Tag.Get("model")); err != nil {
			errs = append(errs, unfit("fields."+f.Key, "model %q: the field %s: %v", s.Name, f.Key, err))
		}
		fields = append(fields, own)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	s.Fields = append(fields, s.Fields...)
	return Define(s)
}

// broughtBy returns the keys of the fields that a struct may have, and that the model does not get from it.
func broughtBy(s Spec) []string {
	keys := []string{"id"}
	for mixin, key := range map[Mixin]string{Topic: "topic", Version: "version", Name: "name", UniqueKey: "unique_key"} {
		if slices.Contains(s.Mixins, mixin) {
			keys = append(keys, key)
		}
	}
	return keys
}

// tagged reads the tag model of a field.
func (f *Field) tagged(tag string) error {
	for word := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case word == "":
		case key == "ref" && value != "" && innermost(f.Type).Kind == schema.KindString:
			f.Target = value
		case key == "ref":
			return errors.New("the tag ref needs the name of a model, and is for text")
		case word == "set" && f.Type.Kind == schema.KindList:
			f.Set = true
		case word == "set":
			return errors.New("the tag set is for a list")
		case word == "eager":
			f.Eager = true
		default:
			return fmt.Errorf("the tag model has no word %q: write ref=NAME, eager or set", word)
		}
	}
	return nil
}

// As returns an object as a struct: the fields that both have. A field that is unset has its default, or the zero value.
func As[T any](o *Object) (v T, err error) {
	t, err := schema.OfType(reflect.TypeFor[T]())
	if err != nil {
		return v, err
	}
	fields := map[string]any{}
	for _, f := range t.Fields {
		if value := o.Get(f.Key); value != nil {
			fields[f.Key] = value
		}
	}
	n, err := schema.NodeOf(fields)
	if err != nil {
		return v, err
	}
	ds := slices.DeleteFunc(schema.Decode(n, &v), func(d schema.Diagnostic) bool {
		_, set := fields[d.Path]
		return t.Field(d.Path) != nil && !set // required, and absent: a hook may fill it
	})
	if err := ds.Err(); err != nil {
		return v, &Error{Code: Validation, Table: o.model.Label(), ID: o.id, Message: "the object does not fit the struct " + reflect.TypeFor[T]().Name(), Err: err}
	}
	return v, nil
}

// From makes an object of a struct: its fields that are not zero are set. The errors are those of New.
func From[T any](m *Model, v T) (*Object, error) {
	var zero T
	fields, err := schema.EncodeChanged(&v, &zero)
	if err != nil {
		return nil, err
	}
	return m.New(fields)
}

// OnCreate makes a hook of a function that gets the object as a struct, and may alter that.
func OnCreate[T any](f func(ctx context.Context, tx *Tx, v *T) error) func(context.Context, *Tx, *Object) (*Object, error) {
	return func(ctx context.Context, tx *Tx, o *Object) (*Object, error) {
		return altered(o, func(v *T) error { return f(ctx, tx, v) })
	}
}

// OnUpdate is OnCreate for changes. was is the object before.
func OnUpdate[T any](f func(ctx context.Context, tx *Tx, v *T, was T) error) func(context.Context, *Tx, *Object, *Object) (*Object, error) {
	return func(ctx context.Context, tx *Tx, o, was *Object) (*Object, error) {
		before, err := As[T](was)
		if err != nil {
			return nil, err
		}
		return altered(o, func(v *T) error { return f(ctx, tx, v, before) })
	}
}

// altered returns o with the fields that alter has changed in the struct. All other fields stay.
func altered[T any](o *Object, alter func(v *T) error) (*Object, error) {
	v, err := As[T](o)
	if err != nil {
		return nil, err
	}
	before, err := schema.EncodeAll(&v)
	if err != nil {
		return nil, err
	}
	if err := alter(&v); err != nil {
		return nil, err
	}
	after, err := schema.EncodeAll(&v)
	if err != nil {
		return nil, err
	}
	had, _ := before.(map[string]any)
	has, _ := after.(map[string]any)
	for _, f := range o.model.fields {
		if was, now := had[f.Key], has[f.Key]; !schema.Equal(was, now) {
			if o, err = o.With(f.Key, now); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}
