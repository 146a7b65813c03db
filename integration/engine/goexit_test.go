package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/traits"
)

// quitter is a resource of which one method ends the goroutine that calls it.
type quitter struct {
	traits.Base
	In string `lang:"in" yaml:"in"`

	init    *engine.Init
	cleaned func(id string) // is told of Cleanup; nil for none
}

// quitInDefault has Default do it: that has no parameters yet.
var quitInDefault atomic.Bool

func (q *quitter) quit(method string) {
	if q.In == method {
		runtime.Goexit()
	}
}

func (q *quitter) Default() engine.Res {
	if quitInDefault.Load() {
		runtime.Goexit()
	}
	return &quitter{cleaned: q.cleaned}
}

func (q *quitter) Init(i *engine.Init) error {
	q.init = i
	q.quit("Init")
	return nil
}

func (q *quitter) Watch(ctx context.Context) error {
	q.quit("Watch")
	q.init.Running()
	<-ctx.Done()
	return nil
}

func (q *quitter) Watches() ([]string, events.Options, bool) {
	q.quit("Watches")
	return nil, events.Options{}, false
}

func (q *quitter) CheckApply(context.Context, bool) (bool, error) {
	q.quit("CheckApply")
	return true, nil
}

func (q *quitter) Cleanup() error {
	if q.cleaned != nil {
		q.cleaned(q.String())
	}
	q.quit("Cleanup")
	return nil
}

func (q *quitter) Validate() error                    { q.quit("Validate"); return nil }
func (q *quitter) Cmp(r engine.Res) error             { q.quit("Cmp"); return engine.CmpFields(q, r) }
func (q *quitter) UIDs() []autoedge.UID               { q.quit("UIDs"); return nil }
func (q *quitter) AutoEdges() (autoedge.Needs, error) { q.quit("AutoEdges"); return nil, nil }

// quitters declares resources: the first one quits in a method, and the others in none.
func quitters(in string, n int) *gapi.Declared {
	g := static.NewGraph("quitters")
	for i := range n {
		g.AddValues("quitter", fmt.Sprint(i), map[string]any{"in": in})
		in = ""
	}
	return g.Declared()
}

// quitting starts an engine that knows the kind.
func quitting(t *testing.T) (*mgmt.Engine, context.Context) {
	t.Helper()
	return quittingWith(t, mgmt.Options{}, nil)
}

// quittingWith is quitting with options. Each Cleanup is told of.
func quittingWith(t *testing.T, o mgmt.Options, cleaned func(id string)) (*mgmt.Engine, context.Context) {
	t.Helper()
	var err error
	o.Registry, err = engine.DefaultRegistry().With("quitter", func() engine.Res { return &quitter{cleaned: cleaned} })
	if err != nil {
		t.Fatal(err)
	}
	return applied(t, o)
}

// TestFindingM2GoexitFails: a resource whose method ends its goroutine fails with the reason, the others go on, and Run ends.
func TestFindingM2GoexitFails(t *testing.T) {
	for _, method := range []string{"CheckApply", "Watch", "Watches", "Init"} {
		t.Run(method, func(t *testing.T) {
			e, ctx := quitting(t)
			if _, err := e.Apply(ctx, quitters(method, 3)); err != nil {
				t.Fatal(err)
			}
			atRest(t, ctx, e)
			st, err := e.Status(ctx, "quitter[0]")
			text := fmt.Sprint(st.Err)
			if err != nil || st.Rest != resgraph.StateFailed || !strings.Contains(text, method+" has not returned: runtime.Goexit was called, in ") || !strings.Contains(text, "engine_test.(*quitter).quit") {
				t.Errorf("%+v, %v", st, err)
			}
			if c, err := countsOf(ctx, e); err != nil || c[resgraph.StateOK] != 2 {
				t.Errorf("%v, %v", c, err)
			}
			if _, err := e.Apply(ctx, quitters("", 3)); err != nil {
				t.Fatal(err)
			}
			atRest(t, ctx, e)
			if c, err := countsOf(ctx, e); err != nil || !c.Well() {
				t.Errorf("mended: %v, %v", c, err)
			}
		})
	}
}

// TestFindingM2GoexitRefuses: a method that ends its goroutine while a graph is built refuses that graph, with the reason, and the graph
// before goes on: of a few resources, and of many, which are looked at on several goroutines.
func TestFindingM2GoexitRefuses(t *testing.T) {
	for _, method := range []string{"Validate", "Init", "UIDs", "AutoEdges", "Default"} {
		for _, n := range []int{3, 1500} {
			t.Run(fmt.Sprint(method, n), func(t *testing.T) {
				e, ctx := quitting(t)
				if _, err := e.Apply(ctx, quitters("", 2)); err != nil {
					t.Fatal(err)
				}
				quitInDefault.Store(method == "Default")
				defer quitInDefault.Store(false)
				v, err := e.Apply(ctx, quitters(method, n))
				if err == nil || !strings.Contains(err.Error(), "runtime.Goexit was called, in ") || v.Refused == nil || v.Generation != 1 {
					t.Errorf("generation %d, refused %v, %v", v.Generation, v.Refused, err)
				}
				if method != "Default" {
					if err := e.Patch(ctx, mgmt.Patch{Upsert: quitters(method, 1)}); err == nil || !strings.Contains(err.Error(), "runtime.Goexit was called, in ") {
						t.Errorf("of a part: %v", err)
					}
				}
				quitInDefault.Store(false)
				atRest(t, ctx, e)
				if c, err := countsOf(ctx, e); err != nil || c[resgraph.StateOK] != 2 {
					t.Errorf("%v, %v", c, err)
				}
				if v, err := e.Apply(ctx, quitters("", 4)); err != nil || v.Generation != 2 {
					t.Errorf("the next graph: generation %d, %v", v.Generation, err)
				}
			})
		}
	}
}

