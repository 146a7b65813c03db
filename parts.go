package mgmt

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
)

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

// referrers knows which resources of the graph that runs refer to others by a parameter. It is made when a part is deleted first
// after a whole graph, and then kept.
type referrers struct {
	may map[schema.TypeKey]bool
	to  map[string]map[string]bool // by the id that is referred to: the ids that do
	of  map[string][]string        // the other way round
}

// newReferrers looks at a whole graph.
func newReferrers(g *engine.Graph) *referrers {
	r := &referrers{may: map[schema.TypeKey]bool{}, to: map[string]map[string]bool{}, of: map[string][]string{}}
	for i, v := range g.All() {
		r.set(g.ID(i), v.Res)
	}
	return r
}

// set notes to what a resource refers, nil for one that is there no more. It does nothing where no one has asked yet.
func (r *referrers) set(id string, res engine.Res) {
	if r == nil {
		return
	}
	for _, was := range r.of[id] {
		delete(r.to[was], id)
	}
	delete(r.of, id)
	if res == nil || !r.refers(res) {
		return
	}
	for _, ref := range gapi.References(res) {
		to := schema.Ref{Kind: ref.Kind, Name: ref.Name}.ID()
		if r.to[to] == nil {
			r.to[to] = map[string]bool{}
		}
		r.to[to][id] = true
		r.of[id] = append(r.of[id], to)
	}
}

// refers reports whether a resource may refer to others; each type is looked at once.
func (r *referrers) refers(res engine.Res) bool {
	key := schema.KeyOf(res)
	may, known := r.may[key]
	if !known {
		may = gapi.MayRefer(res)
		r.may[key] = may
	}
	return may
}

// check refuses to delete what a remaining resource refers to. anew says which ones are declared anew.
func (r *referrers) check(ids []string, anew func(id string) bool) error {
	for _, id := range ids {
		for _, by := range slices.Sorted(maps.Keys(r.to[id])) {
			if !slices.Contains(ids, by) && !anew(by) {
				return &reactor.ReferredError{Resource: id, By: by}
			}
		}
	}
	return nil
}

// After implements Running.
func (r running) After(id string) iter.Seq2[string, string] { return r.Parts.After(id) }

// Running is the graph that runs, as Engine.Look shows it.
type Running interface {
	gapi.Running
	// After yields the ids of the vertices that a declared edge leads to, each with the id of the vertex that has declared the edge.
	After(id string) iter.Seq2[string, string]
}

// Look calls f with the graph that runs, while no other graph is put into effect. It costs what f asks for. f calls no method of the
// Engine, and keeps nothing of what it was shown. Callable as Upsert.
func (e *Engine) Look(ctx context.Context, f func(Running) error) error {
	return e.change(ctx, func(s *session, st *reactor.Stage) error { return f(running{s.parts.Load(), st, nil}) })
}
