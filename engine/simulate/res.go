package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// info is what all resources of one simulated kind have in common.
type info struct {
	name      string
	machine   *Machine
	abilities engine.Abilities
}

// res is a simulated resource. The embedded one is of the real kind. It has the parameters, and is never
// initialised, so it touches nothing.
type res struct {
	engine.Res
	*info
	init *engine.Init
}

var (
	_ engine.StatingRes     = (*res)(nil)
	_ engine.RefreshableRes = (*res)(nil)
	_ engine.RecvableRes    = (*res)(nil)
	_ engine.SendableRes    = (*res)(nil)
	_ engine.LeavingRes     = (*res)(nil)
	_ engine.ClashingRes    = (*res)(nil)
	_ engine.VirtualRes     = (*res)(nil)
	_ declaration.Exposing  = (*res)(nil)
	_ engine.OverlappingRes = (*res)(nil)
	_ engine.CollectableRes = (*res)(nil)
	_ engine.TargetedRes    = (*res)(nil)
	_ engine.DescribedRes   = (*res)(nil)
	_ schema.Typed          = (*res)(nil)
)

// Abilities are those of the kind that make sense here.
func (r *res) Abilities() engine.Abilities { return r.abilities }

// Params makes it a schema.Typed with the parameters of the real resource.
func (r *res) Params() (*schema.Type, any) {
	t, rv, err := schema.Side(r.Res)
	if err != nil {
		panic(err) // the registry has described the kind
	}
	return t, rv.Addr().Interface()
}

// Default returns a simulated resource with the defaults of the kind, nil where the kind has none.
func (r *res) Default() engine.Res {
	inner := r.Res.Default()
	if inner == nil {
		return nil
	}
	inner.SetKind(r.name)
	return &res{Res: inner, info: r.info}
}

// Doc returns the text of the kind.
func (r *res) Doc() string {
	if d, ok := engine.As[engine.DescribedRes](r.Res); ok {
		return d.Doc()
	}
	return ""
}

// Overlaps is always true: Init and Cleanup touch nothing.
func (r *res) Overlaps() bool { return true }

// Collects says whether the kind may be collected.
func (r *res) Collects() bool { return r.abilities.Collectable }

// Identity is that of the kind; nil for one that finds it in its fields alone.
func (r *res) Identity() (map[string]string, error) {
	if i, ok := engine.As[declaration.Identified](r.Res); ok {
		return i.Identity()
	}
	return nil, nil
}

// Targeted says whether the kind may have a target.
func (r *res) Targeted() bool { return r.abilities.Targeted }

// Target is that of the kind.
func (r *res) Target() string { return targets.Of(r.Res) }

// Init keeps the handle.
func (r *res) Init(init *engine.Init) error {
	r.init = init
	return nil
}

// Cleanup has nothing to release.
func (r *res) Cleanup() error { return nil }

// Cmp compares as the kind does.
func (r *res) Cmp(o engine.Res) error {
	other, ok := o.(*res)
	if !ok {
		return fmt.Errorf("a %T is not simulated", o)
	}
	return r.Res.Cmp(other.Res)
}

// ability returns the real resource as one with an ability. Its callers are methods that the engine calls only where
// Abilities states that ability.
func ability[T any](r *res) T {
	able, _ := engine.As[T](r.Res)
	return able
}

// Refresh asks the kind.
func (r *res) Refresh() bool { return ability[engine.RefreshableRes](r).Refresh() }

// SetRefresh tells the kind.
func (r *res) SetRefresh(yes bool) { ability[engine.RefreshableRes](r).SetRefresh(yes) }

// Recv asks the kind.
func (r *res) Recv() map[string]*engine.Send { return ability[engine.RecvableRes](r).Recv() }

// SetRecv tells the kind.
func (r *res) SetRecv(sent map[string]*engine.Send) { ability[engine.RecvableRes](r).SetRecv(sent) }

// UIDs are those of the kind, so that other resources find this one.
func (r *res) UIDs() []autoedge.UID { return ability[engine.EdgeableRes](r).UIDs() }

// AutoEdges are those of the kind.
func (r *res) AutoEdges() (autoedge.Needs, error) { return ability[engine.EdgeableRes](r).AutoEdges() }

