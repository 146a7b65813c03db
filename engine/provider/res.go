package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// res is a resource of a kind that is made of data. Its controller does its work
// for all of the kind.
type res struct {
	traits.Base
	traits.Recvable
	traits.Overlapping

	kind   *Kind
	params any // a pointer to the parameters, of the Go type kind.params.Go

	memo func(*res) (*want, error) // see remember; never nil
	init *engine.Init
	ctl  *controller
	own  bool // the controller is this resource's alone
	m    *member
}

// listable is a res whose things can be listed.
type listable struct{ res }

// refreshable is a res that acts on notifications.
type refreshable struct {
	res
	traits.Refreshable
}

type listableRefreshable struct {
	listable
	traits.Refreshable
}

var (
	_ engine.Res            = (*res)(nil)
	_ engine.RecvableRes    = (*res)(nil)
	_ engine.SendableRes    = (*res)(nil)
	_ engine.ClashingRes    = (*res)(nil)
	_ engine.Batcher        = (*res)(nil)
	_ engine.SharedRes      = (*res)(nil)
	_ engine.Readable       = (*res)(nil)
	_ engine.ReversibleRes  = (*res)(nil)
	_ engine.OverlappingRes = (*res)(nil)
	_ engine.DescribedRes   = (*res)(nil)
	_ engine.TargetedRes    = (*res)(nil)
	_ engine.Listable       = (*listable)(nil)
	_ engine.RefreshableRes = (*refreshable)(nil)
	_ engine.RefreshableRes = (*listableRefreshable)(nil)
	_ engine.Listable       = (*listableRefreshable)(nil)
)

// resource returns what the other types of this file embed.
func (r *res) resource() *res { return r }

// resOf returns the res of a resource that a Kind has made, nil for another one.
func resOf(r engine.Res) *res {
	if p, ok := r.(interface{ resource() *res }); ok {
		return p.resource()
	}
	return nil
}

// Params makes it a schema.Typed.
func (r *res) Params() (*schema.Type, any) { return r.kind.params, r.params }

// Doc returns what the definition says.
func (r *res) Doc() string { return r.kind.def.Doc }

// Default returns a resource with the defaults of the definition.
func (r *res) Default() engine.Res { return r.kind.New() }

// Validate checks the values against their types, and finds the namevars.
func (r *res) Validate() error {
	_, err := r.memo(r)
	return errors.Join(err, r.kind.reachable(r.Target()))
}

// want returns the wanted values of the parameters, nil where they are not valid.
func (r *res) want() *want {
	w, _ := r.memo(r)
	return w
}

// looks returns the wanted values of the parameters, though some may be missing that
// setting needs. The error says why not even the name is known.
func (r *res) looks() (*want, error) {
	if w := r.want(); w != nil {
		return w, nil
	}
	return r.kind.looked(r)
}

// Init joins the controller.
func (r *res) Init(init *engine.Init) error {
	r.init = init
	ctl, ok := init.Shared.(*controller)
	if !ok {
		ctl, r.own = open(r.kind, init.Host, r.Target()), true
	}
	r.ctl = ctl
	r.m = ctl.join(r)
	return nil
}

// Cleanup leaves the controller.
func (r *res) Cleanup() error {
	r.ctl.leave(r.m)
	if r.own {
		return r.ctl.Close()
	}
	return nil
}

// Watch waits to be woken by the controller.
func (r *res) Watch(ctx context.Context) error {
	sub, err := r.ctl.subscribe(ctx, r.m)
	if err != nil {
		return err
	}
	defer sub.close()
	touched, release, err := sub.locate(ctx, r)
	if err != nil {
		return err
	}
	defer release()
	r.init.Running()
	for {
		select {
		case <-touched:
			sub.touched(r.m)
		case <-sub.wake:
			r.init.Event()
		case <-sub.ended:
			return sub.err()
		case <-ctx.Done():
			return nil
		}
	}
}

// CheckApply is a batch of one.
func (r *res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if r.own {
		r.ctl.Begin()
		defer r.ctl.End()
	}
	out := r.ctl.checkApply(ctx, apply, []*res{r})
	return out[0].OK, out[0].Err
}

// GroupKey is the kind, and the target: all that is due is done at once.
func (r *res) GroupKey() string { return engine.NameOn(r.kind.id, r.Target()) }

// CheckApplyBatch checks and applies many in one call of the provider.
func (r *res) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	rs := make([]*res, len(members))
	for i, m := range members {
		rs[i] = resOf(m)
	}
	return r.ctl.checkApply(ctx, apply, rs)
}

