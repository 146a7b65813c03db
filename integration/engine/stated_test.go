package engine_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/traits"
)

// definition is a kind that is data. Its resources have the methods of every ability, and the abilities that it states.
type definition struct {
	says engine.Abilities

	mu    sync.Mutex
	calls map[string]bool
}

// call notes that a method of an ability was called.
func (d *definition) call(method string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[method] = true
}

func (d *definition) called() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.calls)
}

// stated is a resource of a definition.
type stated struct {
	traits.Base
	Text string `yaml:"text"`

	def  *definition
	init *engine.Init
}

// statedSends are the values that it sends.
type statedSends struct {
	Out string `yaml:"out"`
}

var _ engine.StatingRes = (*stated)(nil)

func (r *stated) Abilities() engine.Abilities  { return r.def.says }
func (r *stated) Default() engine.Res          { return &stated{def: r.def} }
func (r *stated) Validate() error              { return nil }
func (r *stated) Init(init *engine.Init) error { r.init = init; return nil }
func (r *stated) Cleanup() error               { return nil }
func (r *stated) Cmp(o engine.Res) error       { return engine.CmpFields(r, o) }

func (r *stated) Watch(ctx context.Context) error {
	r.def.call("Watch")
	r.init.Running()
	<-ctx.Done()
	return nil
}

func (r *stated) CheckApply(_ context.Context, apply bool) (bool, error) {
	if r.init.Refresh() {
		r.def.call("to refresh")
	}
	if r.init.Shared != nil {
		r.def.call("to share")
	}
	if r.def.says.Sends != nil {
		if err := r.init.Send(&statedSends{Out: "sent"}); err != nil {
			return false, err
		}
	}
	if r.Text == "" || r.Text == "done" {
		return true, nil
	}
	r.init.Change(engine.Change{Field: "text", From: "", To: r.Text})
	if apply {
		r.Text = "done"
	}
	return false, nil
}

func (r *stated) Refresh() bool                      { r.def.call("Refresh"); return false }
func (r *stated) SetRefresh(bool)                    { r.def.call("SetRefresh") }
func (r *stated) Recv() map[string]*engine.Send      { r.def.call("Recv"); return nil }
func (r *stated) SetRecv(map[string]*engine.Send)    { r.def.call("SetRecv") }
func (r *stated) Sends() any                         { r.def.call("Sends"); return &statedSends{} }
func (r *stated) UIDs() []autoedge.UID               { r.def.call("UIDs"); return []autoedge.UID{r.uid()} }
func (r *stated) Leaving() bool                      { r.def.call("Leaving"); return false }
func (r *stated) AutoEdges() (autoedge.Needs, error) { r.def.call("AutoEdges"); return nil, nil }
func (r *stated) Clashes(engine.Res) error           { r.def.call("Clashes"); return nil }
func (r *stated) GroupKey() string                   { r.def.call("GroupKey"); return "all" }
func (r *stated) GroupCmp(engine.GroupableRes) error { r.def.call("GroupCmp"); return nil }
func (r *stated) SetGroup([]engine.Res)              { r.def.call("SetGroup") }
func (r *stated) Undone() bool                       { r.def.call("Undone"); return true }
func (r *stated) Backends() []string                 { r.def.call("Backends"); return []string{"one"} }
func (r *stated) Targeted() bool                     { r.def.call("Targeted"); return true }
func (r *stated) Target() string                     { r.def.call("Target"); return "router" }
func (r *stated) Overlaps() bool                     { r.def.call("Overlaps"); return true }
func (r *stated) WatchesNothing() bool               { r.def.call("WatchesNothing"); return true }
func (r *stated) Collects() bool                     { r.def.call("Collects"); return true }

func (r *stated) uid() *autoedge.KeyUID {
	return &autoedge.KeyUID{BaseUID: autoedge.UIDOf(r), Space: "stated", Key: "the same"}
}

func (r *stated) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) (out []engine.Outcome) {
	r.def.call("CheckApplyBatch")
	for _, m := range members {
		ok, err := m.CheckApply(ctx, apply)
		out = append(out, engine.Outcome{OK: ok, Err: err})
	}
	return out
}

func (r *stated) Read(context.Context) (engine.Res, error) {
	r.def.call("Read")
	is := &stated{def: r.def}
	is.SetKind(r.Kind())
	is.SetName(r.Name())
	return is, nil
}

