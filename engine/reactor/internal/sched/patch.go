package sched

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"slices"
)

// Patch is a change of a part of the topology.
type Patch struct {
	// N bounds the slots, as in Topology; it is no lower than before.
	N int
	// Removed vertices go, with all edges that they have. Added ones come; none of them may be
	// in a slot that is in use, nor in one of Removed.
	Removed, Added []Vertex
	// Batch are the batch keys of Added, in their order, or -1. Nil: none has one.
	Batch []int32
	// Cut are edges that go though both ends stay. Join are edges that come. An edge that is not
	// there, or is there already, does no harm. An edge in both is there afterwards.
	Cut, Join [][2]Vertex
}

// Patch changes a part of the topology, with the laws of Swap. It takes time in proportion to the part:
// its vertices and their edges, and the vertices below whose level rises. If an edge goes, it also
// takes a step for each unsettled vertex. Now and then it takes the time of a Swap, to tidy up.
func (m *Machine) Patch(p Patch) error {
	d, err := p.draft(m)
	if err == nil && untidy(m) {
		if err = m.Swap(topologyOf(m)); err == nil { // a topology in use has no fault
			d, err = p.draft(m)
		}
	}
	if err == nil {
		d.commit(p)
	}
	return err
}

// Try returns the error that Patch would return, and changes nothing.
func (p Patch) Try(m *Machine) error {
	_, err := p.draft(m)
	return err
}

// draft finds out what the Patch does.
func (p Patch) draft(m *Machine) (*draft, error) {
	if err := p.fits(m); err != nil {
		return nil, err
	}
	d := newDraft(m, p)
	if cycle := d.settle(p); cycle != nil {
		return nil, &CycleError{Path: cycle}
	}
	return d, nil
}

// commit puts the Patch into effect, of which this is the draft.
func (d *draft) commit(p Patch) {
	m := d.m
	m.seq++
	m.floor = m.seq
	loosened := d.loosened
	for _, v := range p.Removed {
		loosened = true
		d.evict(v)
	}
	m.grow(p.N)
	m.keys.add(p.Added, p.Batch, len(m.vs))
	m.addAll(p.Added)
	d.redraw()
	for _, v := range p.Added {
		d.admit(v)
	}
	for _, u := range slices.Sorted(maps.Keys(d.succ.rows)) {
		d.disturb(u)
	}
	if loosened {
		d.unparkAll()
	}
}

// untidy reports whether Patches have left so much waste, or levels so high, that a Swap pays.
func untidy(m *Machine) bool {
	used := len(m.vs) + len(m.pred.all) - m.pred.waste
	return m.pred.waste+m.succ.waste > 2*used+m.slack || m.depth > 2*len(m.vs)+m.slack
}

// fits reports whether the slots of a Patch are those in use, or not in use, as it needs.
func (p Patch) fits(m *Machine) error {
	if p.N < len(m.vs) || p.Batch != nil && len(p.Batch) != len(p.Added) {
		return fmt.Errorf("%w: %d slots and %d batch keys, where %d slots are in use and %d are added", ErrSlot, p.N, len(p.Batch), len(m.vs), len(p.Added))
	}
	stays := make(map[Vertex]bool, len(p.Removed)+len(p.Added))
	for _, v := range p.Removed {
		if was, twice := stays[v]; m.at(v) == nil || twice && !was {
			return fmt.Errorf("%w: %d is removed but not there", ErrSlot, v)
		}
		stays[v] = false
	}
	for _, v := range p.Added {
		_, twice := stays[v]
		if v < 0 || int(v) >= p.N || twice || m.at(v) != nil || int(v) < len(m.vs) && m.vs[v].is(zombie) {
			return fmt.Errorf("%w: %d is added but in use, or beyond %d slots", ErrSlot, v, p.N)
		}
		stays[v] = true
	}
	for _, edges := range [][][2]Vertex{p.Cut, p.Join} {
		for _, e := range edges {
			for _, v := range e {
				if in, ok := stays[v]; ok && !in || !ok && m.at(v) == nil {
					return fmt.Errorf("%w: an edge ends at %d, a hole", ErrSlot, v)
				}
			}
		}
	}
	return nil
}

