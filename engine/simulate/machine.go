package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// Machine has the things of a simulated machine. The zero value is of no use, see NewMachine.
type Machine struct {
	mu      sync.Mutex
	things  map[string]map[string]any // by id: the parameters of a thing, as schema.EncodeAll gives them
	faults  map[string]string         // by id: why the thing can't be altered
	running map[string]*res           // by id: the resources whose Watch runs
	rooted  map[string]*rooted        // by id: the resources that are between Init and Cleanup
	folder  *Folder                   // nil for a machine without files
	lives   *lifecycle.Env            // of the resources that read and alter things in the folder for a test
	kinds   *engine.Registry          // the real ones

	standIns map[string]StandIn // by kind
}

// NewMachine returns a machine without things.
func NewMachine() *Machine {
	return &Machine{
		things: map[string]map[string]any{}, faults: map[string]string{}, running: map[string]*res{}, rooted: map[string]*rooted{}, standIns: map[string]StandIn{},
	}
}

// Stand has another kind run in the folder for the resources of a kind. Call it before Kinds, for a machine with a folder.
func (m *Machine) Stand(kind string, in StandIn) { m.standIns[kind] = in }

// Use gives the machine the files of a folder. Call it before Kinds. The folder stays the caller's, and has to be open for as long
// as the machine is used.
func (m *Machine) Use(f *Folder) {
	m.folder, m.lives = f, lifecycle.NewEnv(lifecycle.Options{Host: f})
}

// Find returns the parameters of a thing as they are now, nil where there is no such thing. A thing in the folder is read there, as
// its kind reads it; the parameters that are given steer the look. Any other thing is that of Thing. The error is that of the
// look.
func (m *Machine) Find(ctx context.Context, ref schema.Ref, given map[string]any) (map[string]any, error) {
	known, _ := m.Thing(ref.ID())
	if _, inFolder := m.isRooted(ref.Kind); !inFolder {
		return known, nil
	}
	is, err := m.found(ctx, ref, given)
	if is == nil {
		return nil, err
	}
	return m.merged(ref.Kind, known, is)
}

// Place alters a thing as another program would do. In the folder it runs the code of the kind, returns its error, and wakes the
// resources that watch the paths. For any other thing it is Put.
func (m *Machine) Place(ctx context.Context, ref schema.Ref, set map[string]any) error {
	if _, inFolder := m.isRooted(ref.Kind); inFolder {
		if err := m.place(ctx, ref, set); err != nil {
			return err
		}
	}
	m.Put(ref.ID(), set)
	return nil
}

// Thing returns a copy of the parameters that the machine has of a thing, false where it has no such thing.
func (m *Machine) Thing(id string) (map[string]any, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	thing, ok := m.things[id]
	if !ok {
		return nil, false
	}
	return deepCopy(thing).(map[string]any), true
}

// Put alters some parameters of a thing, and makes it where it is not there. It wakes the resource of this id. The values
// are copied.
func (m *Machine) Put(id string, set map[string]any) {
	m.mu.Lock()
	m.put(id, set)
	m.mu.Unlock()
	m.wake(id)
}

// put is Put under the lock. It wakes nothing.
func (m *Machine) put(id string, set map[string]any) {
	if m.things[id] == nil {
		m.things[id] = map[string]any{}
	}
	for key, v := range set {
		m.things[id][key] = deepCopy(v)
	}
}

// deepCopy copies a value with the lists and maps in it. A machine shares no value with its users, so
// that a test alters a thing by Put alone.
func deepCopy(v any) any {
	switch v := v.(type) {
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = deepCopy(v[i])
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for key := range v {
			c[key] = deepCopy(v[key])
		}
		return c
	}
	return v
}

// Remove takes a thing away, and wakes the resource of this id.
func (m *Machine) Remove(id string) {
	m.mu.Lock()
	delete(m.things, id)
	m.mu.Unlock()
	m.wake(id)
}