// TestFindingM2GoexitOfTheRest: Cmp that ends its goroutine counts as a difference of its resource alone, and Cleanup that does is logged,
// with the resource and the reason. Each resource that leaves is cleaned up once.
func TestFindingM2GoexitOfTheRest(t *testing.T) {
	var mu sync.Mutex
	var log syncBuffer
	cleaned := map[string]int{}
	to := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})
	e, ctx := quittingWith(t, mgmt.Options{Logger: slog.New(to)}, func(id string) {
		mu.Lock()
		defer mu.Unlock()
		cleaned[id]++
	})
	awaitCleaned := func(want map[string]int, failed int) {
		t.Helper()
		var got map[string]int
		var text string
		if !await.Eventually(func() bool {
			mu.Lock()
			defer mu.Unlock()
			got, text = maps.Clone(cleaned), log.String()
			return maps.Equal(got, want) && strings.Count(text, "cleanup failed") == failed
		}) {
			t.Errorf("cleaned up were %v, want %v, and %d of them failed; the log has:\n%s", got, want, failed, text)
		}
		if failed > 0 && (strings.Count(text, "resource=quitter[0]") != failed || strings.Count(text, "Cleanup has not returned: runtime.Goexit was called, in ") != failed) {
			t.Errorf("the log has:\n%s", text)
		}
	}
	if _, err := e.Apply(ctx, quitters("Cmp", 3)); err != nil {
		t.Fatal(err)
	}
	if v, err := e.Apply(ctx, quitters("Cmp", 3)); err != nil || v.Swap.Changed != 1 || v.Swap.Kept != 2 {
		t.Errorf("%d changed, %d kept, refused %v, %v", v.Swap.Changed, v.Swap.Kept, v.Refused, err)
	}
	awaitCleaned(map[string]int{"quitter[0]": 1}, 0)
	if v, err := e.Apply(ctx, quitters("Cleanup", 3)); err != nil || v.Swap.Changed != 1 || v.Swap.Kept != 2 {
		t.Errorf("%d changed, %d kept, refused %v, %v", v.Swap.Changed, v.Swap.Kept, v.Refused, err)
	}
	awaitCleaned(map[string]int{"quitter[0]": 2}, 0)
	if err := e.Patch(ctx, mgmt.Patch{Delete: []string{"quitter[0]", "quitter[1]"}}); err != nil {
		t.Error(err)
	}
	awaitCleaned(map[string]int{"quitter[0]": 3, "quitter[1]": 1}, 1)
	if err := e.Patch(ctx, mgmt.Patch{Upsert: quitters("Cleanup", 1)}); err != nil {
		t.Error(err)
	}
	if err := e.Patch(ctx, mgmt.Patch{Delete: []string{"quitter[0]"}}); err != nil {
		t.Error(err)
	}
	awaitCleaned(map[string]int{"quitter[0]": 4, "quitter[1]": 1}, 2)
	atRest(t, ctx, e)
	if c, err := countsOf(ctx, e); err != nil || c[resgraph.StateOK] != 1 {
		t.Errorf("%v, %v", c, err)
	}
}

// TestFindingM2GoexitOfACleanup: where the Cleanup of a resource that is exchanged ends its goroutine, it and the others are exchanged
// all the same.
func TestFindingM2GoexitOfACleanup(t *testing.T) {
	e, ctx := quitting(t)
	if _, err := e.Apply(ctx, quitters("Cleanup", 3)); err != nil {
		t.Fatal(err)
	}
	g := static.NewGraph("quitters")
	for i, in := range []string{"", "another", ""} {
		g.AddValues("quitter", fmt.Sprint(i), map[string]any{"in": in})
	}
	if v, err := e.Apply(ctx, g.Declared()); err != nil || v.Swap.Changed != 2 {
		t.Errorf("%d changed, refused %v, %v", v.Swap.Changed, v.Refused, err)
	}
	atRest(t, ctx, e)
	if c, err := countsOf(ctx, e); err != nil || c[resgraph.StateOK] != 3 {
		t.Errorf("%v, %v", c, err)
	}
}

// TestFindingM2GoexitOfAFrontend: a frontend that ends its goroutine ends Run, with the reason.
func TestFindingM2GoexitOfAFrontend(t *testing.T) {
	e, err := mgmt.Open(t.Context(), mgmt.Options{}, static.From(func(func(*gapi.Declared) bool) { runtime.Goexit() }))
	if err != nil {
		t.Fatal(err)
	}
	err = e.Wait()
	p, ok := errors.AsType[*callsafe.PanicError](err)
	if !ok || !p.Exited || !strings.Contains(err.Error(), "the frontend has not returned") {
		t.Errorf("Run returns %v", err)
	}
	if _, err := countsOf(t.Context(), e); !errors.Is(err, reactor.ErrStopped) {
		t.Error(err)
	}
}

// TestFindingM2GoexitOfAnObserver: an Observer that ends its goroutine, as t.Fatal does, is told nothing more, and the engine goes on.
func TestFindingM2GoexitOfAnObserver(t *testing.T) {
	told := make(chan bool, 1)
	e, ctx := applied(t, mgmt.Options{Observer: mgmt.Observer{Ran: func(reactor.Run) {
		told <- true // a second time it would hang
		runtime.Goexit()
	}}})
	if _, err := e.Apply(ctx, noops(3000)); err != nil {
		t.Fatal(err)
	}
	atRest(t, ctx, e)
	if c, err := countsOf(ctx, e); err != nil || c[resgraph.StateOK] != 3000 {
		t.Errorf("%v, %v", c, err)
	}
	if err := e.Told(ctx); err != nil {
		t.Error(err)
	}
	<-told
}
