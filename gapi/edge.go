package gapi

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/graph"
)

// link is one edge between two items, by their indices.
type link struct {
	from, to        int32
	name            string
	word            string // how it was declared
	pos             schema.Pos
	notify, implied bool
	by              graph.Owner
}

// references makes the edges that a resource declares by itself.
func (b *builder) references(it *item) {
	for _, list := range []struct {
		word            string
		refs            []RefDecl
		notify, forward bool
	}{
		{"before", it.Before, false, true},
		{"depend", it.Depend, false, false},
		{"notify", it.Notify, true, true},
		{"listen", it.Listen, true, false},
	} {
		for _, r := range list.refs {
			other, ok := b.resolve(it, r.Ref, r.Pos, list.word)
			if !ok {
				continue
			}
			l := link{from: it.index, to: other.index, word: list.word, pos: r.Pos, notify: list.notify, by: graph.ByFrom}
			if !list.forward {
				l.from, l.to, l.by = l.to, l.from, graph.ByTo
			}
			b.links = append(b.links, l)
		}
	}
	b.fieldRefs(it)
}

// connect makes the edges that were declared by themselves.
func (b *builder) connect() {
	for _, e := range b.d.Edges {
		var nobody item
		from, ok1 := b.resolve(&nobody, e.From, orPos(e.FromPos, e.Pos), "from")
		to, ok2 := b.resolve(&nobody, e.To, orPos(e.ToPos, e.Pos), "to")
		if ok1 && ok2 {
			word := strings.TrimSpace("edge " + e.Name)
			b.links = append(b.links, link{from: from.index, to: to.index, name: e.Name, word: word, pos: e.Pos, notify: e.Notify})
		}
	}
}

// resolve finds the item that a reference names, or reports that there is none.
// The item of an unknown kind is found: that was reported already.
func (b *builder) resolve(it *item, r schema.Ref, pos schema.Pos, word string) (*item, bool) {
	kind := strings.ToLower(r.Kind)
	if other, ok := b.find(kind, r.Name); ok {
		return other, true
	}
	if b.d.Partial {
		return nil, false
	}
	id := schema.Ref{Kind: kind, Name: r.Name}.ID()
	b.add(schema.Diagnostic{
		Pos: pos, Resource: it.id,
		Message:    word + ": " + id + " is not in the graph",
		Suggestion: b.guess.near(id, b.items),
	})
	return nil, false
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

// join adds the links to the graph; index has the vertex of each item.
func (b *builder) join(g *engine.Graph) {
	g.Grow(0, len(b.links))
	direct := map[[2]int32]bool{} // pairs with a declared edge, where any is implied
	anyImplied := slices.ContainsFunc(b.links, func(l link) bool { return l.implied })
	for _, implied := range []bool{false, true} {
		for _, l := range b.links {
			if l.implied != implied {
				continue
			}
			ends := [2]int32{b.items[l.from].vertex, b.items[l.to].vertex}
			if implied && direct[ends] {
				continue
			}
			if !implied && anyImplied {
				direct[ends] = true
			}
			b.joinOne(g, l, ends)
		}
	}
	b.cycles(g)
}

func (b *builder) joinOne(g *engine.Graph, l link, ends [2]int32) {
	it := b.items[l.from]
	if ends[0] == ends[1] {
		b.errorf(it, l.pos, "%s: %s can't come before itself", l.word, it.id)
		return
	}
	to := b.items[l.to]
	if l.notify && to.info != nil && !to.info.Abilities.Refreshable {
		b.add(schema.Diagnostic{
			Severity: schema.Warning, Pos: l.pos, Resource: it.id,
			Message: l.word + ": " + to.id + " can't refresh, so notifying it does nothing",
		})
	}
	// The indices are good and the ends differ: it can't fail.
	_ = g.Connect(graph.Edge{From: int(ends[0]), To: int(ends[1]), Name: l.name, Notify: l.notify, Implied: l.implied, By: l.by, Pos: l.pos.String()})
}

// maxCycles bounds the cycles that are reported.
const maxCycles = 10

// cycles reports cycles, the shortest first: each one is cut out of a copy of the
// graph before the next is searched, so they share no edge.
func (b *builder) cycles(g *engine.Graph) {
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
func without(g *engine.Graph, cut map[[2]int]bool) *engine.Graph {
	c := graph.New[*engine.Vertex](g.Name)
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
	d := schema.Diagnostic{Message: c.Error(), Resource: c.Path[0]}
	n := len(c.Edges)
	for i := range n {
		if hidden := n - maxSteps; hidden > 0 && i >= maxSteps/2 && i < n-maxSteps/2 {
			if i == maxSteps/2 {
				d.Related = append(d.Related, schema.Related{Message: fmt.Sprintf("... and %d more edges ...", hidden)})
			}
			continue
		}
		l := b.linkBetween(c.Path[i], c.Path[i+1])
		d.Related = append(d.Related, schema.Related{Pos: l.pos, Message: shown(c.Path[i]) + " -> " + shown(c.Path[i+1]) + " (" + l.word + ")"})
	}
	d.Pos = d.Related[0].Pos
	b.add(d)
}

// shown returns an id as it stands in a line: quoted if it would garble that.
func shown(id string) string {
	if strings.ContainsFunc(id, unicode.IsControl) {
		return quote(id)
	}
	return id
}

// linkBetween returns the first declared link between two resources, else an
// implied one.
func (b *builder) linkBetween(from, to string) link {
	var found link
	for _, l := range b.links {
		if b.items[l.from].id != from || b.items[l.to].id != to {
			continue
		}
		if !l.implied {
			return l
		}
		found = l
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
