package sched

import "slices"

// rows are a list of vertices for each vertex, all in one piece. A row that outgrows its place stands at the
// end from then on, and its old place is waste until the next Swap.
type rows struct {
	at    []span
	all   []Vertex
	room  map[Vertex]int32 // where the place of a long row ends that has moved
	waste int
}

// longRow is from when on a row that moves gets room to grow.
const longRow = 64

// span is the place of one row.
type span struct{ from, to int32 }

// rowsOf takes lists over of which that of v begins at from[v] and ends at from[v+1].
func rowsOf(from []int32, all []Vertex) rows {
	r := rows{at: make([]span, len(from)-1, roomFor(len(from))), all: slices.Grow(all, spare(len(all)))}
	for v := range r.at {
		r.at[v] = span{from[v], from[v+1]}
	}
	return r
}

// roomFor is the room that is made for n slots, so that a few more come without a copy of all.
func roomFor(n int) int { return n + n/32 + 8 }

// spare is the free room behind n entries, for rows that move.
func spare(n int) int { return n / 8 }

func (r *rows) of(v Vertex) []Vertex {
	s := r.at[v]
	return r.all[s.from:s.to:s.to]
}

func (r *rows) len(v Vertex) int32 { return r.at[v].to - r.at[v].from }

// grow makes room for the rows of n vertices, new ones being empty.
func (r *rows) grow(n int) {
	if n > len(r.at) {
		r.at = append(r.at, make([]span, n-len(r.at))...)
	}
}

// set replaces the row of v.
func (r *rows) set(v Vertex, row []Vertex) {
	s := &r.at[v]
	end := max(s.to, r.room[v])
	if n := int32(len(row)); s.from+n <= end {
		copy(r.all[s.from:], row)
		s.to = s.from + n
		return
	}
	r.waste += int(end - s.from)
	s.from = int32(len(r.all))
	r.all = append(r.all, row...)
	s.to = int32(len(r.all))
	if len(row) < longRow {
		return
	}
	r.all = append(r.all, make([]Vertex, len(row)/8)...)
	if r.room == nil {
		r.room = map[Vertex]int32{}
	}
	r.room[v] = int32(len(r.all))
}
