package yaml

import (
	"maps"
	"reflect"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// sequence makes parts of the graphs that a frontend yields one after the other. It is for
// graphs that compute. Most often a few of their resources change, and the whole costs much
// more to put into effect. A graph without expressions changes with its file, and stays a
// whole. It is for one frontend and its goroutine.
type sequence struct {
	last *gapi.Declared // as a whole; nil for none
}

// mostChanged is the share of resources, one in so many, up to which a part is cheaper than the whole.
const mostChanged = 4

// next returns a graph as its difference to the one before. A resource may be in the difference though it is the same, since nodes are
// compared and not values: the engine finds out. Neither graph is altered later.
// The cost is a comparison of pointers for each resource (law 6): the expansion gives an entry
// with equal inputs the nodes that it had before.
func (s *sequence) next(d *gapi.Declared) *gapi.Declared {
	was := s.last
	s.last = d
	out := &gapi.Declared{Name: d.Name, Comment: d.Comment, Pos: d.Pos, Noop: d.Noop, Authored: d.Authored, Partial: d.Partial, Origin: d.Origin}
	out.Part = &gapi.Part{All: true, Whole: func() *gapi.Declared { return d }}
	// The first graph, and one with another head, is a whole.
	if was == nil || !sameHead(was, d) {
		return out
	}
	changed, removed := difference(was, d)
	if (len(changed)+len(removed))*mostChanged <= len(d.Resources) && !onEdges(d.Edges, changed, removed) {
		out.Part.All, out.Part.Resources, out.Part.Removed = false, changed, removed
	}
	return out
}

// sameHead reports whether two graphs differ by their resources alone.
// A partial graph has no difference: its missing resources are not known to be gone.
func sameHead(a, b *gapi.Declared) bool {
	return a.Name == b.Name && a.Comment == b.Comment && a.Noop == b.Noop && !a.Partial && !b.Partial &&
		slices.Equal(a.Kinds, b.Kinds) && slices.Equal(a.Edges, b.Edges) &&
		reflect.DeepEqual(a.Collects, b.Collects) && reflect.DeepEqual(a.Problems, b.Problems)
}

// difference returns the resources that are new or may be others, and the ids of the resources
// that are gone. Most often both lists have the same names in the same order; otherwise they
// are looked up. Both cases are linear in the number of resources; the second one needs a map
// of them.
func difference(was, now *gapi.Declared) (changed []gapi.Declaration, removed []string) {
	if sameNames(was.Resources, now.Resources) {
		for i := range now.Resources {
			if !sameDeclaration(&was.Resources[i], &now.Resources[i]) {
				changed = append(changed, now.Resources[i])
			}
		}
		return changed, nil
	}
	before := make(map[string]*gapi.Declaration, len(was.Resources))
	for i := range was.Resources {
		before[was.Resources[i].ID()] = &was.Resources[i]
	}
	for i := range now.Resources {
		r := &now.Resources[i]
		id := r.ID()
		if old := before[id]; old == nil || !sameDeclaration(old, r) {
			changed = append(changed, *r)
		}
		delete(before, id)
	}
	return changed, slices.Sorted(maps.Keys(before))
}

// sameNames reports whether two lists have the same resources in the same order.
func sameNames(a, b []gapi.Declaration) bool {
	return slices.EqualFunc(a, b, func(a, b gapi.Declaration) bool { return a.Name == b.Name && a.Kind == b.Kind })
}

// sameDeclaration reports whether a resource was made of the same nodes. One with a secret is never the same: its value is not looked at here.
// Positions count too, so that findings name the right lines after an edit.
func sameDeclaration(a, b *gapi.Declaration) bool {
	if a.Kind != b.Kind || a.Name != b.Name || a.Pos != b.Pos || a.NamePos != b.NamePos || a.Unread != b.Unread || a.Module != b.Module || len(a.Hidden)+len(b.Hidden) > 0 {
		return false
	}
	return a.Meta == b.Meta && slices.Equal(a.Proofs, b.Proofs) && sameNodes(a.Value, b.Value) && slices.Equal(a.Recv, b.Recv) &&
		slices.Equal(a.Before, b.Before) && slices.Equal(a.Depend, b.Depend) && slices.Equal(a.Notify, b.Notify) && slices.Equal(a.Listen, b.Listen)
}

// sameNodes reports whether two maps of parameters have the same nodes. The map itself is made anew by each reading.
func sameNodes(a, b *schema.Node) bool {
	return a == b || a != nil && b != nil && slices.EqualFunc(a.Pairs, b.Pairs, func(a, b schema.Pair) bool { return a.Key == b.Key && a.Value == b.Value })
}

// onEdges reports whether an edge that is declared by itself leads to or from one of the changed resources: a part has no such edges.
// It costs nothing in a graph without such edges.
func onEdges(edges []gapi.EdgeDecl, changed []gapi.Declaration, removed []string) bool {
	if len(edges) == 0 {
		return false
	}
	ids := make(map[string]bool, len(changed)+len(removed))
	for i := range changed {
		ids[changed[i].ID()] = true
	}
	for _, id := range removed {
		ids[id] = true
	}
	return slices.ContainsFunc(edges, func(e gapi.EdgeDecl) bool { return ids[e.From.Ref().ID()] || ids[e.To.Ref().ID()] })
}
