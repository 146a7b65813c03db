package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/traits"
)

// alone is a kind of which no two forms of one resource may be there at once: it does not overlap.
type alone struct {
	traits.Base
	init *engine.Init
	Form int `yaml:"form"`
}

func (*alone) Default() engine.Res                            { return &alone{} }
func (*alone) Validate() error                                { return nil }
func (x *alone) Init(i *engine.Init) error                    { x.init = i; return nil }
func (*alone) Cleanup() error                                 { return nil }
func (*alone) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (x *alone) Cmp(o engine.Res) error                       { return engine.CmpFields(x, o) }

// Watch ends with its context.
func (x *alone) Watch(ctx context.Context) error {
	x.init.Running()
	<-ctx.Done()
	return nil
}

// TestFindingG3LateObserverChangesTheGraph: a function of an Observer changes the graph while so many events wait for the Observer that
// the engine starts nothing more. The change waits for resources to end, or to run, and takes effect nevertheless. Seen failing with:
// reactor, doAndAwait: without expect.
func TestFindingG3LateObserverChangesTheGraph(t *testing.T) {
	graphOf := func(form int, last bool) *gapi.Declared {
		g := static.NewGraph("g")
		g.Add("alone", "x", &alone{Form: form})
		var before []*static.Resource
		for i := range 5000 {
			before = append(before, g.Add("noop", fmt.Sprint("n", i), &basic.NoopRes{}))
		}
		if last {
			g.Add("noop", "last", &basic.NoopRes{}).Depend(before...).Meta(map[string]any{"realize": true})
		}
		return g.Declared()
	}
	for name, change := range map[string]func(context.Context, *mgmt.Engine) error{
		"a kind that does not overlap": func(ctx context.Context, e *mgmt.Engine) error {
			_, err := e.Apply(ctx, graphOf(2, true))
			return err
		},
		"a part": func(ctx context.Context, e *mgmt.Engine) error {
			g := static.NewGraph("part")
			g.Add("alone", "x", &alone{Form: 2})
			return e.Patch(ctx, mgmt.Patch{Upsert: g.Declared()})
		},
		"realize": func(ctx context.Context, e *mgmt.Engine) error {
			_, err := e.Apply(ctx, graphOf(1, false))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked *mgmt.Engine // set before applied is closed
			ctx, cancel := context.WithTimeout(t.Context(), await.Left())
			defer cancel()
			applied, done := make(chan struct{}), make(chan error, 1)
			changes := sync.OnceFunc(func() {
				<-applied
				for last := -1; ; time.Sleep(20 * time.Millisecond) { // until the engine starts nothing more
					c, err := countsOf(ctx, asked)
					if err != nil {
						done <- err
						return
					}
					if c[resgraph.StateOK] > 1024 && c[resgraph.StateOK] == last {
						break
					}
					last = c[resgraph.StateOK]
				}
				done <- change(ctx, asked)
			})
			e, end := inBackground(t.Context(), t, mgmt.Options{Observer: mgmt.Observer{
				Ran:    func(reactor.Run) { changes() },
				Missed: func(n int) { t.Errorf("%d events were missed", n) },
			}}, nil)
			defer end()
			asked = e
			if _, err := e.Apply(ctx, graphOf(1, true)); err != nil {
				t.Fatal(err)
			}
			close(applied)
			if err := <-done; err != nil {
				t.Errorf("the change: %v", err)
			}
		})
	}
}
