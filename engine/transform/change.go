package transform

import (
	"cmp"
	"context"
	"hash/maphash"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/targets"
	"github.com/reactivegraph/mgmt/graph"
)

// Change is a change of a part, as Parts.Change has found it out.
type Change struct {
	// Part is for reactor.Stage: the vertices of the part, and those whose automatic edges alter. A vertex without
	// a value stands for a running one.
	Part   *resgraph.Graph
	Remove []string

	// Whole says why the whole graph has to go through the steps again; empty where Part and Remove do. Then take the graph
	// of Parts.Whole.
	Whole string

	Notes Notes // of the automatic edges

	p        *Parts
	grouping bool // there are groups, or may be after the change
	part     *resgraph.Graph
	fresh    []string            // the ids of new numbers, in their order
	news     map[int32]*standing // the new forms of vertices, by number
	order    []int32             // the numbers that the part brings
	gone     []int32
	asked    map[int32][]uint32
	is       map[int32][]uint32

	touched map[uint32]bool // the sums of the things that are others now
	uids    []autoedge.UID  // of the same
}

// Change finds out what becomes of the graph that runs when a part comes and the vertices with some ids go, and alters nothing. The
// part may be nil; of its vertices, those without a value stand for running ones. All ids must be there. An error is the cause of the
// end of ctx. The host may be nil; see AutoEdge.
func (p *Parts) Change(ctx context.Context, h engine.Host, part *resgraph.Graph, remove ...string) (*Change, error) {
	p.prepare()
	if part == nil {
		part = graph.New[*resgraph.Vertex](p.base.Name)
	}
	n := part.Len() + len(remove)
	c := &Change{
		p: p, part: part, Remove: remove, Whole: p.odd,
		news: make(map[int32]*standing, n), asked: make(map[int32][]uint32, n), is: make(map[int32][]uint32, n), touched: map[uint32]bool{},
	}
	c.remove()
	c.bring()
	c.judge()
	if c.Whole != "" {
		return c, nil
	}
	if err := c.askEdges(ctx, h); err != nil || c.Whole != "" {
		return c, err
	}
	if c.regroup(); c.Whole != "" {
		return c, nil
	}
	c.compile()
	return c, nil
}

// Take notes that a change is in effect.
func (p *Parts) Take(c *Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawn = nil
	for _, id := range c.fresh {
		p.numbers[id] = int32(p.base.Len() + len(p.ids))
		p.ids = append(p.ids, id)
	}
	for n, st := range c.news {
		if int(n) < p.base.Len() || p.changed[n] != nil {
			if was := p.vertex(n); was != nil {
				p.groupable -= groupable(was)
			}
		}
		if st.v != nil {
			p.groupable += groupable(st.v)
		} else {
			p.is.set(n, nil)
			p.asked.set(n, nil)
		}
		p.changed[n] = st
	}
	p.noteBelow(c)
	for n, list := range c.is {
		p.is.set(n, list)
	}
	for n, list := range c.asked {
		p.asked.set(n, list)
	}
}

// Whole returns the whole graph with a change, as it was declared: without automatic edges, groups and undoings. A
// resource that may be grouped is a copy, since AutoGroup alters those.
func (p *Parts) Whole(c *Change) *resgraph.Graph {
	g := p.draw(c, false)
	for i, v := range g.All() {
		if groupable(v) == 0 {
			continue
		}
		if res := p.copyOf(g.ID(i), v.Res); res != nil {
			alone := *v
			alone.Res = res
			g.SetValue(i, &alone)
		}
	}
	return g
}

// Brought yields the vertices that the part brings, by their ids.
func (c *Change) Brought() iter.Seq2[string, *resgraph.Vertex] {
	return func(yield func(string, *resgraph.Vertex) bool) {
		for i, v := range c.part.All() {
			if v != nil && !yield(c.part.ID(i), v) {
				return
			}
		}
	}
}

// Referrers yields vertices that go, each with another vertex that has declared an edge to it, stays and is not brought. With a Part it
// looks only at the vertices of that: the reactor looks at the others.
func (c *Change) Referrers() iter.Seq2[string, string] {
	return func(yield func(gone, by string) bool) {
		if len(c.gone) == 0 {
			return
		}
		for n, st := range c.news {
			if c.Part != nil && st.v != nil && !slices.Contains(c.order, n) && !c.refersTo(n, st.own, yield) {
				return
			}
		}
		if c.Part != nil {
			return
		}
		for n, st := range c.p.changed {
			if st.v != nil && c.news[n] == nil && !c.refersTo(n, st.own, yield) {
				return
			}
		}
		for _, n := range c.gone {
			for e := range c.p.baseEdges(n) {
				owner := ownerOf(e)
				if owner != n && e.By != graph.ByNeither && c.news[owner] == nil && !c.p.automatic(e) && !yield(c.id(n), c.id(owner)) {
					return
				}
			}
		}
	}
}

