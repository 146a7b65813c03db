package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// rooted is a resource whose own code runs in the folder of the machine. The parameters that need more than a folder are simulated
// as those of any other kind. The embedded resource is the declared one. It is never initialised; work is.
type rooted struct {
	*res
	work  engine.Res // without the parameters in apart
	apart []string   // keys of the parameters that need more than a folder
	other StandIn    // what runs in place of the kind's own code; nil for that

	declared map[string]any // the parameters as carry has found them last; guarded by the lock of the machine
}

var _ engine.SharedRes = (*rooted)(nil)

// StandIn says what runs in the folder for a resource whose own code needs more than a folder: the kind that runs, and its
// parameters. It gets the name and the parameters of the resource. With an error, which fails each run of the resource, it returns
// the parameters that it knows nevertheless.
type StandIn func(name string, all map[string]any) (kind string, set map[string]any, err error)

// newRooted returns the rooted resource for a declared one.
func newRooted(r *res) *rooted {
	if other := r.machine.standIns[r.name]; other != nil {
		_, set, _ := other(r.Name(), map[string]any{})
		var apart []string
		t, _ := r.Params()
		for _, f := range t.Fields {
			if _, carried := set[f.Key]; !carried && f.Role <= schema.RoleInit && f.Role != schema.RoleIdentity {
				apart = append(apart, f.Key)
			}
		}
		return &rooted{res: r, apart: apart, other: other}
	}
	_, apart := ability[engine.RootedRes](r).Rooted()
	return &rooted{res: r, apart: apart}
}

// Default returns one with the defaults of the kind.
func (r *rooted) Default() engine.Res { return newRooted(r.res.Default().(*res)) }

// Cmp compares as the kind does.
func (r *rooted) Cmp(o engine.Res) error {
	other, ok := o.(*rooted)
	if !ok {
		return fmt.Errorf("a %T is not in a folder", o)
	}
	return r.Res.Cmp(other.Res)
}

// Shared is that of the kind. A stand-in has to be of a kind that shares the same.
func (r *rooted) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return ability[engine.SharedRes](r.res).Shared()
}

// SetRecv tells both resources: the working resource may ask for its senders, too.
func (r *rooted) SetRecv(sent map[string]*engine.Send) {
	r.res.SetRecv(sent)
	if able, ok := engine.As[engine.RecvableRes](r.work); r.work != nil && ok {
		able.SetRecv(sent)
	}
}

// Init initialises the resource that works.
func (r *rooted) Init(init *engine.Init) error {
	kind := r.name
	if r.other != nil {
		kind, _, _ = r.other(r.Name(), map[string]any{})
	}
	work, err := lifecycle.Make(r.machine.kinds, lifecycle.Wanted{Kind: kind, Name: r.Name()}, nil)
	if err != nil {
		return err
	}
	r.init, r.work = init, work
	if able, ok := engine.As[engine.RecvableRes](r.Res); ok {
		r.SetRecv(able.Recv())
	}
	if err := r.carry(); err != nil && r.other == nil {
		return err // that of a stand-in fails each run
	}
	r.machine.live(r.String(), nil, r)
	own := *init
	if r.other != nil {
		own.Send = func(any) error { return nil } // of the type of another kind
	}
	own.Host = &handle{init.Host, r}
	return work.Init(&own)
}

// Cleanup ends what Init has begun.
func (r *rooted) Cleanup() error {
	r.machine.live(r.String(), r, nil)
	return r.work.Cleanup()
}

// live notes which resource there is for an id: another one unless that has been replaced already.
func (m *Machine) live(id string, old, r *rooted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case r != nil:
		m.rooted[id] = r
	case m.rooted[id] == old:
		delete(m.rooted, id)
	}
}

// Watch is that of the kind, on the folder.
func (r *rooted) Watch(ctx context.Context) error {
	m, id := r.machine, r.String()
	m.mu.Lock()
	m.running[id] = r.res
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.running[id] == r.res {
			delete(m.running, id)
		}
	}()
	return r.work.Watch(ctx)
}

// carry gives the working resource the parameters of the declared one, which may have received some. It leaves equal
// parameters alone, since Watch may read them meanwhile.
func (r *rooted) carry() error {
	have, err := parameters(r.work)
	if err != nil {
		return err
	}
	want, err := parameters(r.Res)
	if err != nil {
		return err
	}
	r.machine.mu.Lock()
	r.declared = want
	r.machine.mu.Unlock()
	var missing error
	if r.other != nil {
		_, want, missing = r.other(r.Name(), want)
	}
	t, err := schema.TypeOf(r.work)
	if err != nil {
		return err
	}
	for _, f := range t.Fields {
		v, given := want[f.Key]
		if !given || f.Role > schema.RoleInit || slices.Contains(r.apart, f.Key) || schema.Equal(have[f.Key], v) {
			continue
		}
		if err := schema.Set(r.work, f.Key, v); err != nil {
			return err
		}
	}
	return missing
}

// parameters returns the values of all parameters.
func parameters(r engine.Res) (map[string]any, error) {
	all, err := schema.EncodeAll(r)
	if err != nil {
		return nil, err
	}
	return all.(map[string]any), nil
}

// CheckApply runs the kind's own code in the folder, and simulates the parameters that need more.
func (r *rooted) CheckApply(ctx context.Context, apply bool) (bool, error) {
	m, id := r.machine, r.String()
	m.mu.Lock()
	wanted, err := r.wanted()
	var refused error
	if err == nil {
		refused = m.refuses(id)
	}
	m.mu.Unlock()
	if err = errors.Join(err, r.carry()); err != nil {
		return false, err
	}
	writes, err := m.above(r.work)
	if err != nil {
		return false, err
	}
	apply = apply && refused == nil
	ok, err := r.work.CheckApply(ctx, apply)
	if err != nil {
		return false, err
	}
	ok = r.others(id, wanted, apply) && ok
	if !ok && apply {
		m.touch(writes)
	}
	if r.other != nil && refused == nil {
		refused = r.sendOwn(id)
	}
	return ok, refused
}

// others compares the simulated parameters with those of the thing, and reports the differences. With apply, the thing gets all
// parameters: a test may ask for them.
func (r *rooted) others(id string, wanted map[string]any, apply bool) (same bool) {
	m := r.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	same = r.other == nil || !r.abilities.Refreshable || !r.init.Refresh()
	if !same {
		r.init.Change(engine.Change{Verb: engine.Refreshed})
	}
	for _, key := range r.apart {
		v, given := wanted[key]
		if given && !schema.Equal(m.things[id][key], v) {
			same = false
			r.init.Change(engine.Change{Field: key, From: m.things[id][key], To: v})
		}
	}
	if apply {
		m.put(id, wanted)
	}
	return same
}

// sendOwn publishes what a kind sends for which another one runs.
func (r *rooted) sendOwn(id string) error {
	thing, _ := r.machine.Thing(id)
	return r.send(thing)
}

// above makes the folders above the paths that a resource writes, and returns the paths.
func (m *Machine) above(r engine.Res) (writes []string, err error) {
	able, _ := engine.As[engine.RootedRes](r)
	writes, _ = able.Rooted()
	for _, p := range writes {
		if err := m.folder.MakeAbove(p); err != nil {
			return nil, err
		}
	}
	return writes, nil
}

// touch wakes the resources that watch the paths.
func (m *Machine) touch(paths []string) {
	for _, p := range paths {
		m.folder.Touch(p)
	}
}
