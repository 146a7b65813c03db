package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/traits"
)

// toldHost counts how often the facts of its machine are read.
type toldHost struct {
	*enginetest.FakeHost
	reads atomic.Int32
}

func (h *toldHost) Facts() engine.Facts {
	h.reads.Add(1)
	return h.FakeHost.Facts()
}

// picky is a resource that asks for the machine.
type picky struct {
	traits.Base
	traits.Unwatched
}

func (p *picky) Default() engine.Res                            { return &picky{} }
func (p *picky) Validate() error                                { return nil }
func (p *picky) Init(*engine.Init) error                        { return nil }
func (p *picky) Cleanup() error                                 { return nil }
func (p *picky) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (p *picky) Cmp(r engine.Res) error                         { return engine.CmpFields(p, r) }
func (p *picky) CheckMachine(m engine.Machine) error {
	if len(m.Facts) == 0 {
		return errors.New("it gets no facts")
	}
	return nil
}

// TestFindingM1Facts: a part, and a graph, reads the facts of the machine once where a resource asks for them, and else not.
func TestFindingM1Facts(t *testing.T) {
	reg, err := engine.DefaultRegistry().With("picky", func() engine.Res { return &picky{} })
	if err != nil {
		t.Fatal(err)
	}
	h := &toldHost{FakeHost: enginetest.NewHost()}
	e, ctx := applied(t, mgmt.Options{Registry: reg, Host: h})
	reads := func(do func() error) int32 {
		t.Helper()
		before := h.reads.Load()
		if err := do(); err != nil {
			t.Error(err)
		}
		return h.reads.Load() - before
	}
	pickies := &gapi.Declared{Resources: []gapi.Declaration{static.Declare("picky", "a", &picky{}), static.Declare("picky", "b", &picky{})}}
	for i, n := range []int32{
		reads(func() error { _, err := e.Apply(ctx, noops(3)); return err }),
		reads(func() error {
			return e.Patch(ctx, mgmt.Patch{Upsert: &gapi.Declared{Resources: []gapi.Declaration{noopOf("x", 1)}}})
		}),
		reads(func() error { return e.Patch(ctx, mgmt.Patch{Upsert: pickies}) }),
	} {
		if want := int32(i / 2); n != want {
			t.Errorf("step %d reads the facts %d times, want %d", i, n, want)
		}
	}
}