// Fail has each change of a thing fail with these words, until it is called with empty ones. It wakes the
// resource.
func (m *Machine) Fail(id, words string) {
	m.mu.Lock()
	m.faults[id] = words
	m.mu.Unlock()
	m.wake(id)
}

// wake tells the resource of an id that its thing may have changed.
func (m *Machine) wake(id string) {
	m.mu.Lock()
	r := m.running[id]
	m.mu.Unlock()
	if r != nil {
		r.init.Event()
	}
}

// Kinds returns a registry with the same kinds, all of them simulated but for those of the given names. Those run their own
// code, and so must touch nothing but engine.Init. With a folder (Use), kinds that state it run their own code there
// (engine.RootedRes).
func (m *Machine) Kinds(kinds *engine.Registry, own ...string) (*engine.Registry, error) {
	all := kinds.Clone()
	m.kinds = kinds
	for _, name := range kinds.Kinds() {
		if slices.Contains(own, name) {
			continue
		}
		k, err := kinds.Kind(name)
		if err != nil {
			return nil, err
		}
		info := &info{name: name, machine: m, abilities: simulated(k.Abilities)}
		inFolder, _ := m.isRooted(name)
		info.abilities.Shared = inFolder && k.Abilities.Shared
		made := func() engine.Res {
			inner, err := kinds.New(name)
			if err != nil {
				panic(err) // it was there a moment ago
			}
			r := &res{Res: inner, info: info}
			if inFolder {
				return newRooted(r)
			}
			return r
		}
		if all, err = all.With(name, made); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// simulated returns the abilities that a simulated resource keeps. It is a vertex of its own, shares nothing, and is not
// undone.
func simulated(a engine.Abilities) engine.Abilities {
	return engine.Abilities{
		Refreshable: a.Refreshable, Recvable: a.Recvable, Edgeable: a.Edgeable, Clashing: a.Clashing, Sends: a.Sends,
		Virtual: a.Virtual, Collectable: a.Collectable, Targeted: a.Targeted, Overlapping: true,
	}
}

// Parameters decodes the parameters of a thing as its kind does. It returns the kind and the name that the thing has in a graph,
// with its target where it has one, and the values of the keys that the node has.
func Parameters(kinds *engine.Registry, kind string, n *schema.Node) (ref schema.Ref, set map[string]any, ds schema.Diagnostics) {
	fail := func(pos schema.Pos, format string, args ...any) (schema.Ref, map[string]any, schema.Diagnostics) {
		return schema.Ref{}, nil, schema.Diagnostics{{Pos: pos, Message: fmt.Sprintf(format, args...)}}
	}
	name := n.Get("name")
	if n.Kind != schema.NodeMap || name == nil || name.Text == "" || name.Kind == schema.NodeList || name.Kind == schema.NodeMap {
		return fail(n.Pos, "a thing is a map with a name, such as {name: nginx}")
	}
	given := *n
	given.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p schema.Pair) bool { return p.Key == "name" })
	var t *schema.Type
	r, err := lifecycle.Make(kinds, lifecycle.Wanted{Kind: kind, Name: name.Text}, func(r engine.Res) (err error) {
		if t, err = schema.TypeOf(r); err == nil {
			ds = lifecycle.DecodePart(t, &given, r)
		}
		return cmp.Or(err, ds.Err())
	})
	switch {
	case ds.Err() != nil:
		return schema.Ref{}, nil, ds
	case err != nil:
		return fail(n.Pos, "%v", err)
	}
	all, err := schema.EncodeAll(r)
	if err != nil {
		return fail(n.Pos, "%v", err)
	}
	set = map[string]any{}
	for _, p := range given.Pairs {
		if f := t.Field(p.Key); f != nil {
			set[f.Key] = all.(map[string]any)[f.Key]
		}
	}
	return schema.Ref{Kind: kind, Name: targets.Qualify(name.Text, targets.Of(r))}, set, nil
}