// topologyOf returns the present one, without a difference.
func topologyOf(m *Machine) Topology {
	t := Topology{N: len(m.vs), Batch: m.keys.key, Edges: make([][2]Vertex, 0, len(m.succ.all)-m.succ.waste)}
	for v := range m.vs {
		for _, w := range m.succ.of(Vertex(v)) {
			t.Edges = append(t.Edges, [2]Vertex{Vertex(v), w})
		}
	}
	return t
}

// evict forgets v, and has the vertices that are parked on it looked at again.
func (d *draft) evict(v Vertex) {
	m := d.m
	x := &m.vs[v]
	if x.phase == phaseClean {
		m.recall(v)
		m.inPhase[phaseClean]--
	} else {
		m.leave(v)
		m.takeOut(v)
	}
	for x.park != none {
		w := x.park
		m.move(w, phaseDue)
		m.vs[w].by = none
		m.note(w)
	}
	m.forget(v)
	m.keys.forget(v)
}

// admit puts v, which is new, among those below which nothing has settled; disturb finds out
// whether that is true.
func (d *draft) admit(v Vertex) {
	m := d.m
	m.vs[v].set(virgin)
	m.open.add(v)
	m.vs.pushBack(inSet, &m.virgin, v)
	m.keys.awaitStart(v, 1)
}

// disturb takes u, and what is above it, from those below which nothing has settled, if something
// below u is not among them.
func (d *draft) disturb(u Vertex) {
	m := d.m
	if !m.vs[u].is(virgin) || allVirgin(m, m.succ.of(u)) && !slices.ContainsFunc(m.succ.of(u), func(v Vertex) bool { return m.vs[v].is(running) }) {
		return
	}
	m.stack = append(m.stack[:0], u)
	for len(m.stack) > 0 {
		v := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		x := &m.vs[v]
		if !x.is(virgin) {
			continue
		}
		m.vs.unlink(inSet, &m.virgin, v)
		x.clear(virgin)
		m.insert(v)
		m.stack = append(m.stack, m.pred.of(v)...)
	}
}

// unparkAll has all that is parked looked at again, ancestors first: the witness may be above it no longer.
func (d *draft) unparkAll() {
	m := d.m
	var parked []Vertex
	for v := range m.Unsettled() {
		if m.vs[v].phase == phaseParked {
			parked = append(parked, v)
		}
	}
	slices.SortFunc(parked, func(a, b Vertex) int {
		return cmp.Or(cmp.Compare(m.vs[a].level, m.vs[b].level), cmp.Compare(a, b))
	})
	for _, v := range parked {
		m.move(v, phaseDue)
		m.vs[v].by = none
		m.note(v)
	}
}

// redraw takes the rows and levels of the draft over.
func (d *draft) redraw() {
	m := d.m
	for v, row := range d.pred.rows {
		m.pred.set(v, row)
		x := &m.vs[v]
		x.cert, x.pos, x.left = 0, 0, 0
	}
	for v, row := range d.succ.rows {
		m.succ.set(v, row)
	}
	for v, level := range d.levels {
		if int(level) >= m.depth {
			m.depth = int(level) + 1
			m.levels.grow(m.depth)
		}
		x := &m.vs[v]
		if x.phase != phaseHole && x.phase != phaseClean && m.vs.linked(inSet, v) && !x.is(virgin) {
			m.levels.remove(x.level)
			m.levels.add(level)
		}
		x.level = level
	}
}

// draft is the topology after a Patch, as far as it differs from that before.
type draft struct {
	m          *Machine
	pred, succ draftRows
	levels     map[Vertex]int32
	was        map[Vertex]int32 // the levels before, of vertices whose level rises
	loosened   bool             // an edge has gone
}

// draftRows are rows of which some are replaced.
type draftRows struct {
	old    *rows
	rows   map[Vertex][]Vertex
	sorted bool // each row is ascending, and stays so
}

func (r *draftRows) of(v Vertex) []Vertex {
	if row, ok := r.rows[v]; ok {
		return row
	}
	if int(v) >= len(r.old.at) {
		return nil
	}
	return r.old.of(v)
}

// own returns the row of v, as one that may be altered.
func (r *draftRows) own(v Vertex) []Vertex {
	row, ok := r.rows[v]
	if !ok {
		row = slices.Clone(r.of(v))
	}
	return row
}

