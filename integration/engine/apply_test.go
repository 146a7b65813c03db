package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/exec"
)

// applied starts an engine that gets its graphs by Apply.
func applied(t *testing.T, o mgmt.Options) (*mgmt.Engine, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	e, _ := inBackground(ctx, t, o, nil)
	t.Cleanup(cancel)
	return e, ctx
}

// TestFindingG1Apply: each graph has its own verdict when Apply returns: what has changed by it, or all that is
// wrong with it, and then the graph before goes on.
func TestFindingG1Apply(t *testing.T) {
	e, ctx := applied(t, mgmt.Options{MaxRemovals: reactor.Removals{Most: 1}})
	v, err := e.Apply(ctx, noops(3))
	if err != nil || v.Generation != 1 || v.Swap.Added != 3 || v.Refused != nil || v.Held() != nil {
		t.Fatalf("%+v, %v", v, err)
	}
	if st, err := e.Status(ctx, "noop[n2]"); err != nil || st.Resource != "noop[n2]" {
		t.Errorf("right after it: %+v, %v", st, err)
	}
	wrong := static.NewGraph("wrong")
	wrong.AddValues("noop", "a", map[string]any{"nothing": 1})
	wrong.AddValues("nothing", "b", map[string]any{"x": 1})
	v, err = e.Apply(ctx, wrong.Declared())
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok || len(ds) != 2 || !strings.Contains(ds[0].String(), "apply_test.go:") || v.Generation != 1 || v.Refused == nil || v.Swap.Added != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err = e.Apply(ctx, noops(2)); err != nil || v.Generation != 2 || v.Swap.Removed != 1 || v.Swap.Kept != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	held := noops(0)
	if v, err = e.Apply(ctx, held); v.Held() == nil || len(v.Held().Removed) != 2 || !errors.Is(err, v.Refused) || v.Generation != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := e.Resume(ctx, reactor.Which{All: true}); err != nil {
		t.Error(err)
	}
	if v, err = e.Apply(ctx, noops(0)); err != nil || v.Generation != 3 || v.Swap.Removed != 2 {
		t.Errorf("after Resume: %+v, %v", v, err)
	}
}

// TestFindingG9ReadyGraph: a graph that was built elsewhere is taken as it is, and warnings are in the verdict.
func TestFindingG9ReadyGraph(t *testing.T) {
	e, ctx := applied(t, mgmt.Options{})
	d := noops(2)
	d.Edges = []gapi.EdgeDecl{{From: gapi.EdgeEnd{Kind: "noop", Name: "n0"}, To: gapi.EdgeEnd{Kind: "noop", Name: "n1"}, Notify: true}}
	d.Resources = append(d.Resources, static.Declare("print", "p", &basic.PrintRes{Msg: "x"}))
	d.Edges = append(d.Edges, gapi.EdgeDecl{From: gapi.EdgeEnd{Kind: "noop", Name: "n0"}, To: gapi.EdgeEnd{Kind: "print", Name: "p"}, Notify: true})
	g, diags := gapi.Build(engine.DefaultRegistry(), d)
	if g == nil {
		t.Fatal(diags)
	}
	v, err := e.Apply(ctx, gapi.Ready(g))
	if err != nil || v.Swap.Added != 3 || len(v.Warnings) != len(diags) {
		t.Errorf("%+v, %v; the graph was built with %v", v, err, diags)
	}
}

// slow is a kind whose validation waits.
type slow struct {
	basic.NoopRes
	begun, gate chan struct{}
}

func (s *slow) Default() engine.Res { return &slow{begun: s.begun, gate: s.gate} }

// Validate waits for the gate.
func (s *slow) Validate() error {
	s.begun <- struct{}{}
	<-s.gate
	return nil
}

// TestLook: Look shows the graph in effect, also while another one is built, and says where there is none.
func TestLook(t *testing.T) {
	begun, gate := make(chan struct{}, 1), make(chan struct{})
	reg := engine.DefaultRegistry().Clone()
	if err := reg.Register("slow", func() engine.Res { return &slow{begun: begun, gate: gate} }); err != nil {
		t.Fatal(err)
	}
	e, ctx := applied(t, mgmt.Options{Registry: reg})
	look := func() (ids []string, err error) {
		err = e.Look(ctx, func(r mgmt.Running) error {
			for _, id := range []string{"noop[n0]", "noop[n1]", "slow[s]"} {
				if r.Find(id) != nil {
					ids = append(ids, id)
				}
			}
			for to, by := range r.After("noop[n0]") {
				ids = append(ids, "to "+to+" by "+by)
			}
			return nil
		})
		return ids, err
	}
	if ids, err := look(); !errors.Is(err, mgmt.ErrNoGraph) {
		t.Errorf("before the first graph: %v, %v", ids, err)
	}
	d := noops(2)
	d.Resources[1].Depend = []gapi.RefDecl{{Ref: schema.Ref{Kind: "noop", Name: "n0"}}}
	if _, err := e.Apply(ctx, d); err != nil {
		t.Fatal(err)
	}
	next := make(chan error, 1)
	go func() {
		d := static.NewGraph("next")
		d.AddValues("slow", "s", nil)
		_, err := e.Apply(ctx, d.Declared())
		next <- err
	}()
	<-begun
	if ids, err := look(); err != nil || strings.Join(ids, ", ") != "noop[n0], noop[n1], to noop[n1] by noop[n1]" {
		t.Errorf("during the next graph: %v, %v", ids, err)
	}
	close(gate)
	if err := <-next; err != nil {
		t.Fatal(err)
	}
	if ids, err := look(); err != nil || strings.Join(ids, ", ") != "slow[s]" {
		t.Errorf("after it: %v, %v", ids, err)
	}
}

