package transform

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// Parts is the graph that runs, as it was declared, open to changes of a part of it. Change says what becomes of the graph that
// runs, and Take notes that it is in effect.
//
// Law: after any sequence of changes the graph equals the graph that the steps make of the whole. The cost of a change is that of the part and of
// the vertices that ask for it. The first one after a whole graph makes an index of that, once. A change that this cannot do
// says so (Change.Whole): the whole graph then has to go through the steps again, as Whole returns it.
//
// Change and Take are for one goroutine at a time. The other methods are callable from any goroutine, also meanwhile.
type Parts struct {
	base    *resgraph.Graph // the last whole graph, with automatic edges, before AutoGroup
	grouped *resgraph.Graph // the same after AutoGroup
	known   *answers        // of base; nil without automatic edges
	odd     string          // why every change needs the whole graph; empty where none does

	ungrouped bool // AutoGroup is off

	once      sync.Once // of the index: the rest of this group
	prepared  atomic.Bool
	seed      maphash.Seed
	is, asked *sums                    // by number; nil before the first change
	groupable int                      // vertices that may be grouped
	owners    map[int32]int32          // by the number of a member of a group: that of the vertex that runs it; altered before the first change only
	below     map[int32]map[int32]bool // by number: the other ends of edges that came since base, gone ones too; see regroup

	mu      sync.RWMutex        // guards the rest against the other methods
	ids     []string            // of vertices that came after base, which have the numbers from base.Len() on
	numbers map[string]int32    // of those; a vertex of base has its index
	changed map[int32]*standing // by number: the vertices that were brought or removed since base
	drawn   *resgraph.Graph     // of Graph; nil where that has to draw it
}

// standing is one vertex that is not as in base, by numbers. An edge that belongs to neither end stands at one of them.
type standing struct {
	v    *resgraph.Vertex // nil for a vertex that was removed
	own  []graph.Edge     // the declared edges that belong to it
	auto []graph.Edge     // the automatic edges that it has asked for
}

// NewParts returns the Parts of a whole graph that has taken effect. Base has gone through all steps but AutoGroup, and grouped
// through that one too; they may be the same. The Memory has made its automatic edges and was told to Keep them; it is nil where
// there are none. With leftOut, a step has left an edge out, so that each change needs the whole graph.
func NewParts(base, grouped *resgraph.Graph, m *Memory, leftOut bool) *Parts {
	p := &Parts{base: base, grouped: grouped, numbers: map[string]int32{}, changed: map[int32]*standing{}, seed: maphash.MakeSeed()}
	if m != nil {
		if p.known = m.known; p.known == nil {
			p.known = newAnswers(base, p.seed)
		}
		p.seed = p.known.seed
	}
	if leftOut {
		p.odd = "an automatic edge was left out, because it would have closed a cycle"
	}
	return p
}

// number returns the number of a vertex that is there.
func (p *Parts) number(id string) (int32, bool) {
	n, ok := p.numbers[id]
	if !ok {
		var i int
		i, ok = p.base.Index(id)
		n = int32(i)
	}
	if !ok || p.vertex(n) == nil {
		return -1, false
	}
	return n, true
}

// id returns the id of a number.
func (p *Parts) id(n int32) string {
	if int(n) < p.base.Len() {
		return p.base.ID(int(n))
	}
	return p.ids[int(n)-p.base.Len()]
}

// vertex returns the vertex of a number, nil for a removed one.
func (p *Parts) vertex(n int32) *resgraph.Vertex {
	if st := p.changed[n]; st != nil {
		return st.v
	}
	return p.base.Value(int(n))
}

// Find returns the vertex under an id as it was declared, nil for none. It must not be altered.
func (p *Parts) Find(id string) *resgraph.Vertex {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if n, ok := p.number(id); ok {
		return p.vertex(n)
	}
	return nil
}

// Sharing yields the ids of the vertices that may have a UID with the hash of this one, in no order.
func (p *Parts) Sharing(u autoedge.UID) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, id := range p.sharing(u) {
			if !yield(id) {
				return
			}
		}
	}
}

