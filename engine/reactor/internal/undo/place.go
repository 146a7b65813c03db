package undo

import "slices"

// maxNeighbours bounds how many ids a reversal names on each side.
const maxNeighbours = 1000

// Graph is the graph that a vertex stands in, by numbers of vertices.
type Graph struct {
	Above, Below func(i int32) []int32 // one step up and down
	ID           func(i int32) string
	Reverses     func(i int32) bool // whether a vertex has the metaparameter reverse
}

// Place is where a vertex stood when its run began: the ids that it came after and before. They are the near ones first,
// and beyond those of which nothing is kept, or will be. They are sorted. The zero Place has no neighbours.
type Place struct{ After, Before []string }

// Look returns the place of a vertex. It is called while nothing alters the graph.
func Look(u *Store, g Graph, at int32) Place {
	return Place{
		After:  g.spread(at, g.Above, func(i int32) bool { return !u.Has(g.ID(i)) }),
		Before: g.spread(at, g.Below, func(i int32) bool { return !g.Reverses(i) }),
	}
}

func (g Graph) spread(at int32, row func(int32) []int32, beyond func(int32) bool) []string {
	var ids []string
	seen := map[int32]bool{at: true}
	queue := []int32{at}
	for n := 0; n < len(queue) && len(ids) < maxNeighbours; n++ {
		for _, i := range row(queue[n]) {
			if seen[i] || len(ids) == maxNeighbours {
				continue
			}
			seen[i] = true
			ids = append(ids, g.ID(i))
			if beyond(i) {
				queue = append(queue, i)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
