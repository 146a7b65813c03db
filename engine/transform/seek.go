package transform

import (
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// seeker says whether one more edge would close a cycle, in a graph to which edges
// are added. It looks only at the vertices that could be on a cycle, from both ends
// in turn, so its cost is the size of the smaller side: for a file, the folders
// above it.
type seeker struct {
	g      *resgraph.Graph
	on     []bool
	out    map[int32][]int32 // the edges that were added
	in     map[int32][]int32
	seen   []int32 // by vertex: the round in which it was seen, negative from behind
	round  int32
	budget int
}

// maxSteps bounds all searches together: a second at most.
const maxSteps = 1 << 25

func newSeeker(g *resgraph.Graph, on []bool) *seeker {
	return &seeker{g: g, on: on, out: map[int32][]int32{}, in: map[int32][]int32{}, seen: make([]int32, g.Len()), budget: maxSteps}
}

// add adds an edge.
func (s *seeker) add(from, to int32) {
	s.out[from] = append(s.out[from], to)
	s.in[to] = append(s.in[to], from)
}

// refusal says why an edge must not be added; empty if it may.
func (s *seeker) refusal(w edgeRequest) string {
	if s.budget <= 0 {
		return "there are too many cycles to look whether it closes another one"
	}
	if s.path(w.to, w.from) {
		return s.g.ID(int(w.to)) + " comes before " + s.g.ID(int(w.from)) + " already"
	}
	return ""
}

// path reports whether a path leads from one vertex to another one.
func (s *seeker) path(from, to int32) bool {
	s.round++
	fore, back := []int32{from}, []int32{to}
	s.seen[from], s.seen[to] = s.round, -s.round
	for len(fore) > 0 && len(back) > 0 && s.budget > 0 {
		var met bool
		if fore, met = s.spread(fore, s.g.Succ, s.out, s.round); met {
			return true
		}
		if back, met = s.spread(back, s.g.Pred, s.in, -s.round); met {
			return true
		}
	}
	return s.budget <= 0 // not known: as if there were one
}

// spread takes one vertex from the queue and adds its neighbours, and reports
// whether one of them was seen from the other end.
func (s *seeker) spread(queue []int32, row func(int) []int32, added map[int32][]int32, mark int32) ([]int32, bool) {
	v := queue[len(queue)-1]
	queue = queue[:len(queue)-1]
	for _, next := range [2][]int32{row(int(v)), added[v]} {
		s.budget -= 1 + len(next)
		for _, w := range next {
			switch {
			case s.seen[w] == -mark:
				return queue, true
			case s.seen[w] != mark && s.on[w]:
				s.seen[w] = mark
				queue = append(queue, w)
			}
		}
	}
	return queue, false
}