// sharing looks by a sum of 32 bits, so it may return a vertex that only has the same sum. The caller compares.
func (p *Parts) sharing(u autoedge.UID) (ids []string) {
	h, ok := u.(hashed)
	if !ok {
		return nil
	}
	p.prepare()
	p.mu.RLock()
	defer p.mu.RUnlock()
	for n := range p.is.with(uint32(maphash.String(p.seed, h.Hash()))) {
		ids = append(ids, p.id(n))
	}
	return ids
}

// Receivers returns the ids of the vertices that receive values from the one with an id.
func (p *Parts) Receivers(id string) (ids []string) {
	for to := range p.After(id) {
		v := p.Find(to)
		if v != nil && slices.ContainsFunc(v.Recv, func(w resgraph.Wire) bool { return w.From.ID() == id }) {
			ids = append(ids, to)
		}
	}
	return ids
}

// IDs returns the ids of the resources in effect, those of the whole graph first. Vertices that only undo something are left out.
func (p *Parts) IDs() []string {
	list := make([]string, 0, p.base.Len())
	p.each(func(id string, _ *resgraph.Vertex) { list = append(list, id) })
	return list
}

// Asking returns the ids among IDs of those that leave only when somebody agrees.
func (p *Parts) Asking() (list []string) {
	p.each(func(id string, v *resgraph.Vertex) {
		if v.Res.MetaParams().Leaving == engine.LeavingAsk {
			list = append(list, id)
		}
	})
	return list
}

// each calls f with the vertices of IDs.
func (p *Parts) each(f func(id string, v *resgraph.Vertex)) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for n := range int32(p.base.Len() + len(p.ids)) {
		if v := p.vertex(n); v != nil && !v.Special().Once {
			f(p.id(n), v)
		}
	}
}

// Graph returns the graph that runs, at the cost of the whole where a part has changed since it was called before.
func (p *Parts) Graph() *resgraph.Graph {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.changed) == 0:
		return p.grouped
	case p.drawn == nil:
		p.drawn = p.draw(nil, true)
	}
	return p.drawn
}

// Grouped returns the last whole graph. A change of a group needs the whole graph, so its groups run.
func (p *Parts) Grouped() *resgraph.Graph { return p.grouped }

// Declared returns the graph that runs as it was declared, at the cost of the whole.
func (p *Parts) Declared() *resgraph.Graph {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.draw(nil, false)
}

// Prepare makes the index of the whole graph, which the first Change would make.
func (p *Parts) Prepare() { p.prepare() }

// Prepared reports whether there is such an index.
func (p *Parts) Prepared() bool { return p.prepared.Load() }

// prepare makes the index of the whole graph, once.
func (p *Parts) prepare() {
	p.once.Do(p.index)
}

// index makes the sums of all UIDs, and of all questions for UIDs, by vertex. It costs the whole graph once; after that a change costs its
// own vertices.
func (p *Parts) index() {
	is, asked := &rows[uint32]{}, &rows[uint32]{}
	for i, v := range p.base.All() {
		if p.known != nil && i < len(p.known.is.ends) {
			is.all = append(is.all, p.known.is.of(int32(i))...)
			asked.all = append(asked.all, p.known.asked.of(int32(i))...)
		}
		if !takesPart(v) || p.known == nil {
			is.all = append(is.all, p.sumsOf(uidsOf(v))...)
		}
		if v.Special().Once && p.odd == "" {
			p.odd = "something that has left the graph is undone"
		}
		p.groupable += groupable(v)
		is.end()
		asked.end()
	}
	p.findOwners()
	p.asked, p.is = newSums(asked), newSums(is)
	p.prepared.Store(true)
}

// takesPart reports whether a vertex takes part in automatic edges.
func takesPart(v *resgraph.Vertex) bool {
	m := engine.MetaOf(v.Res)
	return m.AutoEdges() && !m.Hidden
}