// add adds vertices to the row of v, as far as they are missing, in their order.
func (r *draftRows) add(v Vertex, list []Vertex) {
	row := r.own(v)
	if r.sorted {
		row = append(row, list...)
		slices.Sort(row)
		r.rows[v] = slices.Compact(row)
		return
	}
	there := setOf(row, len(list))
	for _, w := range list {
		if !there.has(row, w) {
			row = append(row, w)
			there.add(w)
		}
	}
	r.rows[v] = row
}

// remove takes vertices from the row of v, and reports whether one was there.
func (r *draftRows) remove(v Vertex, list []Vertex) bool {
	row := r.own(v)
	n := len(row)
	out := setOf(list, 0)
	row = slices.DeleteFunc(row, func(x Vertex) bool { return out.has(list, x) })
	r.rows[v] = row
	return len(row) < n
}

// longList is the length of a list from which on a set is quicker than a search.
const longList = 16

// set has the vertices of a long list. It is nil for a short one, which is searched.
type set map[Vertex]struct{}

// setOf returns the set of a list that so many others will join.
func setOf(list []Vertex, more int) set {
	if len(list)+more < longList {
		return nil
	}
	s := make(set, len(list)+more)
	for _, v := range list {
		s.add(v)
	}
	return s
}

// has reports whether v is in the list, or in the set of it.
func (s set) has(list []Vertex, v Vertex) bool {
	if s == nil {
		return slices.Contains(list, v)
	}
	_, in := s[v]
	return in
}

func (s set) add(v Vertex) {
	if s != nil {
		s[v] = struct{}{}
	}
}

// byEnd are the ends of edges, by the other end: above by the lower one, and below by the upper one.
type byEnd struct{ above, below map[Vertex][]Vertex }

// endsOf sorts edges by their ends. So each row is altered once, however many edges of it are.
func endsOf(edges [][2]Vertex) byEnd {
	if len(edges) == 0 {
		return byEnd{}
	}
	b := byEnd{map[Vertex][]Vertex{}, map[Vertex][]Vertex{}}
	for _, e := range edges {
		b.add(e[0], e[1])
	}
	return b
}

func (b byEnd) add(u, v Vertex) {
	b.above[v] = append(b.above[v], u)
	b.below[u] = append(b.below[u], v)
}

// newDraft makes the rows of the topology after p.
func newDraft(m *Machine, p Patch) *draft {
	n := len(p.Added) + len(p.Removed)
	d := &draft{
		m: m, levels: make(map[Vertex]int32, len(p.Added)), was: map[Vertex]int32{},
		pred: draftRows{old: &m.pred, rows: make(map[Vertex][]Vertex, n), sorted: true},
		succ: draftRows{old: &m.succ, rows: make(map[Vertex][]Vertex, n)},
	}
	d.drop(p.Removed)
	cut := endsOf(p.Cut)
	for v, list := range cut.above {
		if d.pred.remove(v, list) {
			d.loosened = true
		}
	}
	for u, list := range cut.below {
		d.succ.remove(u, list)
	}
	for _, v := range p.Added {
		d.pred.rows[v], d.succ.rows[v], d.levels[v] = nil, nil, 0
	}
	join := endsOf(p.Join)
	for v, list := range join.above {
		d.pred.add(v, list)
	}
	for u, list := range join.below {
		d.succ.add(u, list)
	}
	return d
}

// drop takes vertices out, with their edges.
func (d *draft) drop(removed []Vertex) {
	gone := byEnd{map[Vertex][]Vertex{}, map[Vertex][]Vertex{}}
	for _, v := range removed {
		for _, u := range d.pred.of(v) {
			gone.below[u] = append(gone.below[u], v)
		}
		for _, w := range d.succ.of(v) {
			gone.above[w] = append(gone.above[w], v)
		}
	}
	for w, list := range gone.above {
		d.pred.remove(w, list)
	}
	for u, list := range gone.below {
		d.succ.remove(u, list)
	}
	for _, v := range removed {
		d.pred.rows[v], d.succ.rows[v] = nil, nil
	}
}

func (d *draft) level(v Vertex) int32 {
	if l, ok := d.levels[v]; ok {
		return l
	}
	return d.m.vs[v].level
}

