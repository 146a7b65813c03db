package transform

import (
	"context"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// askEdges asks the vertices of the part for their automatic edges, and those that had asked for something that is another thing now. It
// also asks those to which a declared edge comes or goes, since a declared edge stands for an automatic one.
func (c *Change) askEdges(ctx context.Context, h engine.Host) error {
	if c.p.known == nil {
		return nil
	}
	askers := slices.Clone(c.order)
	for _, sum := range slices.Sorted(maps.Keys(c.touched)) {
		for n := range c.p.asked.with(sum) {
			if c.vertex(n) != nil && !slices.Contains(c.order, n) {
				askers = append(askers, n)
			}
		}
	}
	askers = append(askers, c.rewired()...)
	slices.Sort(askers)
	askers = slices.Compact(askers)
	if len(askers) == 0 {
		return nil
	}
	if !slices.ContainsFunc(askers, c.mayAsk) {
		c.settle(&round{one: &edgeQueries{}}, askers)
		return nil
	}
	members := slices.Clone(askers)
	for {
		r := c.round(ctx, h, askers, members)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if more := c.lacking(r, members); len(more) > 0 {
			members = append(members, more...)
			continue
		}
		if len(r.one.loose) > 0 {
			c.Whole = "a resource of the part asks for what no index answers"
			return nil
		}
		c.Notes = *r.one.n
		c.settle(r, askers)
		return nil
	}
}

// mayAsk reports whether a vertex may ask for edges.
func (c *Change) mayAsk(n int32) bool {
	_, ok := engine.As[engine.EdgeableRes](c.vertex(n).Res)
	return ok
}

// rewired returns the running vertices to which a declared edge of the part comes, or from which it goes.
func (c *Change) rewired() (list []int32) {
	type end struct {
		other  int32
		out    bool
		notify bool
	}
	for _, n := range c.order {
		differ := map[end]int{}
		count := func(own []graph.Edge, by int) {
			for _, e := range own {
				differ[end{int32(e.From+e.To) - n, int32(e.From) == n, e.Notify}] |= by
			}
		}
		if count(c.news[n].own, 1); c.known(n) {
			count(c.p.stands(n).own, 2)
		}
		for x, by := range differ {
			if by != 3 && c.known(x.other) && c.vertex(x.other) != nil && !slices.Contains(c.order, x.other) {
				list = append(list, x.other)
			}
		}
	}
	return list
}

// round is one asking of a small graph, which has the askers and all that they may find.
type round struct {
	one    *edgeQueries
	places map[int32]int32 // by number: the index in the small graph
	asked  []int32         // the indices of those that were asked, in order
}

// round asks once.
func (c *Change) round(ctx context.Context, h engine.Host, askers, members []int32) *round {
	r := &round{places: make(map[int32]int32, len(members))}
	g := graph.New[*resgraph.Vertex](c.part.Name)
	for _, n := range members {
		at, _ := g.Add(c.id(n), c.vertex(n)) // each number once
		r.places[n] = int32(at)
	}
	c.declareBetween(g, r.places, askers)
	all := &edgeQueries{g: g, n: &Notes{}, index: newIndex(g)}
	all.index.seed = c.p.seed
	edgeable := all.edgeable()
	all.answers = newAnswers(g, c.p.seed)
	if h != nil {
		all.survey(ctx, h, edgeable)
	}
	all.describeAll(edgeable)
	r.one = &edgeQueries{g: g, n: all.n, index: all.index, answers: all.answers, surveyed: all.surveyed, budget: maxCompared, names: map[string]bool{}}
	for _, n := range askers {
		at := r.places[n]
		if _, ok := slices.BinarySearch(edgeable, at); !ok || ctx.Err() != nil {
			continue
		}
		r.one.ask(at)
		r.one.asked.end()
		r.asked = append(r.asked, at)
	}
	return r
}

// declareBetween connects the declared edges between the askers and the members of a small graph.
func (c *Change) declareBetween(g *resgraph.Graph, places map[int32]int32, askers []int32) {
	connect := func(e graph.Edge) {
		from, ok1 := places[int32(e.From)]
		to, ok2 := places[int32(e.To)]
		if ok1 && ok2 {
			e.From, e.To = int(from), int(to)
			_ = g.Connect(e) // both are there, and are two
		}
	}
	for _, n := range askers {
		if !c.known(n) {
			continue
		}
		for e := range c.p.baseEdges(n) {
			if c.news[ownerOf(e)] == nil && !c.p.automatic(e) {
				connect(e)
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(places)) {
		st := c.news[n]
		if st == nil {
			st = c.p.changed[n]
		}
		if st != nil {
			for _, e := range st.own {
				connect(e)
			}
		}
	}
}

// lacking returns the vertices that may answer a question of a round, and were not among its members.
func (c *Change) lacking(r *round, members []int32) (more []int32) {
	add := func(n int32) {
		if _, in := r.places[n]; !in && c.vertex(n) != nil {
			more = append(more, n)
		}
	}
	for _, sum := range r.one.asked.all {
		for n := range c.p.is.with(sum) {
			add(n)
		}
	}
	for id := range r.one.names {
		if n, ok := c.number(id); ok {
			add(n)
		}
	}
	for _, n := range c.order { // new ones have no sums yet
		add(n)
	}
	slices.Sort(more)
	return slices.Compact(more)
}

// settle notes the automatic edges that the askers have now. Those whose edges differ are brought too.
func (c *Change) settle(r *round, askers []int32) {
	numbers := make([]int32, len(r.places))
	for n, at := range r.places {
		numbers[at] = n
	}
	auto := map[int32][]graph.Edge{}
	for _, w := range r.one.wanted {
		e := w.edge()
		e.From, e.To = int(numbers[w.from]), int(numbers[w.to])
		auto[numbers[w.asker]] = append(auto[numbers[w.asker]], e)
	}
	row := make(map[int32]int32, len(r.asked))
	for k, at := range r.asked {
		row[at] = int32(k)
	}
	for _, n := range askers {
		at := r.places[n]
		if k, ok := row[at]; ok {
			c.asked[n] = slices.Clone(r.one.asked.of(k))
			c.is[n] = slices.Concat(c.is[n], r.one.answers.is.of(at))
		} else {
			c.asked[n] = nil
		}
		if st := c.news[n]; st != nil {
			st.auto = auto[n]
			continue
		}
		was := c.p.stands(n)
		if !sameEdges(was.auto, auto[n]) {
			c.news[n] = &standing{v: was.v, own: was.own, auto: auto[n]}
		}
	}
}

// sameEdges reports whether two lists of automatic edges do the same.
func sameEdges(a, b []graph.Edge) bool {
	type does struct {
		from, to      int
		notify, named bool
	}
	more := map[does]int{}
	for _, e := range a {
		more[does{e.From, e.To, e.Notify, e.Name != ""}]++
	}
	for _, e := range b {
		more[does{e.From, e.To, e.Notify, e.Name != ""}]--
	}
	for _, n := range more {
		if n != 0 {
			return false
		}
	}
	return true
}

// copyOf returns a copy of a resource that may be grouped, as it was declared; nil where it can't be copied.
func (p *Parts) copyOf(id string, res engine.Res) engine.Res {
	meta := *res.MetaParams()
	if i, ok := p.grouped.Index(id); ok {
		owner := p.grouped.Value(i)
		if alone := owner.Special().Alone; alone != nil && owner.Res.MetaParams() == res.MetaParams() { // a changed one has others
			meta = *alone
		}
	}
	made, err := lifecycle.Copy(res, &meta)
	if err != nil {
		return nil
	}
	return made
}