// groupable returns 1 for a vertex that AutoGroup may look at.
func groupable(v *resgraph.Vertex) int {
	r, ok := engine.As[engine.GroupableRes](v.Res)
	if !ok || keepsAlone(engine.MetaOf(v.Res)) != nil {
		return 0
	}
	if key, err := groupKeyOf(r); err != nil || key == "" {
		return 0
	}
	return 1
}

// uidsOf asks a resource for its UIDs. A fault of it is noted where automatic edges are made.
func uidsOf(v *resgraph.Vertex) (uids []autoedge.UID) {
	r, ok := engine.As[engine.EdgeableRes](v.Res)
	if !ok {
		return nil
	}
	if err := callsafe.Do("UIDs", func() error { uids = r.UIDs(); return nil }); err != nil {
		return nil
	}
	return uids
}

// sumsOf returns the sums of UIDs with a Hash.
func (p *Parts) sumsOf(uids []autoedge.UID) (list []uint32) {
	for _, u := range uids {
		if h, ok := u.(hashed); ok {
			_ = callsafe.Do("Hash", func() error { list = append(list, uint32(maphash.String(p.seed, h.Hash()))); return nil })
		}
	}
	return list
}

// baseEdges yields the declarations of base around one of its vertices that still hold, but for those whose owner has changed.
func (p *Parts) baseEdges(n int32) iter.Seq[graph.Edge] {
	return func(yield func(graph.Edge) bool) {
		if int(n) >= p.base.Len() {
			return
		}
		some := func(from, to int32) bool {
			for e := range p.base.Declarations(int(from), int(to)) {
				if p.holds(e) && !yield(e) {
					return false
				}
			}
			return true
		}
		for _, from := range p.base.Pred(int(n)) {
			if !some(from, n) {
				return
			}
		}
		for _, to := range p.base.Succ(int(n)) {
			if !some(n, to) {
				return
			}
		}
	}
}

// holds reports whether a declaration of base still counts: its owner has not changed, and the other end is there.
func (p *Parts) holds(e graph.Edge) bool {
	at, other := int32(e.To), int32(e.From)
	if e.By == graph.ByFrom {
		at, other = other, at
	}
	return p.changed[at] == nil && p.vertex(other) != nil
}

// automatic reports whether AutoEdge has added an edge to base.
func (p *Parts) automatic(e graph.Edge) bool {
	if !e.Implied || e.By == graph.ByNeither {
		return false
	}
	receives := e.By == graph.ByTo && !e.Notify && slices.ContainsFunc(p.base.Value(e.To).Recv, func(w resgraph.Wire) bool { return w.From.ID() == p.base.ID(e.From) })
	return !receives
}

// stands returns how a vertex stands, which is not altered.
func (p *Parts) stands(n int32) *standing {
	if st := p.changed[n]; st != nil {
		return st
	}
	st := &standing{v: p.base.Value(int(n))}
	for e := range p.baseEdges(n) {
		switch mine := e.By == graph.ByFrom && e.From == int(n) || e.By != graph.ByFrom && e.To == int(n); {
		case !mine:
		case p.automatic(e):
			st.auto = append(st.auto, e)
		default:
			st.own = append(st.own, e)
		}
	}
	return st
}

