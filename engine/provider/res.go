package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
	"github.com/reactivegraph/mgmt/traits"
)

// res is a resource of a kind that is made of data. Its controller does its work
// for all of the kind. It has the methods of all abilities that such a kind may have, and
// its Abilities say which of them the kind has.
//
// A resource of a kind that dispatches has no controller. From Init on, inner does its work.
type res struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	traits.Overlapping

	kind   *Kind
	params any // a pointer to the parameters, of the Go type kind.params.Go

	memo func(*res) (*want, error) // see remember; never nil
	init *engine.Init
	ctl  *controller
	own  bool // the controller is this resource's alone
	m    *member

	inner *res // the resource of the chosen kind; nil where the kind does not dispatch
}

var (
	_ engine.StatingRes      = (*res)(nil)
	_ engine.RecvableRes     = (*res)(nil)
	_ engine.SendableRes     = (*res)(nil)
	_ engine.ClashingRes     = (*res)(nil)
	_ engine.Batcher         = (*res)(nil)
	_ engine.SharedRes       = (*res)(nil)
	_ engine.Readable        = (*res)(nil)
	_ engine.ReversibleRes   = (*res)(nil)
	_ engine.OverlappingRes  = (*res)(nil)
	_ engine.DescribedRes    = (*res)(nil)
	_ engine.TargetedRes     = (*res)(nil)
	_ engine.Listable        = (*res)(nil)
	_ engine.RefreshableRes  = (*res)(nil)
	_ declaration.Identified = (*res)(nil)
	_ engine.RootedRes       = (*res)(nil)
)

// resOf returns the worker of a resource that a Kind has made, nil for another resource.
func resOf(r engine.Res) *res {
	if made, ok := r.(*res); ok {
		return made.worker()
	}
	return nil
}

// worker returns the resource that does the work: that of the chosen kind where the kind dispatches, else r.
// It returns r too where the parameters allow no choice.
func (r *res) worker() *res {
	if r.kind.chooser == nil {
		return r
	}
	if r.inner != nil {
		return r.inner
	}
	if inner, err := r.choose(); err == nil {
		return inner
	}
	return r
}

// Abilities returns the abilities that the definition gives the kind.
func (r *res) Abilities() engine.Abilities { return r.kind.abilities() }

// Params makes it a schema.Typed.
func (r *res) Params() (*schema.Type, any) { return r.kind.params, r.params }

// Doc returns the text of the definition.
func (r *res) Doc() string { return r.kind.def.Doc }

// Default returns a resource with the defaults of the definition.
func (r *res) Default() engine.Res { return r.kind.New() }

// Identity returns the namevars, which the title may give.
func (r *res) Identity() (map[string]string, error) {
	w := r.worker()
	l, err := w.looks()
	if err != nil {
		return nil, err
	}
	id := make(map[string]string, len(w.kind.names))
	for _, a := range w.kind.names {
		id[w.kind.key(a.Name)] = text(l.record[a.Name])
	}
	return id, nil
}

// Validate checks the values against their types, and finds the namevars. Of a kind that dispatches it checks the choice.
func (r *res) Validate() error {
	if r.kind.chooser != nil {
		return r.validateChoice()
	}
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
	if r.kind.chooser != nil {
		return r.initChoice(init)
	}
	r.init = init
	ctl, ok := init.Shared.(*controller)
	if !ok || r.kind.rooted && safepath.Of(init.Host).Laid() { // what it sees through a layer is no other's
		ctl, r.own = open(r.kind, init.Host, r.Target()), true
	}
	r.ctl = ctl
	r.m = ctl.join(r)
	return nil
}

// Cleanup leaves the controller.
func (r *res) Cleanup() error {
	w := r.worker()
	w.ctl.leave(w.m)
	if w.own {
		return w.ctl.Close()
	}
	return nil
}

// Watch waits to be woken by the controller.
func (r *res) Watch(ctx context.Context) error {
	if err := r.renew(); err != nil {
		return err
	}
	return r.worker().watch(ctx)
}

func (r *res) watch(ctx context.Context) error {
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
	if err := r.renew(); err != nil {
		return false, err
	}
	w := r.worker()
	if w.own {
		w.ctl.Begin()
		defer w.ctl.End()
	}
	out := w.ctl.checkApply(ctx, apply, []*res{w})
	return out[0].OK, out[0].Err
}

// GroupKey is the kind, the chosen one where it dispatches, and the target: all that is due is done at once.
func (r *res) GroupKey() string {
	w := r.worker()
	return targets.Qualify(w.kind.id, w.Target())
}

// CheckApplyBatch checks and applies many in one call of the provider; those that have a controller of their own one by one.
func (r *res) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	if r.own {
		outs := make([]engine.Outcome, len(members))
		for i, m := range members {
			outs[i].OK, outs[i].Err = m.(*res).CheckApply(ctx, apply)
		}
		return outs
	}
	rs := make([]*res, len(members))
	for i, m := range members {
		if err := m.(*res).renew(); err != nil {
			return apart(ctx, apply, members, i, err)
		}
		rs[i] = resOf(m)
	}
	return r.worker().ctl.checkApply(ctx, apply, rs)
}

// apart does the batch without the member that can't take part.
func apart(ctx context.Context, apply bool, members []engine.Res, i int, err error) []engine.Outcome {
	rest := slices.Delete(slices.Clone(members), i, i+1)
	var out []engine.Outcome
	if len(rest) > 0 {
		out = rest[0].(*res).CheckApplyBatch(ctx, apply, rest)
	}
	return slices.Insert(out, i, engine.Outcome{Err: err})
}

// Cmp compares the parameters.
func (r *res) Cmp(o engine.Res) error {
	other, ok := o.(*res)
	if !ok || other.kind != r.kind {
		return fmt.Errorf("not a %s as this one, or one of another definition", r.kind.def.Name)
	}
	return engine.CmpFields(r, other)
}

// Shared is the controller of the kind on the target.
func (r *res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	w := r.worker()
	target := w.Target()
	return w.GroupKey(), func(_ context.Context, h engine.Host) (engine.Shared, error) {
		return open(w.kind, h, target), nil
	}
}

// Rooted returns the files of the thing, and the attributes that need more than paths.
func (r *res) Rooted() (writes, apart []string) {
	w := r.want()
	if w == nil {
		return nil, r.kind.apart
	}
	p, err := r.kind.provider()
	if err != nil {
		return nil, r.kind.apart
	}
	if c, ok := p.(Closer); ok {
		defer func() { _ = callsafe.Do("Close", c.Close) }()
	}
	l, _ := p.(Locator)
	return l.Files(w.record.Clone()), r.kind.apart
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
	if r.kind.chooser != nil {
		return r.readChoice(ctx)
	}
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
func (r *res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
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
	return k.show(targets.Qualify(k.titleOf(e.record), target), e.record, target)
}

// errNoEnsure says why some kinds can't be reversed where nothing was there.
var errNoEnsure = errors.New("it was not there before, and a type without ensure can't be removed")

// Reversed returns the resource that brings back the earlier state: the properties
// that this one manages. A thing that was not there is removed.
func (r *res) Reversed(before engine.Res) (engine.Res, error) {
	if r.kind.chooser != nil {
		return r.reversedChoice(before)
	}
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
