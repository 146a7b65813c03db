package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
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
	work, err := r.machine.kinds.New(kind)
	if err != nil {
		return err
	}
	work.SetName(r.Name())
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
	delete(m.pending, id)
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

// isRooted reports whether a kind runs its own code in the folder, and whether its things are in the folder: those of an exec are
// nowhere.
func (m *Machine) isRooted(kind string) (code, things bool) {
	if m.folder == nil || m.kinds == nil {
		return false, false
	}
	r, err := m.kinds.New(kind)
	if err != nil {
		return false, false
	}
	if m.standIns[kind] != nil {
		return true, false
	}
	_, code = engine.As[engine.RootedRes](r)
	_, read := engine.As[engine.Readable](r)
	return code, code && read
}

// thing makes and initialises a resource of the real kind for a thing, with the parameters that are set. Those which identify the
// thing come from the graph where they are not set, and the others too where nothing valid is set without them.
func (m *Machine) thing(ref schema.Ref, set map[string]any) (engine.Res, error) {
	declared := m.declared(ref.ID())
	r, err := m.bare(ref, set, declared, false)
	if err != nil && declared != nil {
		if whole, werr := m.bare(ref, set, declared, true); werr == nil {
			r, err = whole, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return r, r.Init(&engine.Init{
		Running: func() {}, Event: func() {}, Busy: func() func() { return func() {} }, Refresh: func() bool { return false },
		Receives: func() bool { return false }, Send: func(any) error { return nil }, Recv: func() map[string]*engine.Send { return nil },
		Change: func(engine.Change) {}, Logf: func(string, ...any) {}, Host: m.folder,
	})
}

// bare makes a valid resource of the real kind with the parameters that are set, and those of the graph.
func (m *Machine) bare(ref schema.Ref, set, declared map[string]any, whole bool) (engine.Res, error) {
	r, err := m.kinds.New(ref.Kind)
	if err != nil {
		return nil, err
	}
	r.SetName(ref.Name)
	t, err := schema.TypeOf(r)
	if err != nil {
		return nil, err
	}
	able, _ := engine.As[engine.RootedRes](r)
	_, apart := able.Rooted()
	for _, f := range t.Fields {
		v, given := set[f.Key]
		if !given && (f.Role == schema.RoleIdentity || whole) {
			v, given = declared[f.Key]
		}
		if !given || f.Role > schema.RoleInit || slices.Contains(apart, f.Key) {
			continue
		}
		if err := schema.Set(r, f.Key, v); err != nil {
			return nil, err
		}
	}
	return r, r.Validate()
}

// declared returns the parameters of the resource of the graph that has an id; nil where there is none.
func (m *Machine) declared(id string) map[string]any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.rooted[id]; r != nil {
		return r.declared
	}
	return nil
}

// place gives a thing in the folder its parameters, as another program would do.
func (m *Machine) place(ctx context.Context, ref schema.Ref, set map[string]any) error {
	return engine.Guard("CheckApply", func() error {
		r, err := m.thing(ref, there(m.kinds, ref.Kind, set))
		if err != nil {
			return err
		}
		defer func() { _ = r.Cleanup() }() // it releases nothing but memory
		writes, err := m.above(r)
		if err != nil {
			return err
		}
		if _, err := r.CheckApply(ctx, true); err != nil {
			return err
		}
		m.touch(writes)
		return nil
	})
}

// there returns parameters with a state that says that the thing is there, unless they say more.
func there(kinds *engine.Registry, kind string, set map[string]any) map[string]any {
	k, err := kinds.Kind(kind)
	if err != nil {
		return set
	}
	f := k.Type.Field("state")
	if _, given := set["state"]; given || f == nil || len(f.Type.Enum) == 0 {
		return set
	}
	all := map[string]any{"state": f.Type.Enum[0]}
	maps.Copy(all, set)
	return all
}

// found reads a thing in the folder. It returns nil where the thing is not there.
func (m *Machine) found(ctx context.Context, ref schema.Ref, set map[string]any) (is map[string]any, err error) {
	err = engine.Guard("Read", func() error {
		r, err := m.thing(ref, set)
		if err != nil {
			return err
		}
		defer func() { _ = r.Cleanup() }() // it releases nothing but memory
		able, ok := engine.As[engine.Readable](r)
		if !ok {
			return nil
		}
		got, err := able.Read(ctx)
		if err != nil || got == nil {
			return err
		}
		if l, ok := engine.As[engine.LeavingRes](got); ok && l.Leaving() {
			return nil
		}
		is, err = parameters(got)
		return err
	})
	return is, err
}

// merged puts the state of a thing in the folder above the parameters that are known of it.
func (m *Machine) merged(kind string, known, is map[string]any) (map[string]any, error) {
	r, err := m.kinds.New(kind)
	if err != nil {
		return nil, err
	}
	t, err := schema.TypeOf(r)
	if err != nil {
		return nil, err
	}
	able, _ := engine.As[engine.RootedRes](r)
	_, apart := able.Rooted()
	all := map[string]any{}
	for _, f := range t.Fields {
		from := known
		if f.Role == schema.RoleState && !slices.Contains(apart, f.Key) {
			from = is
		}
		if v, ok := from[f.Key]; ok {
			all[f.Key] = v
		}
	}
	return all, nil
}
