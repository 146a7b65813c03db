package transform

import (
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// maxDownstream bounds how many edges the search for groupable vertices looks at. Beyond it the whole graph costs
// little more.
const maxDownstream = 2000

// regroup finds out whether AutoGroup would make other groups of the whole graph than now. It makes the same
// ones where three things hold. No changed vertex may be grouped, or receives from a vertex that may. No changed edge leads
// to a groupable vertex, or is a notification of one. And no groupable vertex is downstream of a changed edge, since
// groups are of one level.
func (c *Change) regroup() {
	if !c.grouping || c.Whole != "" {
		return
	}
	var starts []int32
	for _, n := range slices.Sorted(maps.Keys(c.news)) {
		if c.grouped(n) || c.receives(c.news[n].v) || c.known(n) && c.receives(c.p.vertex(n)) {
			c.Whole = c.id(n) + " has to do with resources that may run in groups"
			return
		}
		for e := range c.differ(n) {
			if c.grouped(e.to) || e.notify && c.grouped(e.from) {
				c.Whole = "an edge from " + c.id(e.from) + " to " + c.id(e.to) + " has to do with resources that may run in groups"
				return
			}
			starts = append(starts, e.to)
		}
	}
	if c.leadToGroups(starts) {
		c.Whole = "resources downstream may run in groups"
	}
}

// grouped reports whether AutoGroup may look at a vertex, before the change or after it.
func (c *Change) grouped(n int32) bool {
	now := c.vertex(n)
	if now != nil && groupable(now) > 0 {
		return true
	}
	if !c.known(n) {
		return false
	}
	was := c.p.vertex(n)
	return was != nil && groupable(was) > 0
}

// receives reports whether a vertex, nil for none, receives from a vertex that may be grouped.
func (c *Change) receives(v *resgraph.Vertex) bool {
	return v != nil && slices.ContainsFunc(v.Recv, func(w resgraph.Wire) bool {
		n, ok := c.number(w.From.ID())
		return ok && c.grouped(n)
	})
}

// link is an edge as AutoGroup looks at it.
type link struct {
	from, to int32
	notify   bool
}

// differ returns the links at a vertex that come or go.
func (c *Change) differ(n int32) map[link]bool {
	is := map[link]int{}
	count := func(edges []graph.Edge, by int) {
		for _, e := range edges {
			is[link{int32(e.From), int32(e.To), e.Notify}] |= by
		}
	}
	st := c.news[n]
	count(st.own, 1)
	count(st.auto, 1)
	if c.known(n) {
		was := c.p.stands(n)
		count(was.own, 2)
		count(was.auto, 2)
	}
	if st.v == nil {
		c.countOthers(n, count)
	}
	changed := map[link]bool{}
	for l, by := range is {
		if by != 3 {
			changed[l] = true
		}
	}
	return changed
}

// countOthers counts the edges at a vertex that goes which stand at others.
func (c *Change) countOthers(n int32, count func([]graph.Edge, int)) {
	for e := range c.p.baseEdges(n) {
		count([]graph.Edge{e}, 2)
	}
	for _, st := range c.p.changed {
		for _, e := range slices.Concat(st.own, st.auto) {
			if int32(e.From) == n || int32(e.To) == n {
				count([]graph.Edge{e}, 2)
			}
		}
	}
}

// leadToGroups reports whether a groupable vertex is downstream of some vertices, or may be: the search is bounded.
func (c *Change) leadToGroups(queue []int32) bool {
	news := map[int32][]int32{}
	for _, st := range c.news {
		for _, e := range slices.Concat(st.own, st.auto) {
			news[int32(e.From)] = append(news[int32(e.From)], int32(e.To))
		}
	}
	looked, seen := 0, map[int32]bool{}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		if c.grouped(n) {
			return true
		}
		below := slices.Concat(news[n], slices.Collect(maps.Keys(c.p.below[n])))
		if int(n) < c.p.base.Len() {
			below = append(below, c.p.base.Succ(int(n))...)
		}
		if looked += len(below); looked > maxDownstream {
			return true
		}
		queue = append(queue, below...)
	}
	return false
}

// noteBelow notes the edges of a change that is in effect, for the searches of later ones. A vertex that goes again is not forgotten: a
// search may find too much, and never too little.
func (p *Parts) noteBelow(c *Change) {
	if !c.grouping {
		return
	}
	for _, st := range c.news {
		for _, e := range slices.Concat(st.own, st.auto) {
			from := int32(e.From)
			if p.below[from] == nil {
				p.below[from] = map[int32]bool{}
			}
			p.below[from][int32(e.To)] = true
		}
	}
}

// findOwners finds the numbers of members of groups.
func (p *Parts) findOwners() {
	p.owners, p.below = map[int32]int32{}, map[int32]map[int32]bool{}
	if p.base == p.grouped {
		return
	}
	for i, v := range p.grouped.All() {
		for _, m := range v.Special().Group {
			member, ok1 := p.base.Index(m.Res.String())
			owner, ok2 := p.base.Index(p.grouped.ID(i))
			if ok1 && ok2 {
				p.owners[int32(member)] = int32(owner)
			}
		}
	}
}

// runsAs returns the number of the vertex that runs a vertex: of its group, else of itself.
func (p *Parts) runsAs(n int32) int32 {
	if owner, ok := p.owners[n]; ok {
		return owner
	}
	return n
}