// settle finds levels for the added vertices, and raises those below the new edges where
// they have to rise. It returns a cycle if there is one.
func (d *draft) settle(p Patch) (cycle []Vertex) {
	d.place(p.Added)
	var r rising
	r.d, r.times = d, map[Vertex]int{}
	for _, e := range p.Join {
		if d.level(e[0]) >= d.level(e[1]) {
			r.most++
			r.lift(e[1], d.level(e[0])+1)
		}
	}
	for len(r.todo) > 0 {
		v := heap.Pop(&r).(rise).v
		for _, w := range d.succ.of(v) {
			if d.level(w) > d.level(v) {
				continue
			}
			if !r.lift(w, d.level(v)+1) {
				continue
			}
			if cycle := d.cycle(); cycle != nil {
				return cycle
			}
			r.most *= 2
		}
	}
	return nil
}

// rising are the vertices whose level has risen, and those below which it has to rise yet: first those
// whose level was lowest. So each comes up once, but for new edges that led from higher levels to lower ones.
type rising struct {
	d     *draft
	todo  []rise
	times map[Vertex]int
	most  int // how often a level may rise before it is looked whether there is a cycle
}

type rise struct {
	v   Vertex
	was int32
}

// lift raises the level of v. It reports whether it has risen suspiciously often.
func (r *rising) lift(v Vertex, level int32) bool {
	was, ok := r.d.was[v]
	if !ok {
		was = r.d.level(v)
		r.d.was[v] = was
	}
	if r.d.level(v) < level {
		r.d.levels[v] = level
		r.times[v]++
		heap.Push(r, rise{v, was})
	}
	return r.times[v] > r.most+1
}

func (r *rising) Len() int           { return len(r.todo) }
func (r *rising) Less(i, j int) bool { return r.todo[i].was < r.todo[j].was }
func (r *rising) Swap(i, j int)      { r.todo[i], r.todo[j] = r.todo[j], r.todo[i] }
func (r *rising) Push(x any)         { r.todo = append(r.todo, x.(rise)) }
func (r *rising) Pop() any {
	last := r.todo[len(r.todo)-1]
	r.todo = r.todo[:len(r.todo)-1]
	return last
}

// cycle returns a cycle among the vertices whose level has risen, nil if there is none.
func (d *draft) cycle() []Vertex {
	risen := make([]Vertex, 0, len(d.was))
	for v := range d.was {
		risen = append(risen, v)
	}
	wait := d.sort(risen, func(Vertex) {})
	stuck := none
	for v, n := range wait {
		if n > 0 && (stuck == none || v < stuck) {
			stuck = v
		}
	}
	if stuck == none {
		return nil
	}
	return walkBack(stuck, func(v Vertex) Vertex {
		return d.pred.of(v)[slices.IndexFunc(d.pred.of(v), func(u Vertex) bool { return wait[u] > 0 })]
	})
}

// place gives the added vertices their levels, each after those above it. A vertex on a cycle stays at 0.
func (d *draft) place(added []Vertex) {
	d.sort(added, func(v Vertex) {
		level := int32(0)
		for _, u := range d.pred.of(v) {
			level = max(level, d.level(u)+1)
		}
		d.levels[v] = level
	})
}

// sort calls do for the vertices of a set, each after those of the set that are above it. It returns for how many of those
// each vertex still waits: for none, unless it is on a cycle or after one.
func (d *draft) sort(set []Vertex, do func(Vertex)) (wait map[Vertex]int) {
	wait = make(map[Vertex]int, len(set))
	for _, v := range set {
		wait[v] = 0
	}
	for _, v := range set {
		for _, w := range d.succ.of(v) {
			if _, ok := wait[w]; ok {
				wait[w]++
			}
		}
	}
	ready := make([]Vertex, 0, len(set))
	for _, v := range set {
		if wait[v] == 0 {
			ready = append(ready, v)
		}
	}
	for len(ready) > 0 {
		v := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		do(v)
		for _, w := range d.succ.of(v) {
			if _, ok := wait[w]; ok {
				if wait[w]--; wait[w] == 0 {
					ready = append(ready, w)
				}
			}
		}
	}
	return wait
}
