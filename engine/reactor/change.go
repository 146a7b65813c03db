package reactor

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// oldOnes returns the vertices that leave, the replaced ones first, and how many these are.
func (s *swap) oldOnes() (removed []*vertex, changed int) {
	for _, v := range s.fresh {
		if old := s.r.loop.named(v.ID); old != nil {
			removed = append(removed, old)
			s.policy = s.policy || asks(old) != asks(v)
		}
	}
	return append(removed, s.leaving...), len(removed)
}

// takeSlots gives the new vertices slots, free ones first.
func (l *loop) takeSlots(vs []*vertex) []int32 {
	taken := make([]int32, len(vs))
	l.bySlot = slices.Grow(l.bySlot, max(0, len(vs)-len(l.free)))
	for i, v := range vs {
		if last := len(l.free) - 1; last >= 0 {
			v.slot = l.free[last]
			l.free = l.free[:last]
		} else {
			v.slot = int32(len(l.bySlot))
			l.bySlot = append(l.bySlot, nil)
		}
		taken[i] = v.slot
	}
	return taken
}

// giveBack takes the slots of a change back that has no effect.
func (s *swap) giveBack(taken []int32) {
	l := &s.r.loop
	for _, slot := range slices.Backward(taken) {
		l.free = append(l.free, slot)
	}
}

func (s *swap) topology(removed []*vertex, added []int32) sched.Topology {
	r := s.r
	t := sched.Topology{N: len(r.loop.bySlot), Added: added, Edges: make([][2]int32, 0, s.g.EdgeCount())}
	for _, v := range removed {
		t.Removed = append(t.Removed, v.slot)
	}
	for i, v := range s.all {
		for _, j := range s.g.Succ(i) {
			t.Edges = append(t.Edges, [2]int32{v.slot, s.all[j].slot})
		}
		if v.key != nil {
			t.Batch = s.batchOf(t.Batch, t.N, v)
		}
	}
	return t
}

// batchOf notes the batch key of v.
func (s *swap) batchOf(keys []int32, n int, v *vertex) []int32 {
	if keys == nil {
		keys = make([]int32, n)
		for i := range keys {
			keys[i] = -1
		}
	}
	keys[v.slot] = s.numberOf(v)
	return keys
}

// numberOf returns the number of the batch key of v, -1 for none.
func (s *swap) numberOf(v *vertex) int32 {
	l := &s.r.loop
	if v.key == nil {
		return -1
	}
	num, ok := l.batches[*v.key]
	if !ok {
		num = int32(len(l.batches))
		l.batches[*v.key] = num
	}
	return num
}

// swap is one change of the graph: law 10. All of it but commit runs in a goroutine of its own, while the
// old graph goes on.
type swap struct {
	st      *Stage
	r       *Reactor
	g       *resgraph.Graph // the new graph, or a part of it
	part    bool
	order   []int     // topological, of g
	all     []*vertex // by index of g: kept ones, new ones, and running ones without a value in a part
	fresh   []*vertex // new ones, in topological order
	leaving []*vertex // running ones without a successor
	left    []Leaving // set by checkRemovals
	policy  bool      // a new vertex asks before it leaves, and the old one did not, or the other way; set by oldOnes
	kept    int

	exclusive []exchange
	redrawn   *redrawn // of a part
	drawn     drawn    // of a whole graph
}

// exchange is a changed vertex whose old and new forms may not be there at once.
type exchange struct{ old, new *vertex }

// drawn are the ties of a whole graph in one piece. Those of vertex i stand from ends[i] to ends[i+1].
type drawn struct {
	room []tie
	ends []int32
}

// redrawn is what a part does to the edges.
type redrawn struct {
	next  map[*vertex]*vertex // of the vertices that run: what stands in their place, nil for nothing
	ties  map[*vertex][]tie   // of those that the part brings
	edges []edgeNews          // of vertices around
}

// edgeNews is a vertex around the part, next to one that changes.
type edgeNews struct {
	around   *vertex
	old, now *vertex // the neighbour; now is nil if it leaves
}

// asks reports whether v leaves only when somebody agrees.
func asks(v *vertex) bool { return v.meta.Leaving == engine.LeavingAsk }