func (r *stated) Reversed(engine.Res) (engine.Res, error) {
	r.def.call("Reversed")
	return &stated{def: r.def}, nil
}

func (r *stated) List(context.Context) iter.Seq2[engine.Res, error] {
	r.def.call("List")
	return func(func(engine.Res, error) bool) {}
}

func (r *stated) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	r.def.call("Shared")
	return "stated", func(context.Context, engine.Host) (engine.Shared, error) { return nothingShared{}, nil }
}

// nothingShared is the thing that they share.
type nothingShared struct{}

func (nothingShared) Begin()       {}
func (nothingShared) End()         {}
func (nothingShared) Close() error { return nil }

// statedGraph has two resources side by side, and a third one that listens to both. All are about the same thing.
func statedGraph(def *definition, recv bool, meta map[string]any) *gapi.Declared {
	g, on := static.NewGraph("stated"), ""
	if def.says.Targeted {
		on = "router"
	}
	a := g.Add("stated", targets.Qualify("a", on), &stated{def: def, Text: "wanted"})
	b := g.Add("stated", targets.Qualify("b", on), &stated{def: def, Text: "wanted"})
	c := g.Add("stated", targets.Qualify("c", on), &stated{def: def})
	c.Listen(a, b)
	for _, r := range []*static.Resource{a, b, c} {
		if meta != nil {
			r.Meta(meta)
		}
	}
	if recv {
		c.Recv("text", a.Sent("out"))
	}
	return g.Declared()
}

