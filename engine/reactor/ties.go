package reactor

import (
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// tieOf returns the tie of a declared edge between two slots, and at which end it stands. brings says which ends may have it. An edge
// that belongs to an end without a place for it belongs to neither.
func tieOf(e graph.Ends, from, to int32, brings func(i int) bool) (t tie, atFrom bool) {
	atFrom = e.By == graph.ByFrom
	free := e.By == graph.ByNeither
	if atFrom && !brings(e.From) || !atFrom && !brings(e.To) {
		atFrom, free = !atFrom, true
	}
	t.peer = from
	if atFrom {
		t = tie{to, tieOut}
	}
	if free {
		t.flags |= tieFree
	}
	if e.Notify {
		t.flags |= tieNotify
	}
	return t, atFrom
}

// drawTies finds out the ties of a whole graph, whose vertices have slots. It alters nothing that runs: reshape calls it on another
// processor than its own.
func (s *swap) drawTies() {
	ends, slots := make([]int32, len(s.all)+1), make([]int32, len(s.all))
	for i, v := range s.all {
		slots[i] = v.slot
	}
	for e := range s.g.DeclaredEnds() {
		if e.By == graph.ByFrom {
			ends[e.From+1]++
		} else {
			ends[e.To+1]++
		}
	}
	for i := range s.all {
		ends[i+1] += ends[i]
	}
	room, at := make([]tie, ends[len(s.all)]), slices.Clone(ends)
	all := func(int) bool { return true }
	for e := range s.g.DeclaredEnds() {
		t, atFrom := tieOf(e, slots[e.From], slots[e.To], all)
		i := e.To
		if atFrom {
			i = e.From
		}
		room[at[i]] = t
		at[i]++
	}
	s.drawn = drawn{room, ends}
}

// take gives each vertex its ties.
func (d *drawn) take(all []*vertex) {
	for i, v := range all {
		v.ties = d.room[d.ends[i]:d.ends[i+1]:d.ends[i+1]]
	}
}

// around yields the vertices one step above v and below it.
func (s *swap) around(v *vertex) iter.Seq[*vertex] {
	l := &s.r.loop
	return func(yield func(*vertex) bool) {
		for _, list := range [][]int32{l.m.Above(v.slot), l.m.Below(v.slot)} {
			for _, slot := range list {
				if !yield(l.bySlot[slot]) {
					return
				}
			}
		}
	}
}

// redraw finds out what the part does to the edges, and returns it as the scheduler takes it. The fresh vertices have slots.
func (s *swap) redraw(removed []*vertex, taken []int32) sched.Patch {
	l := &s.r.loop
	d := &redrawn{next: make(map[*vertex]*vertex, len(removed)), ties: make(map[*vertex][]tie, len(s.all))}
	s.redrawn = d
	p := sched.Patch{N: len(l.bySlot), Added: taken, Removed: make([]sched.Vertex, 0, len(removed)), Batch: make([]int32, 0, len(taken))}
	for _, v := range removed {
		p.Removed = append(p.Removed, v.slot)
		d.next[v] = nil
	}
	for _, v := range s.fresh {
		p.Batch = append(p.Batch, s.numberOf(v))
	}
	brings := func(i int) bool { return s.g.Value(i) != nil }
	for i, v := range s.all {
		if brings(i) {
			d.ties[v] = nil
			if old := l.named(v.ID); old != nil {
				d.next[old] = v
			}
		}
	}
	for e := range s.g.DeclaredEnds() {
		at := s.all[e.To]
		t, atFrom := tieOf(e, s.all[e.From].slot, at.slot, brings)
		if atFrom {
			at = s.all[e.From]
		}
		d.ties[at] = append(d.ties[at], t)
	}
	for i := range s.all {
		if brings(i) {
			s.redrawOne(s.all[i], &p)
		}
	}
	for _, v := range s.leaving {
		for n := range s.around(v) {
			if _, touched := d.next[n]; !touched {
				d.edges = append(d.edges, edgeNews{n, v, nil})
			}
		}
	}
	return p
}

// redrawOne adds to the patch what becomes of the edges of v, which the part brings.
func (s *swap) redrawOne(v *vertex, p *sched.Patch) {
	l, d := &s.r.loop, s.redrawn
	old := l.named(v.ID)
	if old != nil {
		for _, t := range old.ties {
			_, touched := d.next[l.bySlot[t.peer]]
			if t.is(tieFree) && !touched && !slices.Contains(d.ties[v], t) {
				d.ties[v] = append(d.ties[v], t)
			}
			if old == v && (!touched || d.next[l.bySlot[t.peer]] == l.bySlot[t.peer]) {
				p.Cut = append(p.Cut, t.edge(v.slot))
			}
		}
		for n := range s.around(old) {
			if _, touched := d.next[n]; touched {
				continue
			}
			d.edges = append(d.edges, edgeNews{n, old, v})
			for _, t := range n.ties {
				if t.peer == old.slot {
					t.peer = v.slot
					p.Join = append(p.Join, t.edge(n.slot))
				}
			}
		}
	}
	for _, t := range d.ties[v] {
		p.Join = append(p.Join, t.edge(v.slot))
	}
}

// retie takes the edges of the part over.
func (s *swap) retie() {
	d := s.redrawn
	for v, ties := range d.ties {
		v.ties = ties
	}
	for _, x := range d.edges {
		if x.now == nil {
			x.around.ties = slices.DeleteFunc(x.around.ties, func(t tie) bool { return t.peer == x.old.slot })
		} else if x.now != x.old {
			for i := range x.around.ties {
				if t := &x.around.ties[i]; t.peer == x.old.slot {
					t.peer = x.now.slot
				}
			}
		}
		x.around.unlisten(x.old)
	}
	for v := range d.ties {
		v.links = v.onlyWires()
	}
	for v := range d.ties {
		s.listen(v, d.ties)
	}
}

// unlisten forgets the refreshes between two vertices.
func (v *vertex) unlisten(other *vertex) {
	if v.links == noLinks {
		return
	}
	is := func(x *vertex) bool { return x == other }
	v.notify, v.listens = slices.DeleteFunc(v.notify, is), slices.DeleteFunc(v.listens, is)
}

// listen connects v by its edges that carry refresh. Of two vertices that the part brings, that below does it.
func (s *swap) listen(v *vertex, brought map[*vertex][]tie) {
	l := &s.r.loop
	loud := map[int32]uint8{} // by peer: which of its edges to v carry refresh, by their direction
	for _, t := range v.ties {
		if t.is(tieNotify) {
			loud[t.peer] |= 1 << (t.flags & tieOut)
		}
	}
	says := func(n *vertex, out uint8) bool {
		return slices.ContainsFunc(n.ties, func(t tie) bool { return t.peer == v.slot && t.is(tieNotify) && t.flags&tieOut == out })
	}
	for _, slot := range l.m.Above(v.slot) {
		if n := l.bySlot[slot]; loud[slot]&1 != 0 || says(n, tieOut) {
			n.refreshes(v)
		}
	}
	for _, slot := range l.m.Below(v.slot) {
		n := l.bySlot[slot]
		if _, also := brought[n]; !also && (loud[slot]&2 != 0 || says(n, 0)) {
			v.refreshes(n)
		}
	}
}

// refreshes notes that a change of v refreshes another vertex, where that can be refreshed.
func (v *vertex) refreshes(to *vertex) {
	if to.abil.Refreshable && !to.meta.Hidden {
		own, its := v.ownLinks(), to.ownLinks()
		own.notify = append(own.notify, to)
		its.listens = append(its.listens, v)
		v.promise(to)
	}
}

// referrer returns a vertex that stays and needs v, or "". The needs of a brought vertex stand in its new declaration.
func (s *swap) referrer(v *vertex, goes map[string]bool) string {
	brings := func(id string) bool {
		i, ok := s.g.Index(id)
		return ok && s.g.Value(i) != nil
	}
	for n := range s.around(v) {
		refers := slices.ContainsFunc(n.ties, func(t tie) bool { return t.peer == v.slot && !t.is(tieFree) })
		if refers && !goes[n.ID] && !brings(n.ID) {
			return n.ID
		}
	}
	for _, t := range v.sendsTo {
		if !goes[t.v.ID] && !brings(t.v.ID) {
			return t.v.ID
		}
	}
	for i, decl := range s.g.All() {
		if decl != nil && slices.ContainsFunc(decl.Recv, func(w resgraph.Wire) bool { return w.From.ID() == v.ID }) {
			return s.g.ID(i)
		}
	}
	return ""
}