// Cmp compares the parameters.
func (r *res) Cmp(o engine.Res) error {
	other := resOf(o)
	if other == nil || other.kind != r.kind {
		return fmt.Errorf("not a %s as this one, or one of another definition", r.kind.def.Name)
	}
	return engine.CmpFields(r, other)
}

// Shared is the controller of the kind on the target.
func (r *res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	target := r.Target()
	return r.GroupKey(), func(_ context.Context, h engine.Host) (engine.Shared, error) {
		return open(r.kind, h, target), nil
	}
}

// Sends returns the attributes that can be read.
func (r *res) Sends() any { return r.kind.unsent() }

// send publishes the state of the thing. A value that does not fit its type, which
// is there only where the kind is not strict, is left out.
func (r *res) send(is Record) error {
	p := r.kind.unsent()
	for _, f := range p.Type.Fields {
		v, ok := is[r.kind.attribute(f.Key).Name]
		if !ok || v == nil {
			continue
		}
		if err := schema.Set(p, f.Key, puppettype.Plain(v)); err != nil && r.kind.strict == StrictError {
			return fmt.Errorf("%s can't be sent: %w", f.Key, err)
		}
	}
	return r.init.Send(p)
}

// FromText reads the text of a command line for an attribute. It does so as the
// Resource API does. A value for which that has no text, such as a Timespan, is read as in a graph.
func (r *res) FromText(key, text string) (any, error) {
	a := r.kind.attribute(key)
	if a == nil && key == targetKey && r.Targeted() {
		return text, nil
	}
	if a == nil {
		return nil, fmt.Errorf("a %s has no attribute %q", r.kind.def.Name, key)
	}
	v, err := a.typ.CleanText(r.kind.def.Name+"."+key, text)
	if err != nil && !a.secret {
		if read := a.fromWire(text); a.typ.Accepts(read) {
			v, err = read, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return puppettype.Plain(v), nil
}

// Read returns the thing as it is; a missing one has ensure absent.
func (r *res) Read(ctx context.Context) (engine.Res, error) {
	st, name, err := r.ctl.look(ctx, r)
	if err != nil {
		return nil, err
	}
	if st.Presence == Absent {
		if r.kind.ensure == nil {
			return nil, nil
		}
		st.Record = r.kind.nameRecord(name)
		st.Record[ensureKey] = absent
	}
	return r.kind.show(r.Name(), st.Record, r.Target())
}

// List returns all things of the kind, and an error for each that can't be shown.
func (r *listable) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		err := r.kind.reachable(r.Target())
		var entries []*entry
		if err == nil {
			entries, err = r.ctl.list(ctx)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range entries {
			if !yield(r.kind.shown(e, r.Target())) {
				return
			}
		}
	}
}

func (k *Kind) shown(e *entry, target string) (engine.Res, error) {
	if e.err != nil {
		return nil, e.err
	}
	return k.show(engine.NameOn(k.titleOf(e.record), target), e.record, target)
}

// errNoEnsure says why some kinds can't be reversed where nothing was there.
var errNoEnsure = errors.New("it was not there before, and a type without ensure can't be removed")

// Reversed returns the resource that brings back the earlier state: the properties
// that this one manages. A thing that was not there is removed.
func (r *res) Reversed(before engine.Res) (engine.Res, error) {
	undo := r.kind.New()
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	to, was := resOf(undo), (*res)(nil)
	if t := r.Target(); t != "" {
		must(schema.Set(to, targetKey, t))
	}
	if before != nil {
		was = resOf(before)
	}
	gone := was == nil || was.given(ensureKey) == absent
	if gone && r.kind.ensure == nil {
		return nil, errNoEnsure
	}
	for i := range r.kind.attrs {
		a := &r.kind.attrs[i]
		var v any
		switch {
		case a.Role == Namevar || a.Role == Parameter:
			v = r.given(a.Name)
		case a == r.kind.ensure && gone:
			v = absent
		case a == r.kind.ensure:
			v = present
		case gone || a.Role == ReadOnly:
		case r.given(a.Name) != nil || r.given(ensureKey) == absent:
			v = was.given(a.Name)
		}
		if err := schema.Set(to, a.Name, v); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return undo, nil
}

// given returns the plain value of an attribute, nil where it has none.
func (r *res) given(name string) any {
	if r.kind.byName[name] == nil {
		return nil
	}
	v, err := schema.Get(r, name)
	if err != nil {
		return nil
	}
	return v
}