// TestStatedAbilities: of a resource with the methods of all abilities, each consumer calls those of the stated abilities
// and no others: the front door, the transforms, the reactor, a look, and the reading of what other hosts export.
func TestStatedAbilities(t *testing.T) {
	sends, err := schema.TypeOf(&statedSends{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		says   engine.Abilities
		recv   bool
		meta   map[string]any
		called []string // methods that may be called, and have to be
		may    []string // methods that may be called besides
	}{
		"nothing":                {called: []string{"Watch"}},
		"refreshable":            {says: engine.Abilities{Refreshable: true}, called: []string{"Watch", "SetRefresh", "to refresh"}},
		"sendable":               {says: engine.Abilities{Sends: sends}, called: []string{"Watch"}, may: []string{"Sends"}},
		"recvable and sendable":  {says: engine.Abilities{Recvable: true, Sends: sends}, recv: true, called: []string{"Watch", "SetRecv"}, may: []string{"Sends", "Recv"}},
		"edgeable":               {says: engine.Abilities{Edgeable: true}, called: []string{"Watch", "UIDs", "AutoEdges", "Leaving"}},
		"edgeable and clashing":  {says: engine.Abilities{Edgeable: true, Clashing: true}, called: []string{"Watch", "UIDs", "AutoEdges", "Leaving", "Clashes"}},
		"groupable":              {says: engine.Abilities{Groupable: true}, called: []string{"Watch", "GroupKey", "GroupCmp", "SetGroup"}},
		"batcher and unwatched":  {says: engine.Abilities{Batcher: true, Unwatched: true}, called: []string{"GroupKey", "CheckApplyBatch"}},
		"reversible":             {says: engine.Abilities{Reversible: true, Readable: true}, meta: map[string]any{"reverse": true}, called: []string{"Watch", "Read", "Reversed"}},
		"reversible, not read":   {says: engine.Abilities{Reversible: true}, meta: map[string]any{"reverse": true}, called: []string{"Watch"}},
		"readable":               {says: engine.Abilities{Readable: true}, called: []string{"Watch", "Read"}},
		"listable":               {says: engine.Abilities{Listable: true}, called: []string{"Watch", "List"}},
		"shared":                 {says: engine.Abilities{Shared: true}, called: []string{"Watch", "Shared", "to share"}},
		"overlapping":            {says: engine.Abilities{Overlapping: true}, called: []string{"Watch"}},
		"unwatched":              {says: engine.Abilities{Unwatched: true}},
		"collectable":            {says: engine.Abilities{Collectable: true}, called: []string{"Watch"}},
		"virtual":                {says: engine.Abilities{Virtual: true}, meta: map[string]any{"backend": "one"}, called: []string{"Watch", "Backends"}},
		"targeted and edgeable":  {says: engine.Abilities{Targeted: true, Edgeable: true}, called: []string{"Watch", "UIDs", "AutoEdges", "Leaving", "Target"}},
		"many, but not listable": {says: engine.Abilities{Readable: true, Shared: true, Refreshable: true}, called: []string{"Watch", "Read", "Shared", "to share", "SetRefresh", "to refresh"}},
	} {
		t.Run(name, func(t *testing.T) {
			def := &definition{says: c.says, calls: map[string]bool{}}
			reg := engine.NewRegistry()
			if err := reg.Register("stated", func() engine.Res { return &stated{def: def} }); err != nil {
				t.Fatal(err)
			}
			if k, err := reg.Kind("stated"); err != nil || k.Abilities != c.says {
				t.Errorf("the registry says %+v, %v", k.Abilities, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), await.Left())
			defer cancel()
			if _, err := mgmt.Run(ctx, mgmt.Options{Registry: reg, State: mgmt.StateIn(t.TempDir()), ConvergedExit: true, ConvergedTimeout: time.Millisecond}, static.New(statedGraph(def, c.recv, c.meta))); err != nil {
				t.Fatal(err)
			}
			lookAtStated(t, reg, c.says)
			called := def.called()
			for _, method := range c.called {
				if !called[method] {
					t.Errorf("%s is not called", method)
				}
			}
			for method := range called {
				if !slices.Contains(c.called, method) && !slices.Contains(c.may, method) {
					t.Errorf("%s is called", method)
				}
			}
		})
	}
}

// lookAtStated looks at a thing of the kind, and at all of them, and has it collected.
func lookAtStated(t *testing.T, reg *engine.Registry, says engine.Abilities) {
	t.Helper()
	in, err := look.New(look.Options{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, err := range in.Read(t.Context(), look.Target{Declaration: gapi.Declaration{Kind: "stated", Name: "a"}}) {
		if errors.Is(err, look.ErrBlind) == says.Readable {
			t.Errorf("a look gives %v", err)
		}
	}
	for _, err := range in.List(t.Context(), look.Target{Declaration: gapi.Declaration{Kind: "stated"}}) {
		if errors.Is(err, look.ErrBlind) == says.Listable {
			t.Errorf("a list gives %v", err)
		}
	}
	rules, err := lend.Parse([]string{"stated"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rules.Judge(reg, lend.Foreign{Kind: "stated", Name: "x"}); (err == nil) != says.Collectable {
		t.Errorf("whether it may be collected: %v", err)
	}
}

// TestStatedKindComesBack: between two graphs a kind is taken out, and comes back with other abilities. A resource that wants
// the same as before is replaced then, and sends what the new statement says. Meanwhile the kind is unknown.
func TestStatedKindComesBack(t *testing.T) {
	sends, err := schema.TypeOf(&statedSends{})
	if err != nil {
		t.Fatal(err)
	}
	reg := engine.NewRegistry()
	register := func(says engine.Abilities) {
		def := &definition{says: says, calls: map[string]bool{}}
		if err := reg.Register("stated", func() engine.Res { return &stated{def: def} }); err != nil {
			t.Fatal(err)
		}
	}
	graph := func(recv bool) *gapi.Declared {
		g := static.NewGraph("stated")
		a := g.AddValues("stated", "a", nil)
		if b := g.AddValues("stated", "b", nil); recv {
			b.Recv("text", a.Sent("out"))
		}
		return g.Declared()
	}
	register(engine.Abilities{})
	e, ctx := applied(t, mgmt.Options{Registry: reg, ConvergedTimeout: time.Millisecond})
	if v, err := e.Apply(ctx, graph(false)); err != nil || v.Swap.Added != 2 {
		t.Fatalf("%+v, %v", v, err)
	}
	if _, err := e.Apply(ctx, graph(true)); err == nil {
		t.Error("a resource receives from a kind that states nothing")
	}
	reg.Unregister("stated")
	if _, err := e.Apply(ctx, graph(false)); err == nil {
		t.Error("a kind that was taken out is known")
	}
	register(engine.Abilities{Recvable: true, Sends: sends})
	v, err := e.Apply(ctx, graph(true))
	if err != nil || v.Swap.Changed != 2 || v.Swap.Kept != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	for end := time.Now().Add(await.Left()); ; time.Sleep(time.Millisecond) {
		st, err := e.Status(ctx, "stated[b]")
		if err != nil {
			t.Fatal(err)
		}
		if st.State == resgraph.StateOK {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the receiver is %s: %v", st.State, st.Err)
		}
	}
}
