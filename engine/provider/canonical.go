package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// form is the canonical form of a member's values, or why there is none.
type form struct {
	want *want
	err  error
}

// canonical returns the canonical forms of the values that the members want.
func (k *Kind) canonical(ctx context.Context, rt *Runtime, p Provider, raw []*member) []form {
	forms := make([]form, len(raw))
	canon, ok := p.(Canonicalizer)
	if !ok || !k.has(Canonicalize) {
		for i, m := range raw {
			forms[i].want = m.want
		}
		return forms
	}
	in := make([]Record, len(raw))
	for i, m := range raw {
		in[i] = m.want.record
	}
	if out, err := k.canonicalTwice(ctx, rt, canon, in); err == nil {
		for i, m := range raw {
			forms[i].want, forms[i].err = k.rewant(m.want, out[i])
		}
		return forms
	}
	for i, m := range raw { // so that each has its own error
		out, err := k.canonicalTwice(ctx, rt, canon, in[i:i+1])
		if err != nil {
			forms[i].err = err
		} else {
			forms[i].want, forms[i].err = k.rewant(m.want, out[0])
		}
	}
	return forms
}

// canonicalTwice checks that the canonical form of the canonical form is that.
func (k *Kind) canonicalTwice(ctx context.Context, rt *Runtime, p Canonicalizer, in []Record) ([]Record, error) {
	out, err := k.canonicalize(ctx, rt, p, in)
	if err != nil || k.strict == StrictOff {
		return out, err
	}
	again, err := k.canonicalize(ctx, rt, p, out)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if key, differs := k.differ(out[i], again[i]); differs {
			return nil, fmt.Errorf("canonicalize makes another value of %s each time", key)
		}
	}
	return out, nil
}

// rewant is a want with another record.
func (k *Kind) rewant(w *want, rec Record) (*want, error) {
	rec = k.wrap(rec)
	var errs []error
	for name, v := range rec {
		a := k.byName[name]
		if a == nil {
			errs = append(errs, fmt.Errorf("canonicalize has returned an attribute %q, which a %s does not have", name, k.def.Name))
		} else if err := a.typ.Check(k.def.Name+"."+name, v); err != nil {
			errs = append(errs, fmt.Errorf("canonicalize has returned a value that does not fit: %w", err))
		}
	}
	for _, a := range k.names {
		if _, ok := rec[a.Name]; !ok {
			errs = append(errs, fmt.Errorf("canonicalize has lost %s, which is a namevar", a.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &want{title: w.title, record: rec, name: k.nameOf(rec)}, nil
}

// checkCanonical checks that canonical values are as Get returns them.
func (k *Kind) checkCanonical(ctx context.Context, rt *Runtime, p Canonicalizer, list []*entry) {
	in := make([]Record, len(list))
	for i, e := range list {
		in[i] = e.record
	}
	out, err := k.canonicalize(ctx, rt, p, in)
	if err != nil && len(list) > 1 {
		for i := range list { // so that each has its own error
			k.checkCanonical(ctx, rt, p, list[i:i+1])
		}
		return
	}
	if err != nil {
		list[0].err = errors.Join(list[0].err, err)
		return
	}
	for i, e := range list {
		if key, differs := k.differ(in[i], out[i]); differs {
			e.err = errors.Join(e.err, k.object(rt, fmt.Errorf("Get has returned a value of %s that is not canonical: canonicalize makes another one of it", key)))
		}
	}
}

// differ returns an attribute in which two records differ, in the order of the
// definition.
func (k *Kind) differ(a, b Record) (string, bool) {
	for i := range k.attrs {
		name := k.attrs[i].Name
		x, inA := a[name]
		y, inB := b[name]
		if inA != inB || !equal(x, y) {
			return name, true
		}
	}
	return "", false
}

// canonicalize calls the provider with copies.
func (k *Kind) canonicalize(ctx context.Context, rt *Runtime, p Canonicalizer, in []Record) (out []Record, err error) {
	if len(in) == 0 {
		return nil, nil
	}
	given := make([]Record, len(in))
	for i, r := range in {
		given[i] = r.Clone()
		rt.Log.learn(r)
	}
	err = callsafe.Do("Canonicalize", func() (err error) {
		if out, err = p.Canonicalize(ctx, rt, given); err != nil {
			return fmt.Errorf("canonicalize: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, rt.Log.cleanError(err)
	}
	if len(out) != len(in) {
		return nil, fmt.Errorf("canonicalize has returned %d records for %d", len(out), len(in))
	}
	for i, r := range out {
		if r == nil {
			return nil, fmt.Errorf("canonicalize: record %d: %w", i+1, errNilRecord)
		}
		out[i] = r.Clone()
	}
	return out, nil
}
