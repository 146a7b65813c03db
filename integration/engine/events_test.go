package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
	_ "github.com/reactivegraph/mgmt/resources/all"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// noops declares a graph of n resources that do nothing.
func noops(n int) *gapi.Declared {
	d := &gapi.Declared{Name: fmt.Sprint(n)}
	for i := range n {
		d.Resources = append(d.Resources, static.Declare("noop", fmt.Sprint("n", i), &basic.NoopRes{}))
	}
	return d
}

// inBackground runs an engine that runs no two resources as one, until the test is over.
func inBackground(ctx context.Context, t *testing.T, o mgmt.Options, f gapi.Frontend) (e *mgmt.Engine, end func()) {
	t.Helper()
	o.NoAutoGroup = true
	ctx, cancel := context.WithCancel(ctx)
	e, err := mgmt.Open(ctx, o, f)
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		cancel()
		if err := e.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return e, end
}

// gated yields the graphs of another frontend when its channel is closed, so that a test hears of all that happens.
type gated struct {
	gapi.Frontend
	open <-chan struct{}
}

func (g gated) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		select {
		case <-g.open:
			g.Frontend.Graphs(ctx, env)(yield)
		case <-ctx.Done():
		}
	}
}

// callAll calls what asks the loop of the engine, and what alters something there.
func callAll(ctx context.Context, e *mgmt.Engine) error {
	_, err1 := e.Snapshot(ctx)
	_, err2 := e.Status(ctx, "noop[n0]")
	_, err3 := e.Dump(ctx)
	_, err4 := e.Retry(ctx, reactor.Which{All: true})
	err5 := e.SetLimits(ctx, reactor.Limits{})
	return errors.Join(err1, err2, err3, err4, err5)
}

// countsOf returns the number of resources by state at rest.
func countsOf(ctx context.Context, e *mgmt.Engine) (reactor.Counts, error) {
	now, err := e.Snapshot(ctx)
	return now.Rest.Counts, err
}

// statusesOf returns the state of each resource.
func statusesOf(ctx context.Context, e *mgmt.Engine) ([]reactor.Status, error) {
	now, err := e.Snapshot(ctx)
	return now.Statuses, err
}

