package transform

import (
	"cmp"
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Step is one transformation of a graph.
type Step struct {
	Name string // one lower case word, for notes

	// Apply returns the transformed graph and adds to the notes; see the laws of
	// the package. An error means that there is no graph to run. It looks at the
	// context now and then, and returns its cause when it has ended.
	Apply func(ctx context.Context, g *resgraph.Graph, n *Notes) (*resgraph.Graph, error)
}

// Options says which steps a graph goes through.
type Options struct {
	NoAutoEdges, NoAutoGroup bool
	Memory                   *Memory     // of the graph that runs; nil where none does
	Host                     engine.Host // asked for what resources are beyond their parameters; nil to ask no machine
	Known                    Known
	Undoing                  Undoing // of nothing if it has no Store
}

// Steps returns the steps, in order.
func Steps(o Options) []Step {
	var steps []Step
	if !o.NoAutoEdges {
		steps = append(steps, cmp.Or(o.Memory, new(Memory)).AutoEdge(o.Host, o.Known))
	}
	if o.Undoing.Store != nil {
		o.Undoing.byRecords = o.NoAutoEdges
		steps = append(steps, Reverse(o.Undoing))
	}
	if !o.NoAutoGroup {
		steps = append(steps, AutoGroup())
	}
	return steps
}

// Default returns the steps of a graph before which nothing has run, and which no machine is asked about.
func Default() []Step { return Steps(Options{}) }

// Run applies the steps, one after the other. The graph must have no cycle. The
// notes may be nil.
func Run(ctx context.Context, g *resgraph.Graph, steps []Step, n *Notes) (*resgraph.Graph, error) {
	if n == nil {
		n = &Notes{}
	}
	for _, s := range steps {
		n.step = s.Name
		var err error
		if g, err = s.run(ctx, g, n); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return g, nil
}

// run applies one step, and turns a panic of it into an error.
func (s Step) run(ctx context.Context, g *resgraph.Graph, n *Notes) (out *resgraph.Graph, err error) {
	defer callsafe.Recover(s.Name, &err)
	return s.Apply(ctx, g, n)
}
