package gapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/graph"
)

// link is one edge between two vertices. A large graph has many: it takes 16 bytes.
type link struct {
	from, to        int32 // vertices of the graph
	how             int32 // see builder.howOf
	notify, implied bool
	by              graph.Owner
}

// how says how an edge was declared.
type how struct {
	name string
	word string
	pos  schema.Pos
}

// link takes an edge into the list. Most edges of a graph from Go are declared in the same way as the one before.
func (b *builder) link(l link, h how) {
	if n := len(b.hows); n == 0 || b.hows[n-1] != h {
		b.hows = append(b.hows, h)
	}
	l.how = int32(len(b.hows) - 1)
	b.links = append(b.links, l)
}

// howOf says how a link was declared. Edges that were declared by themselves are many, and say it themselves: of edge i, how is ^i.
func (b *builder) howOf(l link) how {
	if l.how >= 0 {
		return b.hows[l.how]
	}
	e := &b.d.Edges[^l.how]
	return how{name: e.Name, word: "edge", pos: e.Pos}
}

// said returns the word for an edge, with its name.
func (h how) said() string { return strings.TrimSpace(h.word + " " + h.name) }

// references makes the edges that a resource declares by itself.
func (b *builder) references(it *item) {
	if it.runs {
		return
	}
	if b.like == nil { // else they are as they were, and good
		b.refer(it, it.Before, "before", link{from: it.vertex, by: graph.ByFrom})
		b.refer(it, it.Depend, "depend", link{to: it.vertex, by: graph.ByTo})
	}
	b.refer(it, it.Notify, "notify", link{from: it.vertex, by: graph.ByFrom, notify: true})
	b.refer(it, it.Listen, "listen", link{to: it.vertex, by: graph.ByTo, notify: true})
	b.fieldRefs(it)
}

// refer makes the edges of one key. The end that declares them is in l.
func (b *builder) refer(it *item, refs []RefDecl, word string, l link) {
	for i := range refs {
		r := &refs[i]
		other := b.nextAhead()
		if other < 0 {
			var ok bool
			if other, ok = b.resolve(it, r.Ref, r.Pos, word); !ok {
				continue
			}
		}
		if l.by == graph.ByFrom {
			l.to = other
		} else {
			l.from = other
		}
		b.link(l, how{word: word, pos: r.Pos})
	}
}

// lookAhead finds the vertices that the references of a large graph name, on all processors. They stand in the order in which refer
// asks for them, with -1 for a reference that resolve has to judge.
func (b *builder) lookAhead() {
	if len(b.items) <= eachAtOnce || b.runs != nil {
		return
	}
	lists := make([][]int32, (len(b.items)+eachAtOnce-1)/eachAtOnce)
	var looking sync.WaitGroup
	for i := range lists {
		chunk := b.items[i*eachAtOnce : min((i+1)*eachAtOnce, len(b.items))]
		looking.Go(func() { lists[i] = namedBy(b.g, chunk) })
	}
	looking.Wait()
	b.ahead = slices.Concat(lists...)
}

// namedBy returns the vertices that the references of items name, or -1.
func namedBy(g *resgraph.Graph, items []*item) (found []int32) {
	n := 0
	for _, it := range items {
		n += len(it.Before) + len(it.Depend) + len(it.Notify) + len(it.Listen)
	}
	found = make([]int32, 0, n)
	var key []byte
	for _, it := range items {
		for _, refs := range [...][]RefDecl{it.Before, it.Depend, it.Notify, it.Listen} {
			for i := range refs {
				r := &refs[i].Ref
				key = schema.Ref{Kind: strings.ToLower(r.Kind), Name: r.Name}.AppendID(key[:0])
				at, ok := g.IndexBytes(key)
				if !ok {
					at = -1
				}
				found = append(found, int32(at))
			}
		}
	}
	return found
}

// nextAhead returns the vertex of the next reference, -1 where that was not looked up or found.
func (b *builder) nextAhead() int32 {
	if len(b.ahead) == 0 {
		return -1
	}
	at := b.ahead[0]
	b.ahead = b.ahead[1:]
	return at
}

