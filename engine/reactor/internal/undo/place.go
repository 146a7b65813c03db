package undo

import "slices"

// maxNeighbours bounds how many ids a reversal names on each side.
const maxNeighbours = 1000

// Graph is the graph that a run stands in. It does not change while the run goes on.
type Graph interface {
	Pred(i int) []int32
	Succ(i int) []int32
	ID(i int) string
}

// Place is where a vertex stands in the graph that it runs in. The zero Place has no neighbours.
type Place struct {
	Graph    Graph
	At       int
	Reverses func(i int) bool // whether a vertex has the metaparameter reverse
}

// neighbours returns the ids that the vertex comes after and before: the near ones
// first, and beyond those of which nothing is kept, or will be. They are sorted.
func (p Place) neighbours(u *Store) (after, before []string) {
	if p.Graph == nil {
		return nil, nil
	}
	after = p.spread(p.Graph.Pred, func(i int) bool { return !u.Has(p.Graph.ID(i)) })
	before = p.spread(p.Graph.Succ, func(i int) bool { return !p.Reverses(i) })
	return after, before
}

func (p Place) spread(row func(int) []int32, beyond func(int) bool) []string {
	var ids []string
	seen := map[int32]bool{int32(p.At): true}
	queue := []int32{int32(p.At)}
	for n := 0; n < len(queue) && len(ids) < maxNeighbours; n++ {
		for _, i := range row(int(queue[n])) {
			if seen[i] || len(ids) == maxNeighbours {
				continue
			}
			seen[i] = true
			ids = append(ids, p.Graph.ID(int(i)))
			if beyond(int(i)) {
				queue = append(queue, i)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