// draw returns the whole graph, with a change that is not in effect (nil for none). With auto it has automatic edges and groups.
func (p *Parts) draw(c *Change, auto bool) *resgraph.Graph {
	at := func(n int32) *standing {
		if c != nil && c.news[n] != nil {
			return c.news[n]
		}
		return p.changed[n]
	}
	total, fresh := int32(p.base.Len()+len(p.ids)), []string(nil)
	if c != nil {
		fresh = c.fresh
	}
	g := graph.New[*resgraph.Vertex](p.base.Name)
	g.Grow(int(total)+len(fresh), p.base.EdgeCount())
	places := make([]int, int(total)+len(fresh))
	for n := range int32(len(places)) {
		var id string
		if n < total {
			id = p.id(n)
		} else {
			id = fresh[n-total]
		}
		switch v := p.formOf(n, at(n), auto); {
		case auto && p.runsAs(n) != n:
			places[n] = places[p.runsAs(n)] // was declared before its members
		case v == nil || !auto && v.Special().Once:
			places[n] = -1
		default:
			places[n], _ = g.Add(id, v) // unique: of a removed id, the number is another one
		}
	}
	connect := func(e graph.Edge) {
		if e.From, e.To = places[e.From], places[e.To]; e.From >= 0 && e.To >= 0 {
			_ = g.Connect(e) // both are there, and are two
		}
	}
	for e := range p.base.Declared() {
		if at(ownerOf(e)) == nil && (auto || !p.automatic(e)) {
			connect(e)
		}
	}
	p.connectChanged(c, auto, connect)
	return g
}

// formOf returns the vertex of a number as it is drawn, nil for none: as it stands, and with its group where that is asked for.
func (p *Parts) formOf(n int32, st *standing, group bool) *resgraph.Vertex {
	switch {
	case st != nil:
		return st.v
	case int(n) >= p.base.Len():
		return nil
	case group && len(p.owners) > 0:
		if i, ok := p.grouped.Index(p.base.ID(int(n))); ok {
			return p.grouped.Value(i)
		}
	}
	return p.base.Value(int(n))
}

// connectChanged connects the edges of vertices that are not as in base.
func (p *Parts) connectChanged(c *Change, auto bool, connect func(graph.Edge)) {
	all := p.changed
	if c != nil {
		all = maps.Clone(p.changed)
		maps.Copy(all, c.news)
	}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		for _, e := range all[n].own {
			connect(e)
		}
		if auto {
			for _, e := range all[n].auto {
				connect(e)
			}
		}
	}
}

// After yields the vertices that a declared edge leads to from the one with an id, each with the id of the vertex that owns the edge;
// the owner is empty for an edge that belongs to neither end. Automatic edges are left out.
func (p *Parts) After(id string) iter.Seq2[string, string] {
	return func(yield func(id, owner string) bool) {
		for _, e := range p.after(id) {
			if !yield(e.to, e.owner) {
				return
			}
		}
	}
}

// ends are the ids of a declared edge's target, and of the vertex that has declared it.
type ends struct{ to, owner string }

// after returns the declared edges that begin at a vertex.
func (p *Parts) after(id string) (list []ends) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n, ok := p.number(id)
	if !ok {
		return nil
	}
	add := func(e graph.Edge) {
		x := ends{to: p.id(int32(e.To))}
		if e.By != graph.ByNeither {
			x.owner = p.id(ownerOf(e))
		}
		list = append(list, x)
	}
	for e := range p.baseEdges(n) {
		if e.From == int(n) && !p.automatic(e) {
			add(e)
		}
	}
	for _, st := range p.changed {
		for _, e := range st.own {
			if e.From == int(n) && p.vertex(int32(e.To)) != nil {
				add(e)
			}
		}
	}
	return list
}

// Group returns the resource of the graph that runs which runs the given one, and the other members of its automatic group, in
// their order. A resource that is in no group runs itself, and there are no others. ok is false where the graph has no such resource.
func (p *Parts) Group(id string) (owner string, members []string, ok bool) {
	i, ok := resgraph.Find(p.grouped, id)
	if !ok || len(p.grouped.Value(i).Special().Group) == 0 {
		return id, nil, p.Find(id) != nil
	}
	for _, m := range p.grouped.Value(i).Special().Group {
		members = append(members, m.Res.String())
	}
	return p.grouped.ID(i), members, true
}

// Owner returns the resource that runs another one; the id itself where the graph that runs does not have it.
func (p *Parts) Owner(id string) string {
	if i, ok := resgraph.Find(p.grouped, id); ok && id != "" {
		return p.grouped.ID(i)
	}
	return id
}