// connect makes the edges that were declared by themselves.
func (b *builder) connect() {
	for i := range b.d.Edges {
		e := &b.d.Edges[i]
		var nobody item
		from, ok1 := b.resolve(&nobody, e.From.Ref(), e.PosOf(e.From), "from")
		to, ok2 := b.resolve(&nobody, e.To.Ref(), e.PosOf(e.To), "to")
		if ok1 && ok2 {
			b.links = append(b.links, link{from: from, to: to, notify: e.Notify, how: ^int32(i)})
		}
	}
}

// resolve finds the vertex that a reference names, or reports that there is none.
// That of an unknown kind is found: the kind was reported already.
func (b *builder) resolve(it *item, r schema.Ref, pos schema.Pos, word string) (int32, bool) {
	kind := strings.ToLower(r.Kind)
	if other, ok := b.find(kind, r.Name); ok {
		return other, true
	}
	if b.d.Partial {
		return -1, false
	}
	id := schema.Ref{Kind: kind, Name: r.Name}.ID()
	b.add(schema.Diagnostic{
		Pos: pos, Resource: it.id,
		Message:    word + ": " + id + " is not in the graph",
		Suggestion: b.guess.near(id, b.items),
	})
	return -1, false
}

// fieldRefs checks the references among the parameters of an item.
func (b *builder) fieldRefs(it *item) {
	if it.info == nil || !it.info.refers || it.res == nil || it.bad {
		return
	}
	v, err := schema.Encode(it.res)
	if err != nil {
		return // Validate will tell
	}
	b.walkRefs(it, it.info.Type, v, it.Value)
}

// walkRefs visits the references in a plain value of type t; n is its node, or
// nil.
func (b *builder) walkRefs(it *item, t *schema.Type, v any, n *schema.Node) {
	if !hasRef(t) {
		return
	}
	switch v := v.(type) {
	case schema.Ref:
		if !v.IsZero() {
			b.resolve(it, v, posOf(n, it.Pos), "reference")
		}
	case []any:
		for i, e := range v {
			var item *schema.Node
			if n != nil && i < len(n.Items) {
				item = n.Items[i]
			}
			b.walkRefs(it, t.Elem, e, orNode(item, n))
		}
	case map[string]any:
		for key, e := range v {
			elem := t.Elem
			if t.Kind == schema.KindStruct {
				elem = t.Field(key).Type
			}
			b.walkRefs(it, elem, e, orNode(n.Get(key), n))
		}
	}
}

func orNode(n, other *schema.Node) *schema.Node {
	if n == nil {
		return other
	}
	return n
}

func posOf(n *schema.Node, other schema.Pos) schema.Pos {
	if n == nil {
		return other
	}
	return orPos(n.Pos, other)
}

// join adds the links to the graph. An implied one is left out where the resource to which it belongs has declared the edge too.
func (b *builder) join(g *resgraph.Graph) {
	if b.like != nil {
		for _, l := range b.links {
			b.unheard(l)
		}
		return
	}
	g.Grow(0, len(b.links))
	direct := map[owned]bool{} // where any is implied
	anyImplied := slices.ContainsFunc(b.links, func(l link) bool { return l.implied })
	for _, implied := range []bool{false, true} {
		for _, l := range b.links {
			if l.implied != implied {
				continue
			}
			edge := owned{[2]int32{l.from, l.to}, l.by}
			if implied && direct[edge] {
				continue
			}
			if !implied && anyImplied {
				direct[edge] = true
			}
			b.joinOne(g, l)
		}
	}
	b.cycles(g)
}

// owned is a pair of vertices, and which of them an edge between them belongs to.
type owned struct {
	ends [2]int32
	by   graph.Owner
}

func (b *builder) joinOne(g *resgraph.Graph, l link) {
	h := b.howOf(l)
	if l.from == l.to {
		it := b.first[l.from]
		b.errorf(it, h.pos, "%s: %s can't come before itself", h.said(), it.id)
		return
	}
	b.unheard(l)
	// The indices are good and the ends differ: it can't fail.
	_ = g.Connect(graph.Edge{From: int(l.from), To: int(l.to), Name: h.name, Notify: l.notify, Implied: l.implied, By: l.by, Pos: h.pos.File, Line: h.pos.Line, Col: h.pos.Col})
}

