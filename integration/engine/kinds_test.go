package engine_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/await"
)

// passive is a kind that only is there.
type passive struct{ roleRes }

func (p *passive) Default() engine.Res                            { return &passive{} }
func (p *passive) CheckApply(context.Context, bool) (bool, error) { return true, nil }

// steps is a frontend whose graphs are of one resource each: before each, a step is taken.
type steps struct {
	t     *testing.T
	taken []step
	told  chan error // what became of the last graph
}

type step struct {
	kind string // of the resource
	do   func()
	want string // the kind that is not known; empty for a graph that is used
}

func (s *steps) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		for _, x := range s.taken {
			x.do()
			if env.Registry().Has(x.kind) != (x.want == "") {
				s.t.Errorf("%s: the frontend sees other kinds", x.kind)
			}
			d := &gapi.Declared{Name: "g", Resources: []gapi.Declaration{{Kind: x.kind, Name: "it", Pos: schema.Pos{File: "g", Line: 1, Col: 1}}}}
			if !yield(d, nil) {
				return
			}
			select {
			case err := <-s.told:
				if (err == nil) != (x.want == "") {
					s.t.Errorf("%s: %v", x.kind, err)
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// TestKindsComeAndGo: a kind that is registered while the engine runs is in the next graph; one that was taken out
// is not, and what runs of it goes on. That holds with backends of the embedder, too.
func TestKindsComeAndGo(t *testing.T) {
	for name, backends := range map[string]*virtual.Catalog{"plain": nil, "with backends": virtual.NewCatalog()} {
		t.Run(name, func(t *testing.T) {
			reg := engine.NewRegistry()
			register := func(kind string) func() {
				return func() {
					if err := reg.Register(kind, func() engine.Res { return &passive{} }); err != nil {
						t.Error(err)
					}
				}
			}
			f := &steps{t: t, told: make(chan error, 1), taken: []step{
				{kind: "early", do: register("early")},
				{kind: "late", do: func() {}, want: "late"},
				{kind: "late", do: register("late")},
				{kind: "early", do: func() {
					if !reg.Unregister("early") || reg.Unregister("early") {
						t.Error("a kind is not taken out once")
					}
				}, want: "early"},
				{kind: "early", do: register("early")},
			}}
			last := ""
			o := mgmt.Options{Registry: reg, Backends: backends, ConvergedTimeout: time.Millisecond}
			o.Observer.Loaded = func(graph func() *resgraph.Graph) { last = graph().ID(0); f.told <- nil }
			o.Observer.Refused = func(err error) { f.told <- errors.Join(errors.New("refused"), err) }
			ctx, cancel := context.WithTimeout(t.Context(), await.Left())
			defer cancel()
			done := make(chan error, 1)
			e, err := mgmt.Open(ctx, o, ending{f, cancel})
			if err != nil {
				t.Fatal(err)
			}
			go func() { done <- e.Wait() }()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if last != "early[it]" {
				t.Errorf("the last graph has %q", last)
			}
		})
	}
}

// ending is a frontend that ends the run with its graphs.
type ending struct {
	gapi.Frontend
	end func()
}

func (e ending) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		defer e.end()
		for d, err := range e.Frontend.Graphs(ctx, env) {
			if !yield(d, err) {
				return
			}
		}
	}
}
