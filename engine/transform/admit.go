package transform

import (
	"cmp"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// admit returns the graph with the wanted edges, but for edges that would close a
// cycle. First all of them are added. Only if that makes a cycle, those between
// vertices that could be on one are looked at one after the other.
func (a *edgeQueries) admit() *resgraph.Graph {
	g, wanted := a.g, a.wanted
	whole := with(g, wanted)
	if _, err := whole.Sort(); err == nil {
		a.explain(wanted)
		return whole
	}
	on := core(whole)
	safe, doubtful := split(wanted, func(w edgeRequest) bool { return !on[w.from] || !on[w.to] })
	// In an order that does not depend on the one of declaration.
	sorted.Stable(doubtful, func(a, b edgeRequest) int {
		return cmp.Or(cmp.Compare(g.ID(int(a.from)), g.ID(int(b.from))), cmp.Compare(g.ID(int(a.to)), g.ID(int(b.to))))
	})
	s := newSeeker(g, on)
	taken, _ := split(doubtful, func(w edgeRequest) bool {
		why := s.refusal(w)
		if why == "" {
			s.add(w.from, w.to)
			return true
		}
		a.n.Tell(EdgeLeftOut, a.reason(w)+", but "+why, g.ID(int(w.from)), g.ID(int(w.to)))
		return false
	})
	safe = append(safe, taken...)
	a.explain(safe)
	if len(safe) == 0 {
		return g
	}
	return with(g, safe)
}

func with(g *resgraph.Graph, wanted []edgeRequest) *resgraph.Graph {
	c := g.Clone()
	c.Grow(0, len(wanted))
	for _, w := range wanted {
		_ = c.Connect(w.edge()) // the ends are there, and are two
	}
	return c
}

func split(list []edgeRequest, yes func(edgeRequest) bool) (a, b []edgeRequest) {
	for _, w := range list {
		if yes(w) {
			a = append(a, w)
		} else {
			b = append(b, w)
		}
	}
	return a, b
}

// explain notes the edges that are added.
func (a *edgeQueries) explain(wanted []edgeRequest) {
	if !a.n.All {
		return
	}
	for _, w := range wanted {
		a.n.Explain(w.kind(), func() string { return a.reason(w) }, a.g.ID(int(w.from)), a.g.ID(int(w.to)))
	}
}

// core returns the vertices that are left when all without predecessors are taken
// away, again and again, and all without successors. Every cycle is among them.
func core(g *resgraph.Graph) []bool {
	on := make([]bool, g.Len())
	for i := range on {
		on[i] = true
	}
	peel(on, g.Pred, g.Succ)
	peel(on, g.Succ, g.Pred)
	return on
}

// peel takes away each vertex without a neighbour behind it.
func peel(on []bool, behind, ahead func(int) []int32) {
	left := make([]int32, len(on))
	var bare []int32
	for i := range on {
		for _, j := range behind(i) {
			if on[j] {
				left[i]++
			}
		}
		if on[i] && left[i] == 0 {
			bare = append(bare, int32(i))
		}
	}
	for len(bare) > 0 {
		i := bare[len(bare)-1]
		bare = bare[:len(bare)-1]
		on[i] = false
		for _, j := range ahead(int(i)) {
			if left[j]--; left[j] == 0 && on[j] {
				bare = append(bare, j)
			}
		}
	}
}
