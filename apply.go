package mgmt

import (
	"cmp"
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Verdict is what became of one graph.
type Verdict struct {
	Generation int                // of the graph that is in effect now; 0 for none
	Swap       Swap               // the changes, where this graph took effect; else zero
	Warnings   schema.Diagnostics // the findings about a graph that took effect
	Refused    error              // why this graph is not in effect; nil where it is
}

// Held returns why the graph waits for Resume, and nil where it does not: it removes more than
// Options.MaxRemovals allows.
func (v Verdict) Held() *reactor.RemovalsError {
	held, _ := errors.AsType[*reactor.RemovalsError](v.Refused)
	return held
}

// Apply puts a graph in the place of the one that runs, and returns its verdict once it is in
// effect or refused. It does not wait until the graph has converged. The graph is the engine's from
// then on. Only the differences are touched. See static.Graph and gapi.Ready for how to make one.
//
// The error is Verdict.Refused where that is not nil: schema.Diagnostics with all that is wrong,
// a *reactor.RemovalsError where the graph is held (call Resume with an empty name, and Apply it again),
// or the error of a resource's Init. Otherwise the error is that of ctx, or reactor.ErrStopped
// after the end of Run. With any error the graph before goes on.
//
// Callable from any goroutine, and from the reader of Events; it waits for Run to begin, and calls wait for
// each other. It takes the place of a frontend (Run with nil), or adds to one: the graph that came last is in effect.
func (e *Engine) Apply(ctx context.Context, d *gapi.Declared) (Verdict, error) {
	if _, err := e.running(ctx); err != nil {
		return Verdict{}, err
	}
	s := e.session
	if err := s.enter(ctx); err != nil {
		return Verdict{}, err
	}
	defer func() { <-s.using }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(reactor.ErrStopped) })()
	s.follows = false
	warnings, err := s.use(ctx, d, s.input)
	switch {
	case errors.Is(err, reactor.ErrStopped):
		return Verdict{}, reactor.ErrStopped
	case err != nil && ctx.Err() != nil:
		return Verdict{}, context.Cause(ctx)
	}
	v := s.verdict(warnings, err)
	e.heldGraph.Store(heldBy(v.Held(), true))
	if err != nil {
		e.stream.tell(Event{Kind: EventRefused, Err: err})
	}
	return v, err
}

// enter waits until no other graph or part is being put into effect. The caller takes a token from using at its end.
func (s *session) enter(ctx context.Context) error {
	select {
	case s.using <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.e.ended:
		return reactor.ErrStopped
	}
}

// verdict completes the findings that use has returned for a graph.
func (s *session) verdict(warnings schema.Diagnostics, err error) Verdict {
	last := cmp.Or(s.last.Load(), &Swap{})
	v := Verdict{Generation: last.Generation, Refused: err}
	if err == nil {
		v.Swap, v.Warnings = *last, warnings
	}
	return v
}

// heldGraph is a graph that waits for Resume.
type heldGraph struct {
	why     *reactor.RemovalsError
	applied bool // by Apply: no frontend can read it again
}

// heldBy returns nil where nothing holds a graph.
func heldBy(why *reactor.RemovalsError, applied bool) *heldGraph {
	if why == nil {
		return nil
	}
	return &heldGraph{why, applied}
}

// Start is Run on a goroutine of its own. It returns when the graphs begin to be read, and Apply
// and all other methods answer. The error is that of the store, the host or the reactor; then
// nothing runs. The frontend may be nil, as of Run. Call Wait after it.
func (e *Engine) Start(ctx context.Context, f gapi.Frontend) error {
	s, err := e.begin(ctx, options{Options: e.config.opt})
	if err != nil {
		return err
	}
	go func() {
		defer close(e.done)
		e.err = s.whole(ctx, f)
	}()
	return nil
}

// Wait waits for the end of what Start began, and returns what Run would have returned. Callable
// more than once, from any goroutine.
func (e *Engine) Wait() error {
	<-e.done
	return e.err
}