// ownerOf returns the number at which an edge stands.
func ownerOf(e graph.Edge) int32 {
	if e.By == graph.ByFrom {
		return int32(e.From)
	}
	return int32(e.To)
}

// refersTo yields the vertices that go at the other ends of edges that belong to vertex n, with n. It returns what yield does.
func (c *Change) refersTo(n int32, own []graph.Edge, yield func(gone, by string) bool) bool {
	for _, e := range own {
		other := int32(e.From+e.To) - n
		if e.By != graph.ByNeither && slices.Contains(c.gone, other) && !yield(c.id(other), c.id(n)) {
			return false
		}
	}
	return true
}

// remove notes the vertices that go.
func (c *Change) remove() {
	for _, id := range c.Remove {
		n, ok := c.p.number(id)
		if !ok || c.news[n] != nil {
			continue
		}
		c.gone = append(c.gone, n)
		c.news[n] = &standing{}
		c.touch(n)
	}
}

// bring notes the vertices of the part and their declared edges.
func (c *Change) bring() {
	p := c.p
	numbers := make([]int32, c.part.Len())
	mine := make(map[int32]bool, c.part.Len())
	for i, v := range c.part.All() {
		n, ok := p.number(c.part.ID(i))
		if !ok {
			n = int32(p.base.Len() + len(p.ids) + len(c.fresh))
			c.fresh = append(c.fresh, c.part.ID(i))
		}
		if numbers[i] = n; v != nil {
			c.order, mine[n] = append(c.order, n), true
		}
	}
	for i, v := range c.part.All() {
		if n := numbers[i]; v != nil {
			st := &standing{v: v, own: c.free(n, mine)}
			c.news[n] = st
		}
	}
	for e := range c.part.Declared() {
		at := numbers[e.To]
		if e.By == graph.ByFrom || !mine[at] {
			at = numbers[e.From]
		}
		if !mine[at] {
			at = numbers[e.To]
		}
		e.From, e.To = int(numbers[e.From]), int(numbers[e.To])
		c.news[at].own = append(c.news[at].own, e)
	}
	for _, n := range c.order {
		c.describe(n)
	}
}

// free returns the edges that stand at a vertex, belong to neither end, and stay: those to vertices that the part does not bring.
func (c *Change) free(n int32, mine map[int32]bool) (list []graph.Edge) {
	if !c.known(n) {
		return nil
	}
	for _, e := range c.p.stands(n).own {
		if e.By == graph.ByNeither && !mine[int32(e.From+e.To)-n] {
			list = append(list, e)
		}
	}
	return list
}

// known reports whether a number was given out before the change.
func (c *Change) known(n int32) bool { return int(n) < c.p.base.Len()+len(c.p.ids) }

// vertex returns the vertex of a number after the change, nil for none.
func (c *Change) vertex(n int32) *resgraph.Vertex {
	if st := c.news[n]; st != nil {
		return st.v
	}
	return c.p.vertex(n)
}

// id returns the id of a number after the change.
func (c *Change) id(n int32) string {
	if c.known(n) {
		return c.p.id(n)
	}
	return c.fresh[int(n)-c.p.base.Len()-len(c.p.ids)]
}

// number returns the number of an id after the change.
func (c *Change) number(id string) (int32, bool) {
	if at := slices.Index(c.fresh, id); at >= 0 {
		return int32(c.p.base.Len() + len(c.p.ids) + at), true
	}
	n, ok := c.p.number(id)
	return n, ok && c.vertex(n) != nil
}

// describe notes the UIDs of a vertex of the part, and the questions that these touch.
func (c *Change) describe(n int32) {
	now := c.news[n].v
	uids := uidsOf(now)
	c.is[n] = c.p.sumsOf(uids)
	var was *resgraph.Vertex
	if c.known(n) {
		was = c.p.vertex(n)
	}
	if was != nil && alike(was, now, uids) {
		return
	}
	for _, sum := range c.is[n] {
		c.touched[sum] = true
	}
	c.uids = append(c.uids, uids...)
	c.touch(n)
}

