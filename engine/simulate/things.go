package simulate

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// isRooted reports whether a kind runs its own code in the folder, and whether its things are in the folder: those of an exec are
// nowhere.
func (m *Machine) isRooted(kind string) (code, things bool) {
	if m.folder == nil || m.kinds == nil {
		return false, false
	}
	r, err := m.kindOf(kind)
	if err != nil {
		return false, false
	}
	if m.standIns[kind] != nil {
		return true, false
	}
	_, code = engine.As[engine.RootedRes](r)
	_, batch := engine.As[engine.Batcher](r)
	_, read := engine.As[engine.Readable](r)
	code = code && !batch // what is done for many at once, and polled, is simulated from its type
	return code, code && read
}

// kindOf returns a resource of a real kind without a name and with its defaults, to ask it what all of the kind have in common.
func (m *Machine) kindOf(kind string) (engine.Res, error) {
	return lifecycle.Make(m.kinds, lifecycle.Wanted{Kind: kind}, nil)
}

// visit calls f with an initialised resource of the real kind for a thing, with the parameters that are set; see thing. The
// argument method names f in the error of a panic.
func (m *Machine) visit(ctx context.Context, ref schema.Ref, set map[string]any, method string, f func(engine.Res) error) (err error) {
	r, err := m.thing(ref, set)
	if err != nil {
		return err
	}
	var l lifecycle.Life
	m.lives.Join(&l, ref.ID(), r)
	l.HideDeclared()
	defer func() { err = l.Error(errors.Join(err, l.Cleanup())) }()
	if err := l.Init(ctx, nil); err != nil {
		return err
	}
	if err := l.Share().Begin(ctx); err != nil {
		return err
	}
	return lifecycle.Call(method, func() error { return f(r) })
}

// thing makes a resource of the real kind for a thing, with the parameters that are set. Those which identify the thing come
// from the graph where they are not set, and the others too where nothing valid is set without them.
func (m *Machine) thing(ref schema.Ref, set map[string]any) (engine.Res, error) {
	declared := m.declared(ref.ID())
	r, err := m.bare(ref, set, declared, false)
	if err == nil || declared == nil {
		return r, err
	}
	if whole, werr := m.bare(ref, set, declared, true); werr == nil {
		return whole, nil
	}
	return nil, err
}

// bare makes a valid resource of the real kind with the parameters that are set, and those of the graph.
func (m *Machine) bare(ref schema.Ref, set, declared map[string]any, whole bool) (engine.Res, error) {
	r, err := lifecycle.Make(m.kinds, lifecycle.Wanted{Kind: ref.Kind, Name: ref.Name}, func(r engine.Res) error {
		return fill(r, set, declared, whole)
	})
	if err != nil {
		return nil, err
	}
	return r, lifecycle.Validate(r, nil)
}

// fill sets the parameters that are set, and from the declared ones those that identify the thing, or with whole all of them.
func fill(r engine.Res, set, declared map[string]any, whole bool) error {
	t, err := schema.TypeOf(r)
	if err != nil {
		return err
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
			return err
		}
	}
	return nil
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
	return m.visit(ctx, ref, there(m.kinds, ref.Kind, set), "CheckApply", func(r engine.Res) error {
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
	err = m.visit(ctx, ref, set, "Read", func(r engine.Res) error {
		got, err := lifecycle.Read(ctx, r)
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
	r, err := m.kindOf(kind)
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
