package mgmt

import (
	"context"
	"errors"
	"sync"

	"github.com/reactivegraph/mgmt/gapi"
)

// Plan is what a Run would do now, one entry for each resource, in the order in
// which they would run.
type Plan struct {
	Graph  string
	Steps  []Run
	Report Report
}

// Plan looks at the first graph of the frontend and says what Run would do. It
// alters nothing, not even the folders in which resources keep state, starts no
// Watch, and returns when everything has been looked at. The error is that of
// the graph; a resource that fails is a step in StateFailed.
func (e *Engine) Plan(ctx context.Context, f gapi.Frontend) (*Plan, error) {
	o := &e.opt
	o.readOnly, o.Noop, o.NoWatch, o.Strict = true, NoopAll, true, true
	o.ConvergedExit, o.ConvergedTimeout = true, 0
	c := &collector{last: map[string]Run{}}
	o.Observer.Ran = tee(o.Observer.Ran, c.ran)
	o.Observer.Swapped = tee(o.Observer.Swapped, func(s Swap) { c.graph = s.Name })
	if err := e.Run(ctx, f); err != nil {
		return nil, err
	}
	if ctx.Err() != nil && !e.report.Converged {
		return nil, errors.Join(errors.New("the plan was not finished"), context.Cause(ctx))
	}
	return &Plan{Graph: c.graph, Steps: c.steps(), Report: e.report}, nil
}

// collector keeps the last run of each resource, in the order of the last runs.
type collector struct {
	mu    sync.Mutex
	graph string
	order []string
	last  map[string]Run
}

func (c *collector) ran(r Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.last[r.Resource]; !ok {
		c.order = append(c.order, r.Resource)
	}
	c.last[r.Resource] = r
}

func (c *collector) steps() []Run {
	steps := make([]Run, len(c.order))
	for i, id := range c.order {
		steps[i] = c.last[id]
	}
	return steps
}

// tee returns a function that calls both; the first may be nil.
func tee[T any](a, b func(T)) func(T) {
	if a == nil {
		return b
	}
	return func(x T) {
		a(x)
		b(x)
	}
}