// alike reports whether a vertex is for the questions of others what another one was. A survey may say more of a resource, which
// is not asked here.
func alike(was, now *resgraph.Vertex, uids []autoedge.UID) bool {
	_, surveyed := engine.As[engine.SurveyedRes](now.Res)
	return !surveyed && takesPart(was) == takesPart(now) && targets.Of(was.Res) == targets.Of(now.Res) &&
		isLeaving(was) == isLeaving(now) && reflect.DeepEqual(uidsOf(was), uids)
}

// isLeaving reports whether the thing of a vertex is to go.
func isLeaving(v *resgraph.Vertex) (yes bool) {
	if l, ok := engine.As[engine.LeavingRes](v.Res); ok {
		_ = callsafe.Do("Leaving", func() error { yes = l.Leaving(); return nil })
	}
	return yes
}

// touch notes that a number, which has a name, is another thing than before.
func (c *Change) touch(n int32) {
	c.touched[uint32(maphash.String(c.p.seed, c.id(n)))] = true
	if !c.known(n) {
		return
	}
	for sum := range c.p.is.of(n) {
		c.touched[sum] = true
	}
	if was := c.p.vertex(n); was != nil {
		c.uids = append(c.uids, uidsOf(was)...)
	}
}

// judge finds out whether the whole graph has to go through the steps again, before anything is asked.
func (c *Change) judge() {
	may, alters := c.p.groupable, ""
	for n, st := range c.news {
		if c.grouped(n) {
			alters = c.id(n)
		}
		if st.v != nil {
			may += groupable(st.v)
		}
		if !c.known(n) {
			continue
		}
		was := c.p.vertex(n)
		may -= groupable(was)
		if st.v == nil && engine.MetaOf(was.Res).Undoes() {
			c.Whole = cmp.Or(c.Whole, c.id(n)+" is undone when it leaves")
		}
	}
	c.grouping = !c.p.ungrouped && (may > 1 || len(c.p.owners) > 0)
	if c.grouping && alters != "" {
		c.Whole = cmp.Or(c.Whole, alters+" may run in a group")
	}
	if c.p.known == nil {
		return
	}
	for _, x := range c.p.known.loose {
		if c.p.changed[x.asker] == nil && slices.ContainsFunc(c.uids, func(u autoedge.UID) bool { return mayAnswer(x.uid, u) }) {
			c.Whole = cmp.Or(c.Whole, c.p.id(x.asker)+" asks for "+x.uid.String()+", which no index answers")
		}
	}
}

// mayAnswer reports whether a UID may be what a loose question asks for.
func mayAnswer(question, u autoedge.UID) (yes bool) {
	err := callsafe.Do("IFF or HashPrefix", func() error {
		if many, ok := question.(prefixUID); ok && isMany(many) {
			of, prefix := many.HashPrefix()
			h, hashes := u.(hashed)
			yes = hashes && reflect.TypeOf(of) == reflect.TypeOf(u) && autoedge.SpaceOf(of) == autoedge.SpaceOf(u) && strings.HasPrefix(h.Hash(), prefix)
			return nil
		}
		yes = u != nil && u.IFF(question)
		return nil
	})
	return yes || err != nil
}

// compile makes the part for the reactor.
func (c *Change) compile() {
	c.Part = graph.New[*resgraph.Vertex](c.part.Name)
	brought := slices.Clone(c.order)
	for _, n := range slices.Sorted(maps.Keys(c.news)) {
		if c.news[n].v != nil && !slices.Contains(c.order, n) {
			brought = append(brought, n)
		}
	}
	places := make(map[int32]int, len(brought))
	place := func(n int32, v *resgraph.Vertex) int {
		n = c.p.runsAs(n)
		at, ok := places[n]
		if !ok {
			at, _ = c.Part.Add(c.id(n), v) // unique: each has a number
			places[n] = at
		}
		return at
	}
	for _, n := range brought {
		place(n, c.news[n].v)
	}
	for _, n := range brought {
		for _, e := range slices.Concat(c.news[n].own, c.news[n].auto) {
			from, to := int32(e.From), int32(e.To)
			if c.vertex(from) != nil && c.vertex(to) != nil {
				e.From, e.To = place(from, nil), place(to, nil)
				_ = c.Part.Connect(e) // both are there, and are two
			}
		}
	}
}
