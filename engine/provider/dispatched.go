package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// validateChoice chooses the kind, and validates the resource of it. A resource in a graph
// keeps its choice.
func (r *res) validateChoice() error {
	inner, err := r.choose()
	if err == nil && r.inner != nil && r.inner.kind != inner.kind {
		err = fmt.Errorf("%s can't be altered while the resource is in a graph", r.kind.chooser.by.Attribute)
	}
	return err
}

// choose makes the resource of the chosen kind. It is valid.
func (r *res) choose() (*res, error) {
	w, err := r.kind.wanted(r)
	if err != nil {
		return nil, err
	}
	d := r.kind.chooser
	k := d.to[text(w.record[d.by.Attribute])]
	if k == nil { // it is announced as coming, and is needed before anything comes
		return nil, fmt.Errorf("%s must be given here: it chooses between %s", d.by.Attribute, strings.Join(slices.Sorted(maps.Keys(d.by.To)), ", "))
	}
	inner := resOf(k.New())
	inner.SetKind(k.def.Name)
	inner.SetName(r.Name())
	inner.SetMetaParams(engine.MetaOf(r))
	inner.SetRecv(r.coming(k))
	if err := errors.Join(r.pass(inner), r.passOptions(inner)); err != nil {
		return nil, err
	}
	if err := inner.Validate(); err != nil {
		return nil, fmt.Errorf("as a %s: %w", k.def.Name, err)
	}
	return inner, nil
}

// renew gives the resource of the chosen kind the values received since. It is called while the engine lets
// no other method of the resource run that could see it change.
func (r *res) renew() error {
	if r.inner == nil || len(r.Recv()) == 0 {
		return nil
	}
	inner, err := r.choose()
	if err != nil || schema.Equal(inner, r.inner) {
		return err
	}
	r.inner.params = inner.params
	return r.inner.Validate()
}

// coming is what is received for attributes of a kind.
func (r *res) coming(k *Kind) map[string]*engine.Send {
	out := map[string]*engine.Send{}
	for key, s := range r.Recv() {
		a := r.kind.attribute(key)
		if a != nil && k.byName[a.Name] != nil {
			out[k.key(a.Name)] = s
		}
	}
	return out
}

// pass gives the attributes that both have.
func (r *res) pass(inner *res) error {
	var errs []error
	for i := range r.kind.attrs {
		a := &r.kind.attrs[i]
		v := r.given(a.Name)
		has := inner.kind.byName[a.Name] != nil
		switch {
		case v == nil || r.kind.chooser.steers(a):
		case has:
			errs = append(errs, put(inner, a.Name, v))
		case a.Role == Namevar: // the name says it
		case a.HasDefault && equal(v, a.Default): // no declaration has asked for it
		default:
			errs = append(errs, fmt.Errorf("%s: a %s does not have it, and this is one by its %s", a.Name, inner.kind.def.Name, r.kind.chooser.by.Attribute))
		}
	}
	return errors.Join(errs...)
}

// passOptions hands over the content of the options.
func (r *res) passOptions(inner *res) error {
	at := r.kind.chooser.by.Options
	options, _ := r.given(at).(map[string]any)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(options)) {
		own := r.kind.byName[key]
		switch {
		case inner.kind.byName[key] == nil:
			errs = append(errs, fmt.Errorf("%s.%s: a %s has no attribute of that name%s", at, key, inner.kind.def.Name, inner.kind.near(key)))
		case own != nil:
			errs = append(errs, fmt.Errorf("%s.%s: it is an attribute of a %s, give it there", at, key, r.kind.def.Name))
		default:
			errs = append(errs, put(inner, key, options[key]))
		}
	}
	return errors.Join(errs...)
}

func put(inner *res, key string, v any) error {
	if inner.kind.byName[key].Role == ReadOnly {
		return fmt.Errorf("%s can only be read, not set, of a %s", key, inner.kind.def.Name)
	}
	if err := schema.Set(inner, key, v); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// initChoice gives the resource of the chosen kind a handle on which it sends the values of this one.
func (r *res) initChoice(init *engine.Init) (err error) {
	if r.inner, err = r.choose(); err != nil {
		return err
	}
	c := *init
	c.Send = func(v any) error {
		out := r.kind.unsent()
		for _, f := range out.Type.Fields {
			from := r.inner.kind.sends.Field(f.Key)
			if from == nil {
				continue
			}
			value, err := schema.Get(v, from.Key)
			if err == nil && value != nil {
				err = schema.Set(out, f.Key, value)
			}
			if err != nil {
				return fmt.Errorf("%s can't be sent: %w", f.Key, err)
			}
		}
		return init.Send(out)
	}
	return r.inner.Init(&c)
}

// readChoice returns the thing as it is, as a resource of this kind.
func (r *res) readChoice(ctx context.Context) (engine.Res, error) {
	shown, err := r.inner.Read(ctx)
	if err != nil || shown == nil {
		return nil, err
	}
	return r.shown(shown)
}

// shown returns a resource of the chosen kind as one of this.
func (r *res) shown(of engine.Res) (engine.Res, error) {
	out := r.kind.New()
	out.SetKind(r.Kind())
	out.SetName(r.Name())
	from := resOf(of)
	for i := range r.kind.attrs {
		a := &r.kind.attrs[i]
		v := r.given(a.Name)
		if from.kind.byName[a.Name] != nil {
			v = from.given(a.Name)
		}
		if a.Name == r.kind.chooser.by.Options {
			v = r.shownOptions(v)
		}
		if err := schema.Set(out, a.Name, v); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return out, nil
}

// shownOptions returns options in which the sensitive values of the chosen kind are as
// that kind has them: a secret, or with secrets in it.
func (r *res) shownOptions(v any) any {
	options, _ := v.(map[string]any)
	if options == nil {
		return v
	}
	inner := r.worker()
	out := maps.Clone(options)
	for key := range out {
		if a := inner.kind.byName[key]; a != nil && (a.secret || a.covert) {
			out[key] = inner.given(key)
		}
	}
	return out
}

// reversedChoice undoes the work of the resource of the chosen kind.
func (r *res) reversedChoice(before engine.Res) (engine.Res, error) {
	inner, err := r.choose()
	if err != nil {
		return nil, err
	}
	if d, ok := before.(*res); ok && d.kind.chooser != nil {
		if before, err = d.choose(); err != nil {
			return nil, err
		}
	}
	undo, err := inner.Reversed(before)
	if err != nil {
		return nil, err
	}
	return r.shown(undo)
}