// TestFindingG3EventsReaderCalls: the reader of the events calls the engine at each of them, and each answer
// comes; what it causes comes as events.
func TestFindingG3EventsReaderCalls(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	begin := make(chan struct{})
	e, _ := inBackground(t.Context(), t, mgmt.Options{}, gated{static.New(noops(3)), begin})
	events := e.Events(ctx)
	close(begin)
	missing := []mgmt.EventKind{mgmt.EventSwapped, mgmt.EventLoaded, mgmt.EventRan, mgmt.EventConverged, mgmt.EventPaused, mgmt.EventResumed}
	for ev := range events {
		missing = slices.DeleteFunc(missing, func(k mgmt.EventKind) bool { return k == ev.Kind })
		if len(missing) == 0 {
			cancel()
		}
		if err := callAll(ctx, e); err != nil && ctx.Err() == nil {
			t.Fatalf("at %s: %v", ev.Kind, err)
		}
		switch ev.Kind {
		case mgmt.EventConverged:
			if err := e.Pause(ctx, reactor.Pause{Resource: "noop[n1]", Reason: "a test"}); err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
		case mgmt.EventPaused:
			if ev.Pause.Resource != "noop[n1]" || ev.Pause.Reason != "a test" {
				t.Errorf("paused %+v", ev.Pause)
			}
			if _, err := e.Resume(ctx, reactor.Named("noop[n1]")); err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("there was no %v", missing)
	}
}

// TestEventsOfSlowReader: a reader that takes nothing while much happens is told how much it has missed, and
// gets the newest events, the last of all among them. Another reader, and the engine, do not wait for it.
func TestEventsOfSlowReader(t *testing.T) {
	const n = 6000
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	begin := make(chan struct{})
	e, _ := inBackground(t.Context(), t, mgmt.Options{}, gated{static.New(noops(n)), begin})
	slow, quick := e.Events(ctx), e.Events(ctx)
	close(begin)
	for ev := range quick {
		if ev.Kind == mgmt.EventConverged {
			break
		}
	}
	first, missed, got := mgmt.EventKind(0), 0, 0
	for ev := range slow {
		if first == 0 {
			first = ev.Kind
		}
		if ev.Kind == mgmt.EventMissed {
			missed += ev.Missed
			continue
		}
		got++
		if ev.Kind == mgmt.EventConverged {
			break
		}
	}
	if first != mgmt.EventMissed || got != 4096 || got+missed != n+3 { // swapped, loaded, converged
		t.Errorf("it begins with %s: %d came and %d were missed, want 4096 and together %d", first, got, missed, n+3)
	}
}

// TestEventsEnd: the events end with their context, with a break, with Run after the last of them, and
// where it is over.
func TestEventsEnd(t *testing.T) {
	begin := make(chan struct{})
	e, _ := inBackground(t.Context(), t, mgmt.Options{ConvergedExit: true}, gated{static.New(noops(2)), begin})
	gone, cancel := context.WithCancel(t.Context())
	ended, whole, broken := e.Events(gone), e.Events(t.Context()), e.Events(t.Context())
	cancel()
	close(begin)
	if err := e.Wait(); err != nil {
		t.Fatal(err)
	}
	for ev := range ended {
		t.Errorf("after the end of the context: %s", ev.Kind)
	}
	for range broken {
		break
	}
	for ev := range broken {
		t.Errorf("after a break: %s", ev.Kind)
	}
	runs, rested := 0, false
	for ev := range whole {
		runs += min(1, len(ev.Run.Resource))
		rested = rested || ev.Kind == mgmt.EventConverged
	}
	if runs != 2 || !rested {
		t.Errorf("%d runs, converged %t", runs, rested)
	}
	for ev := range e.Events(t.Context()) {
		t.Errorf("after Run: %s", ev.Kind)
	}
}

// TestFindingG3ObserverCalls: each function of an Observer calls the engine, and is answered.
func TestFindingG3ObserverCalls(t *testing.T) {
	var asked *mgmt.Engine
	called := map[string]int{}
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	call := func(what string) {
		called[what]++
		if err := callAll(ctx, asked); err != nil && !errors.Is(err, reactor.ErrStopped) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused, resumed := make(chan struct{}, 1), make(chan struct{}, 1)
	wrong := &gapi.Declared{Resources: []gapi.Declaration{{Kind: "nothing", Name: "x"}}}
	begin := make(chan struct{})
	e, end := inBackground(t.Context(), t, mgmt.Options{Observer: mgmt.Observer{
		Swapped: func(reactor.Swap) { call("swapped") },
		Ran:     func(reactor.Run) { call("ran") },
		Loaded:  func(func() *resgraph.Graph) { call("loaded") },
		Refused: func(error) { call("refused"); refused <- struct{}{} },
		Converged: func(yes bool, _ reactor.Counts) {
			call("converged")
			if yes && called["paused"] == 0 {
				if err := asked.Pause(ctx, reactor.Pause{Resource: "noop[n0]"}); err != nil {
					t.Error(err)
				}
			}
		},
		Paused: func(p reactor.Pause, on bool) {
			call("paused")
			if on {
				_, _ = asked.Resume(ctx, reactor.Named(p.Resource))
				return
			}
			resumed <- struct{}{}
		},
	}}, gated{static.New(noops(2), wrong), begin})
	asked = e
	close(begin)
	for _, c := range []<-chan struct{}{refused, resumed} {
		select {
		case <-c:
		case <-ctx.Done():
			t.Error("a function of the Observer hangs")
		}
	}
	if err := e.Told(ctx); err != nil {
		t.Error(err)
	}
	end()
	for _, what := range []string{"swapped", "ran", "loaded", "refused", "converged", "paused"} {
		if called[what] == 0 {
			t.Errorf("%s was not called: %v", what, called)
		}
	}
}

// TestObserverThatWaits: while an Observer hangs, the engine answers and queues a bounded number of events; when it
// goes on, it is told of everything in order.
func TestObserverThatWaits(t *testing.T) {
	const n = 20000
	free := make(chan struct{})
	var runs []uint64
	e, end := inBackground(t.Context(), t, mgmt.Options{Observer: mgmt.Observer{
		Ran:    func(r reactor.Run) { <-free; runs = append(runs, r.ID) },
		Missed: func(n int) { t.Errorf("%d events were missed", n) },
	}}, static.New(noops(n)))
	var most int
	for last := -1; ; { // until the engine starts nothing more
		c, err := countsOf(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if most = c[resgraph.StateOK]; most > 1024 && most == last {
			break
		}
		last = most
		time.Sleep(50 * time.Millisecond)
	}
	// Two lists of 1,024 wait at most: what is being told, and what comes next. Each may be longer by the ends of the runs that
	// were under way when it was full, of quick kinds 128.
	if most > 2*(1024+128) {
		t.Errorf("the engine went on to %d runs, while the Observer had not taken the first", most)
	}
	close(free)
	for c, err := countsOf(t.Context(), e); err == nil && c[resgraph.StateOK] < n; c, err = countsOf(t.Context(), e) {
		time.Sleep(10 * time.Millisecond)
	}
	end()
	if len(runs) < n || !slices.IsSorted(runs) {
		t.Errorf("told of %d runs of %d, sorted %t", len(runs), n, slices.IsSorted(runs))
	}
}
