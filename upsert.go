package mgmt

import (
	"context"
	"fmt"

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
// Automatic edges are sought among the resources of the part. Those between one of them and another resource stay as they are, and
// clashes with other resources are not found: the next whole graph finds both. A resource of a part joins no group, and a running member of
// a group is refused.
//
// The next whole graph of the frontend replaces all, the parts of Upsert included; until then Options.MaxRemovals at a start
// does not know of parts. Observer.Swapped tells of a part, Loaded does not.
// Callable from any goroutine while Run is going on; it waits for a graph that is being put into effect, and the part is the
// engine's from then on.
func (e *Engine) Upsert(ctx context.Context, part *gapi.Declared) error {
	return e.change(ctx, func(s *session, st *reactor.Stage) error { return s.upsert(ctx, st, part) })
}

// Delete removes resources from the graph that runs, by their ids (kind[name]), at the cost of the part alone. The error is a
// *reactor.UnknownResourceError, a *reactor.ReferredError where a resource that stays has declared an edge to a removed one or receives
// from it, or a *reactor.RemovalsError where Options.MaxRemovals holds it; then nothing has changed. A resource with the
// metaparameter reverse is refused: only a whole graph undoes a removal. Callable as Upsert.
func (e *Engine) Delete(ctx context.Context, ids ...string) error {
	return e.change(ctx, func(s *session, st *reactor.Stage) error { return s.remove(ctx, st, ids) })
}

// change does something to a part of the graph with a stage.
func (e *Engine) change(ctx context.Context, do func(*session, *reactor.Stage) error) error {
	r, err := e.running(ctx)
	if err != nil {
		return err
	}
	if err := e.session.enter(ctx); err != nil { // a stage ends before the session has noted its graph
		return err
	}
	defer func() { <-e.session.using }()
	st, err := r.Stage(ctx)
	if err != nil {
		return err
	}
	defer st.Drop()
	return do(e.session, st)
}

func (s *session) upsert(ctx context.Context, st *reactor.Stage, d *gapi.Declared) error {
	draft := gapi.NewPart(s.e.registry(), d, st.Find)
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
	if err := s.autoEdges(ctx, part); err != nil {
		return err
	}
	ids := brought(part)
	if err := s.single(ids); err != nil {
		return err
	}
	if err := st.Upsert(ctx, part); err != nil {
		return err
	}
	s.memory.Forget(ids...)
	return nil
}

func (s *session) remove(ctx context.Context, st *reactor.Stage, ids []string) error {
	if err := s.single(ids); err != nil {
		return err
	}
	for _, id := range ids {
		if res := st.Find(id); res != nil && res.MetaParams().Reverse {
			return fmt.Errorf("%s asks to be undone when it leaves (the metaparameter reverse), which only a whole graph without it does", id)
		}
	}
	if err := st.Delete(ctx, ids...); err != nil {
		return err
	}
	s.memory.Forget(ids...)
	return nil
}

// brought returns the ids of the resources of a part.
func brought(part *engine.Graph) (ids []string) {
	for i, v := range part.All() {
		if v != nil {
			ids = append(ids, part.ID(i))
		}
	}
	return ids
}

// single refuses resources that run in a group.
func (s *session) single(ids []string) error {
	for _, id := range ids {
		if owner, ok := s.grouped[id]; ok {
			return fmt.Errorf("%s runs in the group of %s, so it can't be changed by itself: hand over the whole graph, or declare it with autogroup: false", id, owner)
		}
	}
	return nil
}

// groupedIn returns the members and owners of groups, with the owner of each; nil if there is no group.
func groupedIn(g *engine.Graph) map[string]string {
	var in map[string]string
	for i, v := range g.All() {
		if len(v.Group) == 0 {
			continue
		}
		if in == nil {
			in = map[string]string{}
		}
		in[g.ID(i)] = g.ID(i)
		for _, m := range v.Group {
			in[m.Res.String()] = g.ID(i)
		}
	}
	return in
}

// autoEdges adds the automatic edges among the resources of a part.
func (s *session) autoEdges(ctx context.Context, part *engine.Graph) error {
	if s.e.opt.NoAutoEdges {
		return nil
	}
	inner := graph.New[*engine.Vertex](part.Name)
	for i, v := range part.All() {
		if v != nil {
			_, _ = inner.Add(part.ID(i), v) // unique, as in part
		}
	}
	if inner.Len() < 2 {
		return nil
	}
	for e := range part.Declared() {
		if from, to, ok := ends(part, inner, e); ok {
			e.From, e.To = from, to
			_ = inner.Connect(e) // good, as in part
		}
	}
	out, err := transform.Run(ctx, inner, []transform.Step{transform.AutoEdge(s.host)}, nil)
	if err != nil {
		return err
	}
	for e := range out.Edges() {
		if was, ok := inner.Link(e.From, e.To); ok && was.Notify == e.Notify {
			continue
		}
		if from, to, ok := ends(out, part, e); ok {
			e.From, e.To, e.By = from, to, graph.ByNeither
			_ = part.Connect(e) // both are there
		}
	}
	return nil
}

// ends returns the ends of an edge in another graph, and whether both are there.
func ends(g, other *engine.Graph, e graph.Edge) (from, to int, ok bool) {
	from, ok1 := other.Index(g.ID(e.From))
	to, ok2 := other.Index(g.ID(e.To))
	return from, to, ok1 && ok2
}
