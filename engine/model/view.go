package model

import (
	"context"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// View reads the fields of an object, and those behind its references. The id of a reference is there at once; another
// field fetches the target from the Source, once for as long as it is valid. A View is used by one goroutine.
type View struct {
	o       *Object
	reg     *Registry
	src     Source
	fetched map[ref]*Object
}

// ref names a target of a reference.
type ref struct{ target, id string }

// NewView returns a View. Where src is a Store, only the targets that it keeps are there; a Through goes on to the database. It fetches the targets of the fields that are Eager; Get tells of absent ones.
func NewView(ctx context.Context, o *Object, reg *Registry, src Source) *View {
	v := &View{o: o, reg: reg, src: src, fetched: map[ref]*Object{}}
	for _, f := range o.model.fields {
		if f.Eager && f.Target != "" {
			eachRef(f, f.Type, o.fields[f.Key], func(r ref) { _, _ = v.fetch(ctx, r) })
		}
	}
	return v
}

// Get returns the plain value at a path: a.b, list.0.c, ref.id, ref.name. A target that is absent is a RefNotFound.
func (v *View) Get(ctx context.Context, path string) (any, error) {
	return v.object(ctx, v.o, strings.Split(path, "."))
}

// object reads on at the fields of an object.
func (v *View) object(ctx context.Context, o *Object, steps []string) (any, error) {
	f := o.model.byKey[steps[0]]
	if f == nil {
		return nil, o.model.fault(UnknownField, o.id, steps[0], "there is no field %s", steps[0])
	}
	return v.value(ctx, f, f.Type, o.Get(f.Key), steps[1:])
}

// value reads on at a value of a field, whose type is t; rest is the remaining path.
func (v *View) value(ctx context.Context, f *Field, t *schema.Type, value any, rest []string) (any, error) {
	r, isRef := refOf(f, value)
	switch x := value.(type) {
	case nil:
		return nil, nil
	case []any:
		if len(rest) == 0 {
			return x, nil
		}
		i, err := strconv.Atoi(rest[0])
		if err != nil || i < 0 || i >= len(x) {
			return nil, v.o.model.fault(UnknownField, v.o.id, f.Key, "%s has no item %s", f.Key, rest[0])
		}
		return v.value(ctx, f, elem(t), x[i], rest[1:])
	case map[string]any:
		if len(rest) == 0 {
			return x, nil
		}
		inner, of := f.inside(t, rest[0])
		if inner != f {
			return v.object(ctx, &Object{model: f.Nested, fields: x}, rest)
		}
		return v.value(ctx, f, of, x[rest[0]], rest[1:])
	}
	switch {
	case len(rest) == 0:
		return value, nil
	case !isRef:
		return nil, v.o.model.fault(UnknownField, v.o.id, f.Key, "%s has no field %s", f.Key, rest[0])
	case len(rest) == 1 && rest[0] == "id":
		return r.id, nil
	}
	target, err := v.fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	return v.object(ctx, target, rest)
}

// fetch returns a target, from the Source where it is not known or out of date.
func (v *View) fetch(ctx context.Context, r ref) (*Object, error) {
	have := v.fetched[r]
	if s, ok := v.src.(interface{ Stale(*Object) bool }); have != nil && (!ok || !s.Stale(have)) {
		return have, nil
	}
	o, err := follow(ctx, v.reg, v.src, r)
	if err != nil {
		return nil, err
	}
	v.fetched[r] = o
	return o, nil
}

// follow returns the target of a reference, or a RefNotFound.
func follow(ctx context.Context, reg *Registry, src Source, r ref) (*Object, error) {
	m, err := reg.Model(r.target)
	if err != nil {
		return nil, err
	}
	o, err := src.Get(ctx, m, r.id)
	if CodeOf(err) == NotFound {
		return nil, m.fault(RefNotFound, r.id, "", "the object that is referred to is not there")
	}
	return o, err
}

// refOf reads a value as a reference.
func refOf(f *Field, value any) (ref, bool) {
	switch x := value.(type) {
	case schema.Ref:
		return ref{x.Kind, x.Name}, true
	case string:
		return ref{f.Target, x}, f.Target != ""
	}
	return ref{}, false
}

// inside returns the field and the type of a value in a map of the type t. The map of a nested object has the fields of that. The
// keys of another map are names, also where a field is called so.
func (f *Field) inside(t *schema.Type, key string) (*Field, *schema.Type) {
	if f.Nested != nil && t.Kind == schema.KindStruct {
		if inner := f.Nested.byKey[key]; inner != nil {
			return inner, inner.Type
		}
	}
	return f, elem(t)
}

// eachRef calls yield for each reference in a value of the type t.
func eachRef(f *Field, t *schema.Type, value any, yield func(ref)) {
	switch x := value.(type) {
	case []any:
		for _, item := range x {
			eachRef(f, elem(t), item, yield)
		}
	case map[string]any:
		for key, item := range x {
			inner, of := f.inside(t, key)
			eachRef(inner, of, item, yield)
		}
	default:
		if r, ok := refOf(f, value); ok {
			yield(r)
		}
	}
}

// Refs returns the objects that o refers to, at any depth, each once, the nearer ones first. An absent one is a RefNotFound.
func Refs(ctx context.Context, reg *Registry, src Source, o *Object) (all []*Object, err error) {
	seen := map[ref]bool{}
	queue := []*Object{o}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, f := range next.model.fields {
			eachRef(f, f.Type, next.fields[f.Key], func(r ref) {
				if seen[r] || err != nil {
					return
				}
				seen[r] = true
				var target *Object
				if target, err = follow(ctx, reg, src, r); err == nil {
					all, queue = append(all, target), append(queue, target)
				}
			})
		}
	}
	return all, err
}