// Backends are those of the kind. Each of them is simulated alike.
func (r *res) Backends() []string { return ability[engine.VirtualRes](r).Backends() }

// Sends returns the type of the kind.
func (r *res) Sends() any {
	if s, ok := engine.As[engine.SendableRes](r.Res); ok {
		return s.Sends()
	}
	return nil
}

// Leaving asks the kind; a kind that can't tell has nothing that goes.
func (r *res) Leaving() bool {
	l, ok := engine.As[engine.LeavingRes](r.Res)
	return ok && l.Leaving()
}

// Clashes asks the kind about two of its resources.
func (r *res) Clashes(other engine.Res) error {
	switch o := other.(type) {
	case *res:
		other = o.Res
	case *rooted:
		other = o.Res
	}
	return ability[engine.ClashingRes](r).Clashes(other)
}

// Exposes asks the kind; a kind that can't tell exposes nothing.
func (r *res) Exposes(params []string) (string, schema.Mode) {
	if e, ok := engine.As[declaration.Exposing](r.Res); ok {
		return e.Exposes(params)
	}
	var none schema.Mode
	return "", none
}

// Watch lets the machine wake the resource.
func (r *res) Watch(ctx context.Context) error {
	r.machine.mu.Lock()
	r.machine.running[r.String()] = r
	r.machine.mu.Unlock()
	r.init.Running()
	<-ctx.Done()
	r.machine.mu.Lock()
	defer r.machine.mu.Unlock()
	if r.machine.running[r.String()] == r {
		delete(r.machine.running, r.String())
	}
	return nil
}

// CheckApply compares the thing with the parameters that are set, and takes those over.
func (r *res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	m, id := r.machine, r.String()
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted, err := r.wanted()
	if err != nil {
		return false, err
	}
	changed := r.compare(m.things[id], wanted)
	if r.abilities.Refreshable && r.init.Refresh() {
		r.init.Change(engine.Change{Verb: engine.Refreshed})
		changed = true
	}
	if changed {
		if err := m.refuses(id); err != nil {
			return false, err
		}
		if !apply {
			return false, nil
		}
		m.put(id, wanted)
	}
	return !changed, r.send(m.things[id])
}

// refuses returns why a thing can't be altered. The lock is held.
func (m *Machine) refuses(id string) error {
	if words := m.faults[id]; words != "" {
		return errors.New(words)
	}
	return nil
}

// compare reports each difference, and whether there is one. A thing that is to go, and was never there, is as wanted.
func (r *res) compare(is, wanted map[string]any) (changed bool) {
	if is == nil {
		if r.Leaving() {
			return false
		}
		r.init.Change(engine.Change{Verb: engine.Created})
		changed = true
	}
	will := maps.Clone(is)
	if will == nil {
		will = map[string]any{}
	}
	maps.Copy(will, wanted)
	t, _ := r.Params()
	for _, d := range schema.Diff(t, is, will) {
		r.init.Change(engine.Change{Field: d.Path, From: d.From, To: d.To})
		changed = true
	}
	return changed
}

// wanted returns the parameters that say how the thing is to be. An empty one leaves the thing as it is.
func (r *res) wanted() (map[string]any, error) {
	all, err := schema.EncodeAll(r.Res)
	if err != nil {
		return nil, err
	}
	t, _ := r.Params()
	set := map[string]any{}
	for _, f := range t.Fields {
		v, ok := all.(map[string]any)[f.Key]
		if ok && f.Role <= schema.RoleInit && f.Role != schema.RoleIdentity && (f.Type.Optional || !empty(v)) {
			set[f.Key] = v
		}
	}
	return set, nil
}

// empty reports whether a value is the one of a parameter that was not written.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case schema.Secret:
		return v.Reveal() == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// send publishes the values that the kind sends, as far as parameters have their names.
func (r *res) send(thing map[string]any) error {
	t := r.abilities.Sends
	if t == nil {
		return nil
	}
	sent := t.New()
	for _, f := range t.Fields {
		if v, ok := thing[f.Key]; ok && v != nil {
			_ = schema.Set(sent, f.Key, v) // of another type: it is sent empty
		}
	}
	return r.init.Send(sent)
}
