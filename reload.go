package mgmt

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/feed"
	"github.com/reactivegraph/mgmt/internal/install"
)

// Reload has the frontend read its input again and yield it, changed or not, and
// returns the outcome of that graph, never of a graph that was read before the
// call. It waits for a graph that is just being put into effect. It needs
// Options.Reload. Callable from any goroutine.
func (e *Engine) Reload(ctx context.Context) (Verdict, error) {
	if e.opt.Reload == nil {
		return Verdict{Refused: feed.ErrNoMore}, nil
	}
	answer := make(chan install.Verdict, 1)
	select {
	case e.reloads <- answer:
	case <-e.ended:
		return Verdict{}, reactor.ErrStopped
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
	select {
	case v := <-answer:
		return Verdict(v), nil
	case <-e.ended:
		return Verdict{}, reactor.ErrStopped
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
}

// Check builds the first graph of a frontend with the kinds of this engine, and returns
// everything that is wrong with it, warnings too. It puts nothing into effect, and may be
// called at any time.
func (e *Engine) Check(ctx context.Context, f gapi.Frontend) schema.Diagnostics {
	kinds := e.registry()
	env := gapi.Env{Registry: func() *engine.Registry { return kinds }, NoWatch: true, Hostname: e.opt.Hostname, Logger: e.opt.Logger}
	for d, err := range f.Graphs(ctx, env) {
		if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
			return ds
		}
		if err == nil {
			g, ds := gapi.Build(kinds, d)
			_, ds = gapi.CheckMachine(g, ds, func() engine.Machine {
				if e.opt.Host != nil {
					return host.MachineAt(e.opt.Host)
				}
				return host.MachineOf((&host.FactReader{Roles: e.opt.Roles, Hostname: e.opt.Hostname}).Facts())
			}, nil)
			return ds
		}
		return schema.Diagnostics{{Severity: schema.Error, Message: err.Error()}}
	}
	return schema.Diagnostics{{Severity: schema.Error, Message: "there is no graph"}}
}

// AskedBy says who asks for graphs until done is called: Swap.Origin.By has it of each graph that takes effect meanwhile. left returns
// what these graphs have no more: a frontend may have read its input before it was asked to. Callable from any goroutine; of several
// askers the last one counts.
func (e *Engine) AskedBy(who string) (left func() []reactor.Leaving, done func()) {
	a := &asking{who: who}
	e.asks.Store(a)
	return a.list, func() { e.asks.CompareAndSwap(a, nil) }
}

// asking is one who asks for graphs.
type asking struct {
	who string

	mu   sync.Mutex
	left []reactor.Leaving
}

func (a *asking) list() []reactor.Leaving {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.left
}

// asked notes a swap, and who asks for graphs now.
func (e *Engine) asked(w reactor.Swap) reactor.Swap {
	if a := e.asks.Load(); a != nil {
		w.Origin.By = cmp.Or(a.who, w.Origin.By)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.left = append(a.left, w.Leaving...)
	}
	return w
}
