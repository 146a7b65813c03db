package scenario_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/simulate"
	_ "github.com/reactivegraph/mgmt/resources"
)

// ready returns a simulated resource with a handle that collects its changes.
func ready(t *testing.T, m *simulate.Machine, kind, name string, set map[string]any) (engine.Res, *[]string) {
	t.Helper()
	kinds, err := m.Kinds(engine.DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	r, err := kinds.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	n, err := schema.NodeOf(set)
	if err != nil {
		t.Fatal(err)
	}
	if ds := schema.Decode(n, r); len(set) > 0 && ds.Err() != nil {
		t.Fatal(ds)
	}
	r.SetName(name)
	var changes []string
	err = r.Init(&engine.Init{
		Change: func(c engine.Change) { changes = append(changes, c.String()) }, Refresh: func() bool { return false },
		Send: func(any) error { return nil }, Running: func() {}, Event: func() {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, &changes
}

// TestEveryKind: each kind has a simulated backend without code of its own. It makes the thing once, and then finds it right.
func TestEveryKind(t *testing.T) {
	for _, kind := range engine.DefaultRegistry().Kinds() {
		m := simulate.NewMachine()
		r, changes := ready(t, m, kind, "x", map[string]any{})
		if _, err := engine.AbilitiesOf(r); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		ok, err := r.CheckApply(t.Context(), false)
		if err != nil || ok || len(*changes) == 0 {
			t.Errorf("%s: a first look: %v, %v, %v", kind, ok, err, *changes)
		}
		if _, there := m.Thing(r.String()); there {
			t.Errorf("%s: a look has made the thing", kind)
		}
		if ok, err := r.CheckApply(t.Context(), true); ok || err != nil {
			t.Errorf("%s: the first change: %v, %v", kind, ok, err)
		}
		if ok, err := r.CheckApply(t.Context(), true); !ok || err != nil {
			t.Errorf("%s: it is not idempotent: %v, %v, %v", kind, ok, err, *changes)
		}
		if o := r.Default(); o.Kind() != kind {
			t.Errorf("%s: Default has the kind %q", kind, o.Kind())
		}
	}
}

// TestThing: a parameter that is not set stays as it is, a difference is repaired, and a secret is not shown.
func TestThing(t *testing.T) {
	m := simulate.NewMachine()
	m.Put("file[/x]", map[string]any{"content": "a", "owner": "root"})
	r, changes := ready(t, m, "file", "/x", map[string]any{"content": "b"})
	if ok, err := r.CheckApply(t.Context(), true); ok || err != nil {
		t.Fatal(ok, err)
	}
	thing, _ := m.Thing("file[/x]")
	if thing["content"] != "b" || thing["owner"] != "root" || strings.Join(*changes, " ") != `content: "a" -> "b"` {
		t.Errorf("%v, %v", thing, *changes)
	}
	m.Put("file[/x]", map[string]any{"content": "c"})
	m.Fail("file[/x]", "the disk is full")
	if _, err := r.CheckApply(t.Context(), true); err == nil || err.Error() != "the disk is full" {
		t.Error(err)
	}
	m.Fail("file[/x]", "")
	if ok, err := r.CheckApply(t.Context(), true); ok || err != nil {
		t.Error(ok, err)
	}
	m.Remove("file[/x]")
}

// TestAbsent: a thing that is to go, and was never there, is as wanted.
func TestAbsent(t *testing.T) {
	m := simulate.NewMachine()
	r, changes := ready(t, m, "file", "/x", map[string]any{"state": "absent"})
	if ok, err := r.CheckApply(t.Context(), true); !ok || err != nil || len(*changes) > 0 {
		t.Error(ok, err, *changes)
	}
}

// TestParameters: some parameters of a thing, as its kind reads them, also without the required ones.
func TestParameters(t *testing.T) {
	node := func(v map[string]any) *schema.Node {
		n, err := schema.NodeOf(v)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ref, set, ds := simulate.Parameters(engine.DefaultRegistry(), "download", node(map[string]any{"name": "/x", "owner": "root"}))
	if ref.ID() != "download[/x]" || len(set) != 1 || set["owner"] != "root" || ds.Err() != nil {
		t.Error(ref, set, ds)
	}
	if _, _, ds := simulate.Parameters(engine.DefaultRegistry(), "file", node(map[string]any{"name": "/x", "contnt": "a"})); ds.Err() == nil {
		t.Error("a wrong key was taken")
	}
}
