package plugin

import (
	"cmp"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/schema"
)

var (
	_ engine.EdgeableRes = (*res)(nil)
	_ engine.LeavingRes  = (*res)(nil)
)

// UIDs says which thing of the type it is about.
func (r *res) UIDs() []autoedge.UID {
	name := ""
	if f := r.kind.params.Field("name"); f != nil {
		v, _ := schema.Get(r, f.Key)
		name, _ = v.(string)
	}
	return []autoedge.UID{&autoedge.KeyUID{BaseUID: autoedge.UIDOf(r), Space: r.kind.name, Key: cmp.Or(name, r.Name())}}
}

// Leaving reports whether the thing is to be gone.
func (r *res) Leaving() bool { return !r.wanted() }

// AutoEdges asks for the resources that the parameters refer to: they come first.
func (r *res) AutoEdges() (autoedge.Needs, error) {
	given, err := r.given()
	if err != nil {
		return nil, err
	}
	ask := references(given, nil)
	if len(ask) == 0 {
		return nil, nil
	}
	edge := make(autoEdge, len(ask))
	for i, ref := range ask {
		edge[i] = autoedge.NameUIDOf(r, ref.Kind, ref.Name)
	}
	return edge, nil
}

// references appends the references in a plain value, in the order of their keys.
func references(v any, to []schema.Ref) []schema.Ref {
	switch v := v.(type) {
	case schema.Ref:
		return append(to, v)
	case []any:
		for _, e := range v {
			to = references(e, to)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			to = references(v[key], to)
		}
	}
	return to
}

// autoEdge asks for all at once, and for nothing after that.
type autoEdge []autoedge.UID

// Next gives all UIDs.
func (a autoEdge) Next() []autoedge.UID { return a }

// Test ends it.
func (autoEdge) Test([]bool) bool { return false }
