package puppet

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// side says which vertex of a resource an edge ends at. A resource other than a
// container has only one, itself.
type side uint8

const (
	itself side = iota
	start       // of a container: before all that it contains
	end         // after it
)

// vertex is an end of an edge.
type vertex struct {
	res  *resource
	side side
}

// firstOf is the vertex that everything before a resource must come before: the start of a
// container.
func firstOf(r *resource) vertex {
	if r.container {
		return vertex{r, start}
	}
	return vertex{res: r}
}

// lastOf is the vertex that everything after a resource must come after: the end of a
// container.
func lastOf(r *resource) vertex {
	if r.container {
		return vertex{r, end}
	}
	return vertex{res: r}
}

// relation is an edge between two vertices.
// The refresh of an edge is that of notify and subscribe; it has an effect only where both ends
// can do something with it.
type relation struct {
	from, to vertex
	word     string // what made it
	pos      schema.Pos
	refresh  bool
}

// relations are the edges of a catalog.
// The edges grow in the order of the catalog, so equal catalogs give equal graphs.
type relations struct {
	*index
	cat     *catalog
	edges   []relation
	anchors map[*resource]*anchor // of the containers that have vertices
	// The answers of anchored, each found once.
	above   map[*resource][]*resource
	numbers map[string]map[string]*resource // by type and number; see numbered
}

// anchor is what is known of a container that has two vertices.
// It is Puppet's own way: a start and an end for each container.
type anchor struct {
	in, out bool // a refresh comes to it; one goes out from it
	hollow  bool // there is a way through it past all resources, by an empty container
}

// relate looks all references up and makes the edges of the catalog, those of
// containers too.
// The order of the steps matters: containers are known before relations, and relations decide
// which containers have vertices. Only then can refreshes spread, and contents be joined to
// their containers.
func relate(cat *catalog, x *index) *relations {
	rs := &relations{index: x, cat: cat, anchors: map[*resource]*anchor{}, above: map[*resource][]*resource{}}
	rs.contain()
	for _, r := range cat.resources {
		rs.declared(r)
	}
	for _, r := range cat.resources {
		if r.container && len(r.parents) > 1 {
			rs.anchor(r)
		}
	}
	rs.spread()
	for _, r := range cat.resources {
		rs.within(r)
	}
	for _, r := range cat.resources {
		if a := rs.anchors[r]; a != nil && a.hollow {
			rs.edges = append(rs.edges, relation{vertex{r, start}, vertex{r, end}, contained, r.at, false})
		}
	}
	return rs
}

// contain notes the members of each container.
// Only classes, defined types and stages hold others; any other edge of this sort is a
// fault of the catalog.
func (rs *relations) contain() {
	for _, c := range rs.cat.contains {
		source, err1 := rs.find(c.source)
		target, err2 := rs.find(c.target)
		for _, err := range []error{err1, err2} {
			if err != nil {
				rs.found.Errorf(c.pos, "an edge of the catalog: %v", err)
			}
		}
		if err1 != nil || err2 != nil {
			continue
		}
		if source == target {
			rs.found.Errorf(c.pos, "an edge of the catalog: %s contains itself", source.ref())
			continue
		}
		if !source.container {
			rs.found.Errorf(c.pos, "an edge of the catalog: %s is no class, defined type or stage, so it contains nothing", source.ref())
			continue
		}
		target.parents = append(target.parents, source)
		source.holds = true
	}
	rs.refuseLoops()
}

// refuseLoops reports containers that contain themselves, and takes them apart.
// It is a depth-first search over parents; a container that is open when it is met again is in
// a loop.
func (rs *relations) refuseLoops() {
	const open, done = 1, 2
	state := map[*resource]int{}
	var walk func(r *resource) bool
	walk = func(r *resource) bool {
		switch state[r] {
		case open:
			return false
		case done:
			return true
		}
		state[r] = open
		kept := r.parents[:0]
		for _, p := range r.parents {
			if walk(p) {
				kept = append(kept, p)
			} else {
				rs.found.Add(r.finding(schema.Error, "", "it contains itself, by way of "+p.ref()))
			}
		}
		r.parents = kept
		state[r] = done
		return true
	}
	for _, r := range rs.cat.resources {
		walk(r)
	}
}