// unheard warns of a notification of a vertex that can't refresh.
func (b *builder) unheard(l link) {
	if !l.notify {
		return
	}
	h, to := b.howOf(l), b.first[l.to]
	if to.info != nil && !to.info.Abilities.Refreshable {
		b.add(schema.Diagnostic{
			Severity: schema.Warning, Pos: h.pos, Resource: b.first[l.from].id,
			Message: h.said() + ": " + to.id + " can't refresh, so notifying it does nothing",
		})
	}
}

// maxCycles bounds the cycles that are reported.
const maxCycles = 10

// cycles reports cycles, the shortest first: each one is cut out of a copy of the
// graph before the next is searched, so they share no edge.
func (b *builder) cycles(g *resgraph.Graph) {
	cut := map[[2]int]bool{}
	for range maxCycles {
		c := g.Cycle()
		if c == nil {
			return
		}
		b.cycle(c)
		for _, e := range c.Edges {
			cut[[2]int{e.From, e.To}] = true
		}
		g = without(g, cut)
	}
}

// without returns a copy of the shape of a graph that lacks some edges.
func without(g *resgraph.Graph, cut map[[2]int]bool) *resgraph.Graph {
	c := graph.New[*resgraph.Vertex](g.Name)
	for _, id := range g.IDs() {
		_, _ = c.Add(id, nil) // unique, as in g
	}
	for e := range g.Edges() {
		if !cut[[2]int{e.From, e.To}] {
			_ = c.Connect(e) // good, as in g
		}
	}
	return c
}

// maxSteps bounds the edges of a cycle that are shown: half of them from its head,
// half from its tail.
const maxSteps = 20

// cycle reports one cycle as a path, with the place of each edge.
func (b *builder) cycle(c *graph.CycleError) {
	d := schema.Diagnostic{Message: c.Error(), Resource: b.dispensable(c.Path)}
	n := len(c.Edges)
	for i := range n {
		if hidden := n - maxSteps; hidden > 0 && i >= maxSteps/2 && i < n-maxSteps/2 {
			if i == maxSteps/2 {
				d.Related = append(d.Related, schema.Related{Message: fmt.Sprintf("... and %d more edges ...", hidden)})
			}
			continue
		}
		h := b.howBetween(c.Edges[i])
		d.Related = append(d.Related, schema.Related{Pos: h.pos, Message: shown(c.Path[i]) + " -> " + shown(c.Path[i+1]) + " (" + h.said() + ")"})
	}
	d.Pos = d.Related[0].Pos
	b.add(d)
}

// dispensable returns the first optional resource of a path, or its head where there is none.
func (b *builder) dispensable(path []string) string {
	for _, id := range path {
		if at, ok := b.g.Index(id); ok && at < len(b.first) && b.first[at].Optional {
			return id
		}
	}
	return path[0]
}

// shown returns an id as it stands in a line: quoted if it would garble that.
func shown(id string) string {
	if strings.ContainsFunc(id, unicode.IsControl) {
		return quote(id)
	}
	return id
}

// howBetween says how an edge was declared first, or implied if it was not declared.
func (b *builder) howBetween(e graph.Edge) how {
	var found how
	for _, l := range b.links {
		if int(l.from) != e.From || int(l.to) != e.To {
			continue
		}
		if !l.implied {
			return b.howOf(l)
		}
		found = b.howOf(l)
	}
	return found
}

// guesser suggests ids, within a bound on the work for all suggestions together.
type guesser struct {
	ids  []string
	work int
}

// maxGuesses bounds the ids that are compared in one Build, but for the first
// reference that leads nowhere: each costs a microsecond or two.
const maxGuesses = 1 << 17

func (g *guesser) near(id string, items []*item) string {
	if g.ids == nil {
		for _, it := range items {
			g.ids = append(g.ids, it.id)
		}
	}
	if g.work > maxGuesses {
		return ""
	}
	g.work += len(g.ids)
	return schema.Nearest(id, g.ids)
}
