package mgmt

import (
	"context"
	"errors"
	"iter"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Verdict is what became of one graph.
type Verdict struct {
	Generation int                // of the graph that is in effect now; 0 for none
	Swap       reactor.Swap       // the changes, where this graph took effect; else zero
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
// after its end. With any error the graph before goes on.
//
// Callable from any goroutine, and from the reader of Events; calls wait for each other. It takes the place of a frontend (Run with nil), or adds to one: the graph that came last is in effect.
func (e *Engine) Apply(ctx context.Context, d *gapi.Declared) (Verdict, error) {
	v, err := e.session.graphs.Apply(ctx, d)
	return Verdict(v), err
}

// Patch is one change of the graph that runs. One with neither of both is refused.
type Patch struct {
	Upsert *gapi.Declared // resources to change, or to add; nil for none
	Delete []string       // the ids (kind[name]) of resources that go; Upsert declares none of them
}

// Patch changes a part of the graph that runs, at the cost of the part alone: what it upserts comes, and what it deletes goes, both or
// neither, and in one change, which one Swap tells of. So nothing runs with the half of it: a resource that comes may take over what
// one that goes has managed, such as a path. It returns when the part is in effect, which is before it has converged.
//
// With an error nothing has changed. It is schema.Diagnostics where the part is bad, a *graph.CycleError, reactor.InitErrors where
// resources can't be initialised, a *reactor.UnknownResourceError for an id that the graph does not have, a *reactor.ReferredError where a
// resource that stays has declared an edge to one that goes, refers to it by a parameter or receives from it, or a *reactor.RemovalsError
// where Options.MaxRemovals holds it (call Resume with an empty name, and Patch again).
//
// A part is declared like a graph, and collects nothing. It may refer to resources that run and are not in it. Edges that a resource of the part had
// declared before give way to its new ones; edges that others have declared stay. A resource that goes and has the metaparameter reverse is
// undone, as by a whole graph without it, and at the cost of that.
//
// Law: the graph that runs is the one that would run if the whole graph, with the part, had been handed over. Automatic edges,
// groups, clashes and secrets are those of the whole. The cost of a part is that of its own resources, and of those that ask for them. These parts cost what
// the whole graph costs: the first one after a whole graph; a part that alters a resource which runs in a group, or might, or lets it notify or come
// later; one after which an automatic edge would close a cycle; and a part that asks for all files below a folder, or makes such a file.
//
// The next whole graph of the frontend replaces all, what came by Patch included. The events tell of a part as of a graph, of a refused one too.
// Callable from any goroutine; it waits for a graph that is being put into effect, and the part is the engine's from then on.
func (e *Engine) Patch(ctx context.Context, p Patch) error {
	return e.session.graphs.Patch(ctx, p.Upsert, p.Delete...)
}

// Running is the graph that runs, as Engine.Look shows it.
type Running interface {
	gapi.Running
	// After yields the ids of the vertices that a declared edge leads to, each with the id of the vertex that has declared the edge.
	After(id string) iter.Seq2[string, string]
	// Group returns the resource that runs the given one, and the other members of its automatic group, in their order. A resource that
	// is in no group runs itself, and there are no others. ok is false where the graph has no such resource.
	Group(id string) (owner string, members []string, ok bool)
}

// ErrNoGraph says that no graph is in effect yet.
var ErrNoGraph = errors.New("no graph is in effect yet")

// Look calls f with the graph in effect. It costs what f asks for, and waits for nothing: a graph that is being
// built is seen when it is in effect, and the next part may take effect while f looks. f keeps nothing that it was shown. The
// error is that of f, or ErrNoGraph before the first graph. Callable from any goroutine.
func (e *Engine) Look(_ context.Context, f func(Running) error) error {
	if !e.session.graphs.Begun() {
		return ErrNoGraph
	}
	return f(e.session.graphs.Parts())
}