// TestFindingG1ApplyEnds: Apply ends with its context and with Run, and then says so, also from many goroutines at once; what it
// was to put into effect is not.
func TestFindingG1ApplyEnds(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ctx, end := context.WithCancel(t.Context())
	e, err := mgmt.Open(ctx, mgmt.Options{NoAutoGroup: true}, static.New(noops(2)))
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for range 4 {
		go func() {
			for {
				if _, err := e.Apply(t.Context(), noops(3)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	if _, err := e.Apply(gone, noops(1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	end()
	for range 4 {
		if err := <-errs; !errors.Is(err, reactor.ErrStopped) {
			t.Error(err)
		}
	}
	if err := e.Wait(); err != nil {
		t.Error(err)
	}
}

// TestFindingG1WaitEnds: Wait and Close end with the Engine, and say what has ended it. Where Open fails there is none.
func TestFindingG1WaitEnds(t *testing.T) {
	wait := func(what string, wait func() error, want error) {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- wait() }()
		select {
		case err := <-ended:
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		case <-time.After(await.Left()):
			t.Errorf("%s: Wait does not end", what)
		}
	}
	dir := t.TempDir()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	e, err := mgmt.Open(ctx, mgmt.Options{State: mgmt.StateIn(dir)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := mgmt.Open(ctx, mgmt.Options{State: mgmt.StateIn(dir)}, nil); err == nil || second != nil {
		t.Fatalf("two engines have one state folder: %v, %v", second, err)
	}
	end()
	wait("Wait", e.Wait, nil)
	wait("Close after the end", e.Close, nil)
	if e, err = mgmt.Open(t.Context(), mgmt.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	wait("Close", e.Close, nil)
	if e, err = mgmt.Open(t.Context(), mgmt.Options{}, static.New()); err != nil {
		t.Fatal(err)
	}
	_, want := mgmt.Run(t.Context(), mgmt.Options{}, static.New())
	if want == nil {
		t.Fatal("a frontend without a graph is no error")
	}
	wait("a frontend without a graph", func() error {
		if err := e.Wait(); err == nil || err.Error() != want.Error() {
			return errors.Join(errors.New("another error"), err)
		}
		return nil
	}, nil)
}

// TestFindingG3ApplyFromEvents: the reader of the events applies another graph, and sees it take effect.
func TestFindingG3ApplyFromEvents(t *testing.T) {
	e, ctx := applied(t, mgmt.Options{})
	events := e.Events(ctx)
	if _, err := e.Apply(ctx, noops(1)); err != nil {
		t.Fatal(err)
	}
	for ev := range events {
		if ev.Kind != mgmt.EventConverged {
			continue
		}
		n := ev.Counts[resgraph.StateOK]
		if n == 4 {
			return
		}
		if _, err := e.Apply(ctx, noops(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("the graph of four did not converge")
}

// TestFindingG2Host: the whole engine runs on a fake machine: its facts, its commands, and its changes.
func TestFindingG2Host(t *testing.T) {
	h := enginetest.NewHost()
	h.SetFacts(engine.Facts{Hostname: "elsewhere"})
	h.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return &engine.Result{}, nil })
	e, ctx := applied(t, mgmt.Options{Host: h})
	g := static.NewGraph("fake")
	g.Add("exec", "x", &exec.Res{Cmd: "/no/such/program at all", WatchFiles: []string{"/no/such/folder/file"}})
	events := e.Events(ctx)
	if _, err := e.Apply(ctx, g.Declared()); err != nil {
		t.Fatal(err)
	}
	touched := false
	for ev := range events {
		if ev.Kind == mgmt.EventRan && ev.Run.Err != nil {
			t.Fatal(ev.Run.Err)
		}
		if ev.Kind != mgmt.EventConverged {
			continue
		}
		if touched {
			break
		}
		touched = true
		if h.Touch("/no/such/folder/file") == 0 {
			t.Fatal("the fake machine has no watch")
		}
	}
	if n := len(h.Commands()); n != 2 {
		t.Errorf("the fake machine has run %d commands, want 2: %v", n, h.Commands())
	}
	if s := e.HostStats(); s.Subscriptions != 0 {
		t.Errorf("the machine itself was used: %+v", s)
	}
}
