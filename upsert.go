package mgmt

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
)

// Upsert changes resources of the graph that runs, or adds them, at the cost of the part alone, and returns the verdict on it. The
// error is schema.Diagnostics where the part is bad, a *graph.CycleError, or the error of a resource that can't be initialised; then
// nothing has changed. It returns when the part is in effect, which is before it has converged.
//
// A part is declared like a graph. It may refer to resources that run and are not in it. Edges that a resource of the part had
// declared before give way to its new ones; edges that others have declared stay.
//
// Law: the graph that runs is the one that would run if the whole graph, with the part, had been handed over. Automatic edges,
// groups, clashes and secrets are those of the whole. A part costs what it is about, and what asks for that. These parts cost what
// the whole graph costs: the first one after a whole graph; one that alters a resource which runs in a group, or might, or lets it notify or come
// later; one after which an automatic edge would close a cycle; and one that asks for all files below a folder, or makes such a file.
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
		s.e.stream.tell(Event{Kind: EventWarned, Warnings: diags})
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
		s.refers = newReferrers(s.parts.Load().Declared())
	}
	return s.refers.check(ids, func(by string) bool {
		if part == nil {
			return false
		}
		i, ok := part.Index(by)
		return ok && part.Value(i) != nil
	})
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
		s.logNotes(ctx, &c.Notes)
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
		s.refers.set(id, v.Res)
		s.memory.Forget(id)
		brought[id] = v
	}
	for _, id := range c.Remove {
		s.refers.set(id, nil)
		s.memory.Forget(id)
	}
	s.sharing.part(brought, c.Remove)
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