// TestFindingM3AfterTheEnd: what needs a running engine says after the end that there is none, and so does one that was abandoned
// before it began.
func TestFindingM3AfterTheEnd(t *testing.T) {
	ctx := t.Context()
	abandon := make(chan struct{})
	e, err := mgmt.Open(ctx, mgmt.Options{Abandon: abandon}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"Snapshot": func() error { _, err := e.Snapshot(ctx); return err },
		"Pause":    func() error { return e.Pause(ctx, reactor.Pause{Resource: "noop[a]"}) },
		"Resume":   func() error { _, err := e.Resume(ctx, reactor.Which{All: true}); return err },
		"Apply":    func() error { _, err := e.Apply(ctx, noops(1)); return err },
		"Upsert":   func() error { return e.Patch(ctx, mgmt.Patch{Upsert: noops(1)}) },
		"Delete":   func() error { return e.Patch(ctx, mgmt.Patch{Delete: []string{"noop[n0]"}}) },
		"callAll":  func() error { return callAll(ctx, e) },
	} {
		if err := call(); !errors.Is(err, reactor.ErrStopped) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
	for range e.Events(ctx) {
		t.Error("there is an event")
	}
	close(abandon)
	if e, err := mgmt.Open(ctx, mgmt.Options{Abandon: abandon}, nil); e != nil || !isAbandoned(err) {
		t.Errorf("Open returns %v, %v", e, err)
	}
	if _, err := mgmt.Run(ctx, mgmt.Options{Abandon: abandon}, static.New(noops(1))); !isAbandoned(err) {
		t.Errorf("Run returns %v", err)
	}
}

func isAbandoned(err error) bool {
	a, ok := errors.AsType[*reactor.AbandonedError](err)
	return ok && len(a.Resources)+len(a.Cut) == 0 && err.Error() == "abandoned"
}

// TestFindingM6JSON: what an embedder logs as JSON has words for states, and texts for errors.
func TestFindingM6JSON(t *testing.T) {
	var c reactor.Counts
	c[resgraph.StateOK], c[resgraph.StateFailed] = 8999, 1
	why := errors.New("no such <place>")
	run := reactor.Run{Resource: "noop[a]", State: resgraph.StateFailed, Err: why}
	has := map[string]any{
		`{"failed":1,"ok":8999}`:                c,
		`{}`:                                    reactor.Counts{},
		`"Counts":{"failed":1,"ok":8999}`:       mgmt.Report{Counts: c},
		`"Converged":true`:                      reactor.Rest{Counts: c, Converged: true},
		`"State":"failed"`:                      reactor.Status{State: resgraph.StateFailed, Err: why},
		`"Err":"no such \u003cplace\u003e"`:     reactor.Status{Err: why},
		`"Err":"no such \u003cplace\u003e",`:    mgmt.Step{Run: run, Because: []string{"noop[b]"}},
		`"Because":["noop[b]"]`:                 mgmt.Step{Run: run, Because: []string{"noop[b]"}},
		`"Kind":"ran"`:                          mgmt.Event{Kind: mgmt.EventRan, Run: run},
		`"Class":"intended"`:                    run,
		`"Refused":"no such \u003cplace\u003e"`: mgmt.Verdict{Refused: why},
	}
	for want, x := range has {
		if got, err := json.Marshal(x); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%T: %s, %v; want %s", x, got, err, want)
		}
	}
	for _, x := range []any{reactor.Status{}, reactor.Run{}, mgmt.Step{}, mgmt.Event{Graph: func() *resgraph.Graph { return nil }}, mgmt.Verdict{}} {
		got, err := json.Marshal(x)
		if err != nil || strings.Contains(string(got), `"Err":`) || strings.Contains(string(got), `"Refused":`) || strings.Contains(string(got), `"Graph":`) {
			t.Errorf("%T without an error: %s, %v", x, got, err)
		}
	}
	var back reactor.Counts
	if err := json.Unmarshal([]byte(`{"failed":1,"ok":8999,"in a newer version":3}`), &back); err != nil || back != c {
		t.Errorf("read back: %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`[0,1]`), &back); err == nil {
		t.Error("a list was read")
	}
}

// TestFindingM7Patch: a part comes and other resources go in one change, both or neither.
func TestFindingM7Patch(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var mu sync.Mutex
	var swaps []string
	e, ctx := applied(t, mgmt.Options{MaxRemovals: reactor.Removals{Most: 1}, Observer: mgmt.Observer{Swapped: func(s reactor.Swap) {
		mu.Lock()
		defer mu.Unlock()
		swaps = append(swaps, fmt.Sprint(s.Kept, s.Added, s.Changed, s.Removed))
	}}})
	whole := &gapi.Declared{Resources: []gapi.Declaration{noopOf("a", 0), noopOf("b", 0, "a"), static.Declare("file", path, &file.Res{Content: new("old")})}}
	if _, err := e.Apply(ctx, whole); err != nil {
		t.Fatal(err)
	}
	part := func(ds ...gapi.Declaration) *gapi.Declared { return &gapi.Declared{Resources: ds} }
	refused := []error{
		e.Patch(ctx, mgmt.Patch{Upsert: part(noopOf("c", 0)), Delete: []string{"noop[x]"}}),
		e.Patch(ctx, mgmt.Patch{Upsert: part(noopOf("c", 0)), Delete: []string{"noop[a]"}}),
		e.Patch(ctx, mgmt.Patch{Upsert: part(noopOf("c", 0, "x")), Delete: []string{"noop[b]"}}),
		e.Patch(ctx, mgmt.Patch{Upsert: part(noopOf("b", 1), noopOf("c", 0)), Delete: []string{"noop[b]"}}),
		e.Patch(ctx, mgmt.Patch{Upsert: part(noopOf("b", 1, "a")), Delete: []string{"noop[a]"}}),
		e.Patch(ctx, mgmt.Patch{Upsert: part(noopOf("b", 1)), Delete: []string{"noop[a]", "file[" + path + "]"}}),
	}
	for i, want := range []string{"noop[x]", "noop[b] refers to it", "noop[x]", "can't be both", "noop[a]", "removes"} {
		if refused[i] == nil || !strings.Contains(refused[i].Error(), want) {
			t.Errorf("%d: %v, want %s", i, refused[i], want)
		}
	}
	// The old file has the path of the new one under another name, as another resource: alone, neither could come first.
	other := static.Declare("file", "other", &file.Res{Path: path, Content: new("new")})
	if err := e.Patch(ctx, mgmt.Patch{Upsert: part(other)}); err == nil {
		t.Error("two resources have one path")
	}
	other = static.Declare("file", "other", &file.Res{Path: path, Content: new("new")})
	if err := e.Patch(ctx, mgmt.Patch{Upsert: part(other, noopOf("b", 1, "a"), noopOf("c", 0, "b")), Delete: []string{"file[" + path + "]"}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Patch(ctx, mgmt.Patch{}); err == nil || !strings.Contains(err.Error(), "there is no graph") {
		t.Errorf("nothing at all: %v", err)
	}
	if err := e.Patch(ctx, mgmt.Patch{Delete: []string{}}); err != nil {
		t.Errorf("no ids: %v", err)
	}
	atRest(t, ctx, e)
	list, err := statusesOf(ctx, e)
	var names []string
	for _, st := range list {
		names = append(names, st.Resource)
	}
	slices.Sort(names)
	if err != nil || strings.Join(names, " ") != "file[other] noop[a] noop[b] noop[c]" {
		t.Errorf("%q run, %v", names, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
		t.Errorf("the file has %q, %v", got, err)
	}
	if err := e.Told(ctx); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(swaps) < 2 || swaps[0] != "0 3 0 0" || swaps[1] != "1 2 1 1" {
		t.Errorf("swaps %q", swaps)
	}
}

// TestFindingM7SecondEngine: an Engine on a state folder that another one of this process uses is told so.
func TestFindingM7SecondEngine(t *testing.T) {
	dir := t.TempDir()
	applied(t, mgmt.Options{State: mgmt.StateIn(dir)})
	_, err := mgmt.Run(t.Context(), mgmt.Options{State: mgmt.StateIn(dir)}, nil)
	if !errors.Is(err, journal.ErrLocked) || !strings.Contains(fmt.Sprint(err), "this process has it open already") || !strings.Contains(fmt.Sprint(err), dir) {
		t.Errorf("the error is %v", err)
	}
}
