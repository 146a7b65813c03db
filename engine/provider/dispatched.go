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
	"github.com/reactivegraph/mgmt/traits"
)

// dispatched is a resource of a dispatcher. The resource of the chosen kind, which
// it holds, does its work.
type dispatched struct {
	res
	d     *dispatcher
	inner *res // from Init on
}

// dispatchedRefreshable is one of which all kinds act on notifications.
type dispatchedRefreshable struct {
	dispatched
	traits.Refreshable
}

var (
	_ engine.ClashingRes    = (*dispatched)(nil)
	_ engine.Batcher        = (*dispatched)(nil)
	_ engine.SharedRes      = (*dispatched)(nil)
	_ engine.Readable       = (*dispatched)(nil)
	_ engine.ReversibleRes  = (*dispatched)(nil)
	_ engine.RefreshableRes = (*dispatchedRefreshable)(nil)
)

// dispatching is what both are.
type dispatching interface{ outer() *dispatched }

func (r *dispatched) outer() *dispatched { return r }

// resource is the resource of the chosen kind, or itself if there is none.
func (r *dispatched) resource() *res {
	if r.inner != nil {
		return r.inner
	}
	if inner, err := r.choose(); err == nil {
		return inner
	}
	return &r.res
}

// Default returns a resource with the defaults of the definition.
func (r *dispatched) Default() engine.Res { return r.d.New() }

// Validate chooses the kind, and validates the resource of it. A resource in a graph
// keeps its choice.
func (r *dispatched) Validate() error {
	inner, err := r.choose()
	if err == nil && r.inner != nil && r.inner.kind != inner.kind {
		err = fmt.Errorf("%s can't be altered while the resource is in a graph", r.d.by.Attribute)
	}
	return err
}

// choose makes the resource of the chosen kind. It is valid.
func (r *dispatched) choose() (*res, error) {
	w, err := r.kind.wanted(&r.res)
	if err != nil {
		return nil, err
	}
	k := r.d.to[text(w.record[r.d.by.Attribute])]
	if k == nil { // it is announced as coming, and is needed before anything comes
		return nil, fmt.Errorf("%s must be given here: it chooses between %s", r.d.by.Attribute, strings.Join(slices.Sorted(maps.Keys(r.d.by.To)), ", "))
	}
	inner := resOf(k.New())
	inner.SetKind(k.def.Name)
	inner.SetName(r.Name())
	inner.SetMetaParams(r.MetaParams())
	inner.SetRecv(r.coming(k))
	if err := errors.Join(r.pass(inner), r.passOptions(inner)); err != nil {
		return nil, err
	}
	if err := inner.Validate(); err != nil {
		return nil, fmt.Errorf("as a %s: %w", k.def.Name, err)
	}
	return inner, nil
}

