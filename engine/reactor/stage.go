package reactor

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// ErrStageOver is the error of a second end of a Stage.
var ErrStageOver = errors.New("the stage has ended: it was committed or dropped before")

// Stage is the next change of the graph, reserved. While it is held no other one begins, so that what Same
// says stays true until Commit. Its caller ends it, once, by one of Commit, Upsert, Change, Delete and Drop, which end it whatever they
// return; a second end is ErrStageOver. A stage that was never ended holds up each later Stage until the end of Run: so defer Drop. A
// Stage may go from goroutine to goroutine.
type Stage struct {
	r     *Reactor
	ended atomic.Bool

	draft *resgraph.Graph // of Compare; nil before
	same  []bool          // by the index of the draft

	accepted *[]string // of Accept; nil before
}

// Stage reserves the next change of the graph. It waits for Run to begin, and for the end of the Stage before.
// The error is the cause of the end of ctx, or ErrStopped. Callable from any goroutine. A stage that is held
// does not keep Run from its end.
func (r *Reactor) Stage(ctx context.Context) (*Stage, error) {
	if err := r.take(ctx, r.staging); err != nil {
		return nil, err
	}
	return &Stage{r: r}, nil
}

// take puts a token into a channel of capacity one, once Run has begun.
func (r *Reactor) take(ctx context.Context, token chan struct{}) error {
	if err := r.begun(ctx); err != nil {
		return err
	}
	select {
	case token <- struct{}{}:
		return nil
	case <-r.stopped:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Again ends the stage, unless it has ended, and begins another one that may remove what this one may.
func (st *Stage) Again(ctx context.Context) (*Stage, error) {
	st.Drop()
	next, err := st.r.Stage(ctx)
	if err == nil {
		next.accepted = st.accepted
	}
	return next, err
}

// Accept lets the change that ends the stage remove these vertices, however many they are. AcceptRemovals is left for the next
// Stage without it.
func (st *Stage) Accept(removed []string) { st.accepted = &removed }

// Commit replaces the graph by another one, which must be checked and is the reactor's from now on. New vertices
// are made and initialised before an old one is stopped; on an error the old graph runs on as it was. It returns when the
// new graph is in effect, which is before it has converged.
func (st *Stage) Commit(ctx context.Context, g *resgraph.Graph) error {
	return st.end(ctx, func() error { return st.swap(ctx, g) })
}

// Upsert changes the vertices of a part, or adds them. All laws of Commit hold, at the cost of the part. A vertex
// without a value (nil) stands for the running one of that id: it gives an end to edges. Each edge has an end that the
// part brings.
//
// An edge belongs to the end that has declared it (graph.Edge.By). With a vertex all edges go that belong to it, and
// those of the part come; edges that belong to others stay. An edge that belongs to neither end stays, but between
// two vertices that the part brings it is as the part says.
//
// The metaparameters realize and rewatch, and the bound of removals, are about whole graphs: Upsert removes nothing.
func (st *Stage) Upsert(ctx context.Context, part *resgraph.Graph) error {
	return st.Change(ctx, part)
}

// Change is Upsert and Delete in one: what the part brings comes and some vertices go, both or neither. A vertex of the part whose
// resource is the one that runs goes on, whatever its parameters. The part does not name vertices that go.
func (st *Stage) Change(ctx context.Context, part *resgraph.Graph, remove ...string) error {
	return st.end(ctx, func() error { return st.change(ctx, part, remove) })
}

// Delete removes vertices, with the laws of Commit and at the cost of the part. An id that does not run is a
// *UnknownResourceError, and a remaining vertex that has declared an edge to a removed one, or receives from it,
// a *ReferredError. Edges that belong to neither end go.
func (st *Stage) Delete(ctx context.Context, ids ...string) error {
	return st.Change(ctx, graph.New[*resgraph.Vertex](""), ids...)
}

// Drop ends the stage without any effect. It does nothing after another end.
func (st *Stage) Drop() {
	if st.ended.CompareAndSwap(false, true) {
		<-st.r.staging
	}
}

// end ends the stage by a change, which goes on in a goroutine of its own: it may be left when Run is over.
func (st *Stage) end(ctx context.Context, change func() error) error {
	if !st.ended.CompareAndSwap(false, true) {
		return ErrStageOver
	}
	r := st.r
	if err := r.take(ctx, r.swapping); err != nil {
		<-r.staging
		return err
	}
	outcome := make(chan error, 1) // there before another change can begin, and so before Run has ended
	done := apart.Start("a method", func() error {
		defer func() { <-r.staging }()
		defer func() { <-r.swapping }()
		err := change()
		outcome <- err
		return err
	})
	select {
	case err := <-done:
		return err
	case <-r.stopped:
	}
	select {
	case err := <-outcome:
		return err
	case err := <-done:
		return err
	default:
		return ErrStopped // abandoned, because a method does not return
	}
}

// Swap is a Stage that is committed at once. It may be called from any goroutine.
func (r *Reactor) Swap(ctx context.Context, g *resgraph.Graph) error {
	st, err := r.Stage(ctx)
	if err != nil {
		return err
	}
	return st.Commit(ctx, g)
}

// Upsert is a Stage that ends by Upsert. It may be called from any goroutine.
func (r *Reactor) Upsert(ctx context.Context, part *resgraph.Graph) error {
	st, err := r.Stage(ctx)
	if err != nil {
		return err
	}
	return st.Upsert(ctx, part)
}

// Delete is a Stage that ends by Delete. It may be called from any goroutine.
func (r *Reactor) Delete(ctx context.Context, ids ...string) error {
	st, err := r.Stage(ctx)
	if err != nil {
		return err
	}
	return st.Delete(ctx, ids...)
}

// find returns the resource that runs under an id, nil if there is none.
func (st *Stage) find(id string) *vertex { return st.r.loop.named(id) }

// Find returns the resource that runs under an id, nil if there is none. It must not be altered. Callable until the
// stage ends.
func (st *Stage) Find(id string) engine.Res {
	if v := st.find(id); v != nil {
		return v.Res
	}
	return nil
}

// Receivers returns the ids of the vertices that receive values from a running one, in no order. Callable until the stage ends.
func (st *Stage) Receivers(id string) (ids []string) {
	v := st.find(id)
	if v == nil {
		return nil
	}
	for _, t := range v.sendsTo {
		ids = append(ids, t.v.ID)
	}
	return ids
}
