package provider

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// want is what a resource asks for. It is immutable.
type want struct {
	title  string
	record Record // the managed attributes, as values of the attributes' types, with the namevars
	name   Name
}

// remember returns a function that makes a want of the parameters of one resource,
// anew only where one of them has changed. Its memory follows from the parameters
// alone, so any caller may ask. Parameters are never written through, so their
// pointers tell.
func (k *Kind) remember() func(*res) (*want, error) {
	var last *want
	var of any
	var coming int
	return func(r *res) (*want, error) {
		now := reflect.ValueOf(r.params).Elem().Interface()
		if last != nil && last.title == r.Name() && coming == len(r.Recv()) && of == now {
			return last, nil
		}
		w, err := k.wanted(r)
		if err == nil {
			last, of, coming = w, now, len(r.Recv())
		}
		return w, err
	}
}

// wanted makes a want of the parameters of a resource. The error joins all that is
// wrong with them.
func (k *Kind) wanted(r *res) (*want, error) {
	w, err := k.asked(r)
	if err := errors.Join(err, k.missing(r, w.record)); err != nil {
		return nil, err
	}
	w.name = k.nameOf(w.record)
	return w, nil
}

// looked makes the want of one who only looks, and need not say all that must be given
// to be set.
func (k *Kind) looked(r *res) (*want, error) {
	w, err := k.asked(r)
	if err != nil {
		return nil, err
	}
	w.name = k.nameOf(w.record)
	return w, nil
}

// asked is what the parameters say, with the namevars, also with an error.
func (k *Kind) asked(r *res) (*want, error) {
	w := &want{title: r.Name(), record: Record{}}
	var errs []error
	for i := range k.attrs {
		a := &k.attrs[i]
		plain := r.given(a.Name)
		if plain == nil {
			continue
		}
		v, err := a.typ.Lift(k.def.Name+"."+a.Name, plain)
		if err != nil {
			errs, v = append(errs, err), plain // given, so it is not missing too
		}
		w.record[a.Name] = v
	}
	errs = append(errs, k.namevars(targets.Unqualify(w.title, r.Target()), w.record))
	return w, errors.Join(errs...)
}

// missing says which attributes must be given and are not.
func (k *Kind) missing(r *res, given Record) error {
	var errs []error
	for i := range k.attrs {
		a := &k.attrs[i]
		_, ok := given[a.Name]
		_, coming := r.Recv()[k.key(a.Name)]
		switch {
		case ok || coming || a.optional || a.Role == Namevar || a.Role == ReadOnly || a == k.ensure:
		case a.Role != Parameter && given[ensureKey] == absent:
		default:
			errs = append(errs, fmt.Errorf("%s is required: %s", a.Name, a.typ))
		}
	}
	return errors.Join(errs...)
}

// nameOf returns the name of a record that has all namevars.
func (k *Kind) nameOf(r Record) Name {
	if len(k.names) == 1 {
		return NameOf(text(r[k.names[0].Name]))
	}
	values := make([]string, len(k.names))
	for i, a := range k.names {
		values[i] = text(r[a.Name])
	}
	return NameOf(values...)
}

// named shows a name with all of its namevars: of a type with several, NAMEVAR=VALUE each, since a value may hold what stands between them.
func (k *Kind) named(n Name) string {
	if len(k.names) == 1 {
		return n.String()
	}
	parts := n.Values()
	for i := range min(len(parts), len(k.names)) {
		parts[i] = k.names[i].Name + "=" + strconv.Quote(parts[i])
	}
	return strings.Join(parts, ", ")
}

// nameRecord returns a record with nothing but the namevars of a name.
func (k *Kind) nameRecord(n Name) Record {
	r := Record{}
	for i, v := range n.Values() {
		a := k.names[i]
		if clean, err := a.typ.CleanText(a.Name, v); err == nil {
			r[a.Name] = clean
		} else {
			r[a.Name] = v
		}
	}
	return r
}

// titleOf returns the title of a record that Get has returned.
func (k *Kind) titleOf(r Record) string {
	if t, ok := r[titleKey].(string); ok {
		return t
	}
	return k.nameOf(r).String()
}

// titleKey is what a record of a type with several namevars has besides its
// attributes.
const titleKey = "title"

// show makes a resource of a record.
func (k *Kind) show(title string, rec Record, target string) (engine.Res, error) {
	shown := k.New()
	shown.SetKind(k.def.Name)
	shown.SetName(title)
	r := resOf(shown)
	if target != "" {
		must(schema.Set(r, targetKey, target))
	}
	for i := range k.attrs {
		a := &k.attrs[i]
		v := rec[a.Name]
		if a == k.ensure && v == nil {
			v = present
		}
		if err := schema.Set(r, a.Name, puppettype.Plain(v)); err != nil {
			return nil, fmt.Errorf("%s[%s]: %s: %w", k.def.Name, title, k.key(a.Name), err)
		}
	}
	return shown, nil
}
