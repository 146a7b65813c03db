package mgmt

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// errNoMore is the error of a reload that comes after the last graph.
var errNoMore = errors.New("the input of this graph has ended, and can't be read again")

// Reload has the frontend read its input again and yield it, changed or not, and
// returns the outcome of that graph, never of a graph that was read before the
// call. It waits for a graph that is just being put into effect. It needs
// Options.Reload. Callable from any goroutine while Run is going on.
func (e *Engine) Reload(ctx context.Context) (Verdict, error) {
	if e.config.opt.Reload == nil {
		return Verdict{Refused: errNoMore}, nil
	}
	if _, err := e.running(ctx); err != nil {
		return Verdict{}, err
	}
	answer := make(chan Verdict, 1)
	select {
	case e.reloads <- answer:
	case <-e.ended:
		return Verdict{}, reactor.ErrStopped
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
	select {
	case v := <-answer:
		return v, nil
	case <-e.ended:
		return Verdict{}, reactor.ErrStopped
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
}

// reloading asks the frontend to read again, and tells the askers the outcome.
// The frontend takes a question only between two graphs: so its next graph was read
// after the question.
type reloading struct {
	ask      chan struct{} // the frontend's; unbuffered
	verdicts chan Verdict  // one for each yielded graph
	over     chan struct{} // closed when there will be no more graphs
}

func newReloading() *reloading {
	return &reloading{ask: make(chan struct{}), verdicts: make(chan Verdict), over: make(chan struct{})}
}

// run carries questions until ctx ends: those of Engine.Reload, and those without an
// answer from Options.Reload.
func (r *reloading) run(ctx context.Context, asks <-chan chan Verdict, plain <-chan struct{}) {
	var waiting, taken []chan Verdict // before and after the frontend has taken the question
	var ask chan<- struct{}
	over := r.over
	for {
		select {
		case <-plain:
			ask = r.ask
		case answer := <-asks:
			waiting, ask = append(waiting, answer), r.ask
		case ask <- struct{}{}:
			taken, waiting, ask = append(taken, waiting...), nil, nil
		case v := <-r.verdicts:
			tellAll(taken, v)
			taken = nil
		case <-over:
			over = nil
		case <-ctx.Done():
			return
		}
		if over == nil {
			tellAll(append(taken, waiting...), Verdict{Refused: errNoMore})
			taken, waiting, ask = nil, nil, nil
		}
	}
}

func tellAll(list []chan Verdict, v Verdict) {
	for _, answer := range list {
		answer <- v // it has room for one
	}
}

// judged tells what became of a graph that the frontend has yielded.
func (s *session) judged(ctx context.Context, v Verdict) {
	select {
	case s.reloading.verdicts <- v:
	case <-ctx.Done():
	}
}

// Check builds the first graph of a frontend with the kinds of this engine, and returns
// everything that is wrong with it, warnings too. It puts nothing into effect, and may be
// called while Run is going on.
func (e *Engine) Check(ctx context.Context, f gapi.Frontend) schema.Diagnostics {
	kinds := e.registry()
	env := gapi.Env{Registry: func() *engine.Registry { return kinds }, NoWatch: true, Hostname: e.config.opt.Hostname, Logger: e.config.opt.Logger}
	for d, err := range f.Graphs(ctx, env) {
		if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
			return ds
		}
		if err == nil {
			g, ds := gapi.Build(kinds, d)
			machine := host.MachineOf((&host.FactReader{Roles: e.config.opt.Roles, Hostname: e.config.opt.Hostname}).Facts())
			if e.config.opt.Host != nil {
				machine = machineOf(e.config.opt.Host)
			}
			_, ds = gapi.CheckMachine(g, ds, machine, nil)
			return ds
		}
		return schema.Diagnostics{{Severity: schema.Error, Message: err.Error()}}
	}
	return schema.Diagnostics{{Severity: schema.Error, Message: "there is no graph"}}
}
