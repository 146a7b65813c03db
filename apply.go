package mgmt

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
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

// Apply puts a graph in the place of the running one, and returns its verdict once it is in
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
		e.tell(Event{Kind: EventRefused, Err: err})
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

// Upsert changes resources of the graph that runs, or adds them, at the cost of the part alone, and returns the verdict on it. The
// error is schema.Diagnostics where the part is bad, a *graph.CycleError, or the error of a resource that can't be initialised; then
// nothing has changed. It returns when the part is in effect, which is before it has converged.
//
// A part is declared like a graph. It may refer to resources that run and are not in it. Edges that a resource of the part had
// declared before give way to its new ones; edges that others have declared stay.
//
// Law: the graph that runs is the one that would run if the whole graph, with the part, had been handed over. Automatic edges,
// groups, clashes and secrets are those of the whole. The cost of a part is that of its own resources, and of those that ask for them. These parts cost what
// the whole graph costs: the first one after a whole graph; a part that alters a resource which runs in a group, or might, or lets it notify or come
// later; one after which an automatic edge would close a cycle; and a part that asks for all files below a folder, or makes such a file.
//
// The next whole graph of the frontend replaces all, what came by Upsert included. The events tell of a part as of a graph.
// Callable from any goroutine while Run is going on; it waits for a graph that is being put into effect, and the part is the
// engine's from then on.
func (e *Engine) Upsert(ctx context.Context, part *gapi.Declared) error {
	return e.change(ctx, func(s *session, st *reactor.Stage) error {
		s.follows = false // the frontend does not know of the part
		return s.upsert(ctx, st, part)
	})
}

// Delete removes resources from the graph that runs, by their ids (kind[name]), at the cost of the part alone. The error is a
// *reactor.UnknownResourceError, a *reactor.ReferredError where a resource that stays has declared an edge to a removed one, refers to it
// by a parameter or receives from it, or a *reactor.RemovalsError where Options.MaxRemovals holds it; then nothing has changed. A
// resource with the metaparameter reverse is undone, as by a whole graph without it, and at the cost of that. The law of Upsert
// holds. Callable as Upsert.
func (e *Engine) Delete(ctx context.Context, ids ...string) error {
	return e.change(ctx, func(s *session, st *reactor.Stage) error {
		s.follows = false
		return s.remove(ctx, st, ids)
	})
}

// change does something with the graph that runs, while no other graph is put into effect.
func (e *Engine) change(ctx context.Context, do func(*session, *reactor.Stage) error) error {
	if _, err := e.running(ctx); err != nil {
		return err
	}
	if err := e.session.enter(ctx); err != nil { // a stage ends before the session has noted its graph
		return err
	}
	defer func() { <-e.session.using }()
	return e.session.staged(ctx, func(st *reactor.Stage) error { return do(e.session, st) })
}

// staged does something to the graph that runs. The caller holds using.
func (s *session) staged(ctx context.Context, do func(*reactor.Stage) error) error {
	st, err := s.reactor.Stage(ctx)
	if err != nil {
		return err
	}
	defer st.Drop()
	return do(st)
}

// upsert puts a declared part into effect, and removes some vertices.
func (s *session) upsert(ctx context.Context, st *reactor.Stage, d *gapi.Declared, remove ...string) error {
	draft := gapi.NewPart(s.e.registry(), d, running{s.parts.Load(), st, remove})
	if g := draft.Graph(); g != nil {
		s.limit(g)
		st.Compare(g)
	}
	part, diags := draft.Check(st.SameAt)
	if part, diags = gapi.CheckMachine(part, diags, machineOf(s.host), st.SameAt); part == nil {
		return diags
	}
	if len(diags) > 0 {
		s.e.tell(Event{Kind: EventWarned, Warnings: diags})
	}
	s.hide(part)
	if err := s.mayRemove(st, part, remove); err != nil {
		return err
	}
	return s.alter(ctx, st, part, remove...)
}

// remove removes vertices.
func (s *session) remove(ctx context.Context, st *reactor.Stage, ids []string) error {
	if err := s.mayRemove(st, nil, ids); err != nil {
		return err
	}
	return s.alter(ctx, st, nil, ids...)
}