// A circle of references ends at the object that is around itself already. maxDeep bounds how many objects Deep reads.
const maxDeep = 1000

// Deep returns an object as Plain does, with its references replaced by their targets, at any depth. Each target is
// read once. Absent targets stay ids, and so do objects inside of themselves, and those beyond a thousand.
func Deep(ctx context.Context, reg *Registry, src Source, o *Object) (map[string]any, error) {
	d := &deep{ctx: ctx, reg: reg, src: src, known: map[ref]*Object{}}
	return d.object(o, nil)
}

// deep reads each target once.
type deep struct {
	ctx   context.Context
	reg   *Registry
	src   Source
	known map[ref]*Object
}

// object shows an object. around has the objects that it is inside of.
func (d *deep) object(o *Object, around []*Object) (map[string]any, error) {
	out := o.model.shown(o.fields)
	around = append(around, o)
	for _, f := range o.model.fields {
		v, err := d.value(f, f.Type, o.fields[f.Key], out[f.Key], around)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out[f.Key] = v
		}
	}
	return out, nil
}

// value replaces the references in shown, which is the form of v for people.
func (d *deep) value(f *Field, t *schema.Type, v, shown any, around []*Object) (any, error) {
	switch x := v.(type) {
	case []any:
		list, _ := shown.([]any)
		for i := range list {
			var err error
			if list[i], err = d.value(f, elem(t), x[i], list[i], around); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		dict, _ := shown.(map[string]any)
		for key := range dict {
			inner, of := f.inside(t, key)
			var err error
			if dict[key], err = d.value(inner, of, x[key], dict[key], around); err != nil {
				return nil, err
			}
		}
		return dict, nil
	}
	r, ok := refOf(f, v)
	if !ok {
		return shown, nil
	}
	target, err := d.read(r)
	if target == nil || err != nil {
		return shown, err
	}
	for _, a := range around {
		if a.model == target.model && a.id == target.id {
			return shown, nil
		}
	}
	return d.object(target, around)
}

// read returns a target, nil for none.
func (d *deep) read(r ref) (*Object, error) {
	if o, ok := d.known[r]; ok || len(d.known) == maxDeep {
		return o, nil
	}
	o, err := follow(d.ctx, d.reg, d.src, r)
	if code := CodeOf(err); code == RefNotFound || code == UnknownModel {
		o, err = nil, nil
	}
	if err == nil {
		d.known[r] = o
	}
	return o, err
}
