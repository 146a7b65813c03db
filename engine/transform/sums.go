package transform

import (
	"iter"
	"slices"
)

// sums finds the vertices that have a sum, of those that have any. A sum is the hash of a UID, or of a question, cut to 32 bits.
type sums struct {
	first map[uint32]int32  // the first cell of each sum, from 1
	cells []cell            // those of the whole graph first, as its rows have them
	rows  *rows[uint32]     // of the whole graph
	later map[int32][]int32 // the cells of vertices that were set since, from 1
	free  []int32           // cells of no sum, from 1
}

// cell is one sum of one vertex, in the list of those with the same sum.
type cell struct {
	sum        uint32
	vertex     int32
	prev, next int32 // from 1; 0 for none
}

// newSums returns the sums of a whole graph.
func newSums(r *rows[uint32]) *sums {
	s := &sums{first: make(map[uint32]int32, len(r.all)), cells: make([]cell, 0, len(r.all)), rows: r, later: map[int32][]int32{}}
	for v := range r.ends {
		for _, sum := range r.of(int32(v)) {
			s.cells = append(s.cells, cell{})
			s.link(int32(len(s.cells)), sum, int32(v))
		}
	}
	return s
}

// link puts a cell at the head of the list of its sum.
func (s *sums) link(at int32, sum uint32, v int32) {
	head := s.first[sum]
	s.cells[at-1] = cell{sum: sum, vertex: v, next: head}
	if head > 0 {
		s.cells[head-1].prev = at
	}
	s.first[sum] = at
}

// unlink takes a cell out of its list.
func (s *sums) unlink(at int32) {
	c := s.cells[at-1]
	switch {
	case c.prev > 0:
		s.cells[c.prev-1].next = c.next
	case c.next > 0:
		s.first[c.sum] = c.next
	default:
		delete(s.first, c.sum)
	}
	if c.next > 0 {
		s.cells[c.next-1].prev = c.prev
	}
	s.cells[at-1] = cell{}
	s.free = append(s.free, at)
}

// cellsOf returns the cells of a vertex, from 1.
func (s *sums) cellsOf(v int32) []int32 {
	if list, ok := s.later[v]; ok || int(v) >= len(s.rows.ends) {
		return list
	}
	from := int32(0)
	if v > 0 {
		from = s.rows.ends[v-1]
	}
	var list []int32
	for at := from; at < s.rows.ends[v]; at++ {
		list = append(list, at+1)
	}
	return list
}

// set gives a vertex other sums, each once.
func (s *sums) set(v int32, to []uint32) {
	for _, at := range s.cellsOf(v) {
		s.unlink(at)
	}
	var list []int32
	to = slices.Clone(to)
	slices.Sort(to)
	for _, sum := range slices.Compact(to) {
		var at int32
		if last := len(s.free) - 1; last >= 0 {
			at, s.free = s.free[last], s.free[:last]
		} else {
			s.cells = append(s.cells, cell{})
			at = int32(len(s.cells))
		}
		s.link(at, sum, v)
		list = append(list, at)
	}
	s.later[v] = list
}

// of yields the sums of a vertex.
func (s *sums) of(v int32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, at := range s.cellsOf(v) {
			if !yield(s.cells[at-1].sum) {
				return
			}
		}
	}
}

// with yields the vertices that have a sum, in no order.
func (s *sums) with(sum uint32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for at := s.first[sum]; at > 0; at = s.cells[at-1].next {
			if !yield(s.cells[at-1].vertex) {
				return
			}
		}
	}
}