// mayRemove refuses to remove unknown resources, and resources that others refer to. A part may alter those others.
func (s *session) mayRemove(st *reactor.Stage, part *engine.Graph, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		if st.Find(id) == nil && s.parts.Load().Find(id) == nil {
			return &reactor.UnknownResourceError{Resource: id}
		}
	}
	if s.refers == nil {
		s.refers = gapi.NewReferrers(s.parts.Load().Declared())
	}
	gone, by := s.refers.To(ids, func(by string) bool {
		if part == nil {
			return false
		}
		i, ok := part.Index(by)
		return ok && part.Value(i) != nil
	})
	if by != "" {
		return &reactor.ReferredError{Resource: gone, By: by}
	}
	return nil
}

// alter puts a part into effect, and removes some vertices.
func (s *session) alter(ctx context.Context, st *reactor.Stage, part *engine.Graph, remove ...string) error {
	p := s.parts.Load()
	c, err := p.Change(ctx, s.host, part, remove...)
	if err != nil {
		return err
	}
	if gone, by := c.Referrer(); by != "" {
		return &reactor.ReferredError{Resource: gone, By: by}
	}
	if c.Whole == "" {
		c.Notes.Log(ctx, s.opt.Logger)
		err = st.Change(ctx, c.Part, c.Remove...)
		if _, cyclic := errors.AsType[*graph.CycleError](err); !cyclic {
			return s.altered(c, err)
		}
	}
	st.Drop()
	return s.wholly(ctx, p.Whole(c))
}

// altered notes that a part is in effect, if it is.
func (s *session) altered(c *transform.Change, err error) error {
	if err != nil {
		return err
	}
	p := s.parts.Load()
	p.Take(c)
	brought := map[string]*engine.Vertex{}
	for id, v := range c.Brought() {
		s.refers.Set(id, v.Res)
		s.memory.Forget(id)
		brought[id] = v
	}
	for _, id := range c.Remove {
		s.refers.Set(id, nil)
		s.memory.Forget(id)
	}
	s.sharing.Publisher.Part(brought, c.Remove)
	s.tellGraph(false)
	return nil
}

// wholly puts the whole graph into effect with a part that needs that. The caller holds using.
func (s *session) wholly(ctx context.Context, g *engine.Graph) error {
	if _, err := g.Sort(); err != nil {
		return err
	}
	st, err := s.reactor.Stage(ctx)
	if err != nil {
		return err
	}
	defer st.Drop()
	if err := s.commit(ctx, st, g, s.noop, transform.Known{}); err != nil {
		return err
	}
	s.tellGraph(false)
	return nil
}

// Running is the graph that runs, as Engine.Look shows it.
type Running interface {
	gapi.Running
	// After yields the ids of the vertices that a declared edge leads to, each with the id of the vertex that has declared the edge.
	After(id string) iter.Seq2[string, string]
}

// ErrNoGraph says that no graph is in effect yet.
var ErrNoGraph = errors.New("no graph is in effect yet")

// Look calls f with the graph in effect. It costs what f asks for, and waits for nothing but the begin of Run: a graph that is being
// built is seen when it is in effect, and the next part may take effect while f looks. f keeps nothing that it was shown. The
// error is that of f, ErrNoGraph before the first graph, that of ctx, or reactor.ErrStopped. Callable from any goroutine.
func (e *Engine) Look(ctx context.Context, f func(Running) error) error {
	if _, err := e.running(ctx); err != nil {
		return err
	}
	if e.session.last.Load() == nil {
		return ErrNoGraph
	}
	return f(e.session.parts.Load())
}

// running is the graph that runs, for a part of it, while a stage is held. It lacks the resources that the part removes.
type running struct {
	*transform.Parts
	st   *reactor.Stage
	goes []string
}

// Find implements gapi.Running.
func (r running) Find(id string) *engine.Vertex {
	if slices.Contains(r.goes, id) {
		return nil
	}
	return r.Parts.Find(id)
}

// Receivers implements gapi.Running.
func (r running) Receivers(id string) []string {
	return slices.DeleteFunc(r.st.Receivers(id), func(by string) bool { return slices.Contains(r.goes, by) })
}

// Sharing implements gapi.Running.
func (r running) Sharing(u engine.ResUID) iter.Seq[string] {
	return func(yield func(string) bool) {
		for id := range r.Parts.Sharing(u) {
			if !slices.Contains(r.goes, id) && !yield(id) {
				return
			}
		}
	}
}