// words are the parameters that are relations. forward means: from the resource with the
// parameter to the named resource.
var words = []struct {
	name             string
	forward, refresh bool
}{
	{"before", true, false},
	{"require", false, false},
	{"notify", true, true},
	{"subscribe", false, true},
}

// declared makes the edges that a resource declares.
// A target that is named twice makes one edge. An unknown one is a finding, and the others
// count.
func (rs *relations) declared(r *resource) {
	for _, w := range words {
		p := r.param(w.name)
		if p == nil {
			continue
		}
		if r.container && p.err != nil {
			rs.found.Add(r.finding(schema.Error, w.name, p.err.Error()))
		}
		seen := map[*resource]bool{}
		for _, n := range asList(p.value) {
			other, err := rs.target(n)
			switch {
			case err != nil:
				rs.found.Add(r.finding(schema.Error, w.name, err.Error()))
				continue
			case seen[other]:
				continue
			}
			seen[other] = true
			if w.forward {
				rs.join(r, other, w.name, r.at, w.refresh)
			} else {
				rs.join(other, r, w.name, r.at, w.refresh)
			}
		}
	}
}

// target looks up a reference in a relation.
func (rs *relations) target(n *schema.Node) (*resource, error) {
	if n.Kind != schema.NodeString {
		return nil, fmt.Errorf("a reference is text such as File[/etc/motd], not %s", describe(n))
	}
	return rs.find(n.Text)
}

// join makes an edge from all of one resource to all of another one. The edge ends at the start
// or the end of a container. So a relation with n resources on both sides is one edge and not
// n*n.
func (rs *relations) join(from, to *resource, word string, pos schema.Pos, refresh bool) {
	for _, r := range []*resource{from, to} {
		if r.container {
			rs.anchor(r)
		}
	}
	if refresh && from.container {
		rs.anchors[from].out = true
	}
	if refresh && to.container {
		rs.anchors[to].in = true
	}
	rs.edges = append(rs.edges, relation{lastOf(from), firstOf(to), word, pos, refresh})
}

// anchor gives a container two vertices. Containers without relations need none, which
// keeps large catalogs small.
func (rs *relations) anchor(r *resource) {
	if rs.anchors[r] == nil {
		rs.anchors[r] = &anchor{}
	}
}

// anchored returns the containers with vertices that a resource is in, the nearest
// ones. A container in several others has vertices itself, so above one without
// there is at most one.
// Without that, the number of answers could grow with the ways through the containers.
func (rs *relations) anchored(r *resource) []*resource {
	if list, ok := rs.above[r]; ok {
		return list
	}
	var list []*resource
	for _, p := range r.parents {
		if rs.anchors[p] != nil {
			list = append(list, p)
		} else {
			list = append(list, rs.anchored(p)...)
		}
	}
	rs.above[r] = list
	return list
}

// spread tells containers of the refreshes that come to or go out from their own
// containers.
// The nearest containers are visited first, so each one is settled once.
func (rs *relations) spread() {
	done := map[*resource]bool{}
	var visit func(r *resource)
	visit = func(r *resource) {
		if done[r] {
			return
		}
		done[r] = true
		a := rs.anchors[r]
		for _, p := range rs.anchored(r) {
			visit(p)
			a.in = a.in || rs.anchors[p].in
			a.out = a.out || rs.anchors[p].out
		}
	}
	for _, r := range rs.cat.resources {
		if rs.anchors[r] != nil {
			visit(r)
		}
	}
}

const contained = "contained" // the word of an edge between a container and its content

// within makes the edges between a resource and the containers that it is in.
// A container without vertices needs no edges: its content is joined to the containers above.
func (rs *relations) within(r *resource) {
	if r.container && !r.holds {
		rs.hollow(r)
	}
	if r.container && rs.anchors[r] == nil {
		return
	}
	for _, p := range rs.anchored(r) {
		a := rs.anchors[p]
		rs.edges = append(rs.edges,
			relation{vertex{p, start}, firstOf(r), contained, r.at, a.in},
			relation{lastOf(r), vertex{p, end}, contained, r.at, a.out})
	}
}

// hollow notes the effect of an empty container: order, but no refresh, goes straight through
// it, and so through its own containers. Else an order from the start of the outer container to
// its end would be lost.
func (rs *relations) hollow(r *resource) {
	if a := rs.anchors[r]; a != nil {
		a.hollow = true
		return
	}
	for _, p := range rs.anchored(r) {
		rs.anchors[p].hollow = true
	}
}