// renew gives the resource the values received since. It is called while the engine lets
// no other method of the resource run that could see it change.
func (r *dispatched) renew() error {
	if len(r.Recv()) == 0 {
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
func (r *dispatched) coming(k *Kind) map[string]*engine.Send {
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
func (r *dispatched) pass(inner *res) error {
	var errs []error
	for i := range r.kind.attrs {
		a := &r.kind.attrs[i]
		v := r.given(a.Name)
		has := inner.kind.byName[a.Name] != nil
		switch {
		case v == nil || r.d.steers(a):
		case has:
			errs = append(errs, put(inner, a.Name, v))
		case a.Role == Namevar: // the name says it
		case a.HasDefault && equal(v, a.Default): // nobody has asked for it
		default:
			errs = append(errs, fmt.Errorf("%s: a %s does not have it, and this is one by its %s", a.Name, inner.kind.def.Name, r.d.by.Attribute))
		}
	}
	return errors.Join(errs...)
}

// passOptions gives what is in the options.
func (r *dispatched) passOptions(inner *res) error {
	options, _ := r.given(r.d.by.Options).(map[string]any)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(options)) {
		own := r.kind.byName[key]
		switch {
		case inner.kind.byName[key] == nil:
			errs = append(errs, fmt.Errorf("%s.%s: a %s has no attribute of that name%s", r.d.by.Options, key, inner.kind.def.Name, inner.kind.near(key)))
		case own != nil:
			errs = append(errs, fmt.Errorf("%s.%s: it is an attribute of a %s, give it there", r.d.by.Options, key, r.kind.def.Name))
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

// Init gives the resource a handle on which it sends the values of this one.
func (r *dispatched) Init(init *engine.Init) (err error) {
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

// Cleanup is the resource's.
func (r *dispatched) Cleanup() error { return r.inner.Cleanup() }

// Watch is the resource's.
func (r *dispatched) Watch(ctx context.Context) error {
	if err := r.renew(); err != nil {
		return err
	}
	return r.inner.Watch(ctx)
}

// CheckApply is the resource's.
func (r *dispatched) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := r.renew(); err != nil {
		return false, err
	}
	return r.inner.CheckApply(ctx, apply)
}

// GroupKey is the resource's: it is one of its kind.
func (r *dispatched) GroupKey() string { return r.resource().GroupKey() }

// CheckApplyBatch does each kind's at once.
func (r *dispatched) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	for i, m := range members {
		if err := m.(dispatching).outer().renew(); err != nil {
			return r.apart(ctx, apply, members, i, err)
		}
	}
	return r.inner.CheckApplyBatch(ctx, apply, members)
}

// apart does the batch without the member that can't take part.
func (r *dispatched) apart(ctx context.Context, apply bool, members []engine.Res, i int, err error) []engine.Outcome {
	rest := slices.Delete(slices.Clone(members), i, i+1)
	var out []engine.Outcome
	if len(rest) > 0 {
		out = rest[0].(dispatching).outer().CheckApplyBatch(ctx, apply, rest)
	}
	return slices.Insert(out, i, engine.Outcome{Err: err})
}

// Cmp compares the parameters.
func (r *dispatched) Cmp(o engine.Res) error {
	other, ok := o.(dispatching)
	if !ok || other.outer().d != r.d {
		return fmt.Errorf("not a %s as this one, or one of another definition", r.kind.def.Name)
	}
	return engine.CmpFields(&r.res, &other.outer().res)
}

// Shared is the controller of the chosen kind.
func (r *dispatched) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return r.resource().Shared()
}

// UIDs are the resource's.
func (r *dispatched) UIDs() []engine.ResUID { return r.resource().UIDs() }

// Clashes refuses another one that is about the same thing.
func (r *dispatched) Clashes(o engine.Res) error { return r.resource().Clashes(o) }

// AutoEdges asks for what both definitions say.
func (r *dispatched) AutoEdges() (engine.AutoEdge, error) {
	if _, err := r.memo(&r.res); err != nil {
		return nil, err
	}
	var all asking
	for _, part := range []*res{&r.res, r.resource()} {
		e, err := part.AutoEdges()
		if err != nil {
			return nil, err
		}
		if a, ok := e.(*asking); ok && a != nil {
			all.uids = append(all.uids, a.uids...)
		}
	}
	return &all, nil
}

// Read returns the thing as it is, as a resource of this kind.
func (r *dispatched) Read(ctx context.Context) (engine.Res, error) {
	shown, err := r.inner.Read(ctx)
	if err != nil || shown == nil {
		return nil, err
	}
	return r.shown(shown)
}

// shown returns a resource of the chosen kind as one of this.
func (r *dispatched) shown(of engine.Res) (engine.Res, error) {
	out := r.d.New()
	out.SetKind(r.Kind())
	out.SetName(r.Name())
	from := resOf(of)
	for i := range r.kind.attrs {
		a := &r.kind.attrs[i]
		v := r.given(a.Name)
		if from.kind.byName[a.Name] != nil {
			v = from.given(a.Name)
		}
		if a.Name == r.d.by.Options {
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
func (r *dispatched) shownOptions(v any) any {
	options, _ := v.(map[string]any)
	if options == nil {
		return v
	}
	inner := r.resource()
	out := maps.Clone(options)
	for key := range out {
		if a := inner.kind.byName[key]; a != nil && (a.secret || a.covert) {
			out[key] = inner.given(key)
		}
	}
	return out
}

// Reversed undoes what the resource does.
func (r *dispatched) Reversed(before engine.Res) (engine.Res, error) {
	inner, err := r.choose()
	if err != nil {
		return nil, err
	}
	if d, ok := before.(dispatching); ok {
		if before, err = d.outer().choose(); err != nil {
			return nil, err
		}
	}
	undo, err := inner.Reversed(before)
	if err != nil {
		return nil, err
	}
	return r.shown(undo)
}
