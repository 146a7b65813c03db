package reactor_test

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
)

// stepRes has one thing to do, once.
type stepRes struct {
	traits.Base
	traits.Unwatched
	init *engine.Init
	done bool
}

func (r *stepRes) Default() engine.Res       { return &stepRes{} }
func (r *stepRes) Validate() error           { return nil }
func (r *stepRes) Init(i *engine.Init) error { r.init = i; return nil }
func (r *stepRes) Cleanup() error            { return nil }
func (r *stepRes) Cmp(o engine.Res) error    { return engine.CmpFields(r, o) }

func (r *stepRes) CheckApply(_ context.Context, apply bool) (bool, error) {
	if r.done {
		return true, nil
	}
	r.init.Change(engine.Change{Verb: engine.Created})
	r.done = apply
	return false, nil
}

// A reactor runs checked graphs, without a frontend, on any host. The package mgmt puts it together
// with a frontend, the machine and a journal.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := reactor.New(reactor.Options{
		Host: enginetest.NewHost(), World: memory.New(), Store: journal.NewMemory(),
		Listener: reactor.Listener{
			Ran: func(run reactor.Run) { fmt.Println(run.Resource, run.State, "changed:", run.Changed) },
			Converged: func(yes bool, c reactor.Counts) {
				if yes {
					fmt.Println("converged:", c)
					cancel()
				}
			},
		},
	})
	if err != nil {
		panic(err)
	}
	g := graph.New[*resgraph.Vertex]("steps")
	for _, name := range []string{"first", "second"} {
		step := &stepRes{}
		step.SetKind("step")
		step.SetName(name)
		if _, err := g.Add(step.String(), &resgraph.Vertex{Res: step}); err != nil {
			panic(err)
		}
	}
	if err := g.Connect(graph.Edge{From: 0, To: 1}); err != nil {
		panic(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := r.Swap(ctx, g); err != nil {
		panic(err)
	}
	fmt.Println(<-ended)
	// Output:
	// step[first] ok changed: true
	// step[second] ok changed: true
	// converged: 2 ok
	// <nil>
}
