package gapi

import (
	"iter"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Referrers knows which resources of the graph that runs refer to others by a parameter. To make one costs the whole graph, and to
// keep it up to date costs each part alone. A nil one takes Set and does nothing: no resource was removed yet, so no question was asked.
type Referrers struct {
	may map[schema.TypeKey]bool
	to  map[string]map[string]bool // by the id that is referred to: the ids that do
	of  map[string][]string        // the other way round
}

// NewReferrers looks at a whole graph. Each vertex has its resource.
func NewReferrers(g *resgraph.Graph) *Referrers {
	r := &Referrers{may: map[schema.TypeKey]bool{}, to: map[string]map[string]bool{}, of: map[string][]string{}}
	for i, v := range g.All() {
		r.Set(g.ID(i), v.Res)
	}
	return r
}

// Set notes the references that a resource has now; res is nil for a resource that has left the graph.
func (r *Referrers) Set(id string, res engine.Res) {
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
	for _, ref := range References(res) {
		to := schema.Ref{Kind: ref.Kind, Name: ref.Name}.ID()
		if r.to[to] == nil {
			r.to[to] = map[string]bool{}
		}
		r.to[to][id] = true
		r.of[id] = append(r.of[id], to)
	}
}

// refers reports whether a resource may refer to others; each type is looked at once.
func (r *Referrers) refers(res engine.Res) bool {
	key := schema.KeyOf(res)
	may, known := r.may[key]
	if !known {
		may = MayRefer(res)
		r.may[key] = may
	}
	return may
}

// To yields those of some resources to which another resource refers, each with such another one: it stays as it is. Where there are
// none, all of them may go. anew says which resources are declared anew, and may refer to others by then.
func (r *Referrers) To(ids []string, anew func(id string) bool) iter.Seq2[string, string] {
	return func(yield func(gone, by string) bool) {
		for _, id := range ids {
			for _, by := range slices.Sorted(maps.Keys(r.to[id])) {
				if !slices.Contains(ids, by) && !anew(by) && !yield(id, by) {
					return
				}
			}
		}
	}
}
