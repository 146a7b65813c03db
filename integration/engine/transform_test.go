package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	_ "github.com/reactivegraph/mgmt/resources/all"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/traits"
)

// transformed runs a graph until it has converged, and returns what has taken
// effect and what was logged.
func transformed(t *testing.T, yaml string, o mgmt.Options) (g *resgraph.Graph, log string, _ mgmt.Report) {
	t.Helper()
	var buf syncBuffer
	o.ConvergedExit = true
	o.Logger = slog.New(slog.NewTextHandler(&buf, nil))
	o.Observer.Loaded = func(loaded func() *resgraph.Graph) { g = loaded() }
	with, f := from(yaml, o)
	r, err := mgmt.Run(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	return g, buf.String(), r
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Two that print run as one, and each prints under its own name.
func TestGroupsRun(t *testing.T) {
	const yaml = "resources: {print: [{name: a, msg: one}, {name: b, msg: two}]}"
	g, log, r := transformed(t, yaml, mgmt.Options{})
	i, ok := resgraph.Find(g, "print[b]")
	if g.Len() != 1 || !ok || g.ID(i) != "print[a]" || r.Counts[resgraph.StateOK] != 1 {
		t.Errorf("%d vertices, %v", g.Len(), r)
	}
	for _, want := range []string{"msg=one resource=print[a]", `msg="print[b]: two" resource=print[a]`, `msg="resources run together" resources=2 groups=1 in_all=2 vertices=1`} {
		if strings.Count(log, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, log)
		}
	}
	if g, _, r := transformed(t, yaml, mgmt.Options{NoAutoGroup: true}); g.Len() != 2 || r.Counts[resgraph.StateOK] != 2 {
		t.Errorf("%v without groups", r)
	}
}

// A file in a folder that is managed too needs no edge of its own.
func TestAutomaticEdgesOrder(t *testing.T) {
	dir := t.TempDir()
	yaml := `resources: {file: [{name: ` + filepath.Join(dir, "a/b/c") + `, content: x}, {name: ` + filepath.Join(dir, "a/b") + `/}, {name: ` + filepath.Join(dir, "a") + `/}]}`
	if _, _, r := transformed(t, yaml, mgmt.Options{State: mgmt.StateIn(t.TempDir())}); r.Counts[resgraph.StateOK] != 3 {
		t.Errorf("%v", r)
	}
	g, _, _ := transformed(t, yaml, mgmt.Options{NoAutoEdges: true})
	if g.EdgeCount() != 0 {
		t.Errorf("%d edges that nobody wants", g.EdgeCount())
	}
}

// What is left out is said.
func TestLeftOutIsLogged(t *testing.T) {
	yaml := "resources: {file: [{name: /nowhere/x, state: absent}, {name: /nowhere/, state: absent, before: ['file[/nowhere/x]']}]}"
	_, log, _ := transformed(t, yaml, mgmt.Options{})
	if lines := strings.Split(log, "\n"); !slices.ContainsFunc(lines, func(l string) bool {
		return strings.Contains(l, "edge left out") && strings.Contains(l, "step=autoedge") && strings.Contains(l, "file[/nowhere/x] belongs to file[/nowhere]")
	}) {
		t.Errorf("logged is\n%s", log)
	}
}

// odd is a resource that cannot say what it wants.
type odd struct {
	basic.NoopRes
	traits.Edgeable
}

func (*odd) Default() engine.Res                  { return &odd{} }
func (*odd) AutoEdges() (autoedge.Needs, error)   { return nil, errors.New("no idea") }
func (x *odd) Cmp(engine.Res) error               { return nil }
func (x *odd) GroupCmp(engine.GroupableRes) error { return nil }

// bell has something to do once, and rings whoever has the name that it wants.
type bell struct {
	basic.NoopRes
	traits.Edgeable
	Wants string `yaml:"wants"`

	init *engine.Init
	rung bool
}

func (*bell) Default() engine.Res         { return &bell{} }
func (x *bell) Init(i *engine.Init) error { x.init = i; return x.NoopRes.Init(i) }
func (x *bell) Cmp(o engine.Res) error    { return engine.CmpFields(x, o) }
func (*bell) GroupKey() string            { return "" }

func (x *bell) AutoEdges() (autoedge.Needs, error) {
	u := autoedge.NameUIDOf(x, "test", x.Wants)
	u.Reversed, u.Notifying = new(false), true
	return &once{u}, nil
}

type once struct{ uid autoedge.UID }

func (o *once) Test([]bool) bool { return false }
func (o *once) Next() []autoedge.UID {
	return []autoedge.UID{o.uid}
}

func (x *bell) CheckApply(_ context.Context, apply bool) (bool, error) {
	if x.rung {
		return true, nil
	}
	x.init.Change(engine.Change{Verb: engine.Ran})
	x.rung = apply
	return false, nil
}

// A resource is found by its kind and name, though it says nothing of itself, and
// is refreshed along the automatic edge that asks for that.
func TestAutomaticRefresh(t *testing.T) {
	reg, err := engine.DefaultRegistry().With("bell", func() engine.Res { return &bell{} })
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	refreshed := map[string]bool{}
	o := mgmt.Options{Registry: reg}
	o.Observer.Ran = func(r reactor.Run) {
		mu.Lock()
		defer mu.Unlock()
		refreshed[r.Resource] = refreshed[r.Resource] || r.Refreshed
	}
	g, log, _ := transformed(t, "resources: {test: [{name: told}, {name: other}], bell: [{name: a, wants: told}]}", o)
	mu.Lock()
	defer mu.Unlock()
	if !refreshed["test[told]"] || refreshed["test[other]"] || g.EdgeCount() != 1 {
		t.Errorf("%v, %d edges\n%s", refreshed, g.EdgeCount(), log)
	}
}

// What a resource does wrong is a warning that names it, and the graph runs.
func TestSkippedIsAWarning(t *testing.T) {
	reg, err := engine.DefaultRegistry().With("odd", func() engine.Res { return &odd{} })
	if err != nil {
		t.Fatal(err)
	}
	_, log, r := transformed(t, "resources: {odd: [{name: a}]}", mgmt.Options{Registry: reg})
	if !strings.Contains(log, "level=WARN msg=skipped step=autoedge reason=\"no idea\" resource=odd[a]") || r.Counts[resgraph.StateOK] != 1 {
		t.Errorf("%v\n%s", r, log)
	}
}
