package transform_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
)

// standing is a declared graph as data: what Parts must always be the same as.
type standing struct {
	names []string // in the order of declaration
	specs map[string]spec
	free  map[[2]string]bool // declared by themselves: whether they notify
}

// spec is one declared thing.
type spec struct {
	is, wants []string
	kind      int // 1: autoedge: false, 2: its UIDs have no hash, 3: it is to go, 4: it is hidden
	depend    []string
	notify    []string
}

func (m *standing) clone() *standing {
	c := &standing{names: slices.Clone(m.names), specs: map[string]spec{}, free: map[[2]string]bool{}}
	maps.Copy(c.specs, m.specs)
	maps.Copy(c.free, m.free)
	return c
}

func (s spec) vertex(name string) *resgraph.Vertex {
	x := &thing{is: s.is, wants: s.wants, slow: s.kind == 2, gone: s.kind == 3}
	x.SetKind("thing")
	x.SetName(name)
	x.MetaParams().AutoGroup = new(false)
	if s.kind == 1 {
		x.MetaParams().AutoEdge = new(false)
	}
	x.MetaParams().Hidden = s.kind == 4
	return &resgraph.Vertex{Res: x}
}

// graph builds the whole graph, or the part that brings some of it.
func (m *standing) graph(t *rapid.T, brings func(string) bool, free [][2]string) *resgraph.Graph {
	g := graph.New[*resgraph.Vertex]("g")
	at := func(name string) int {
		id := "thing[" + name + "]"
		if i, ok := g.Index(id); ok {
			return i
		}
		i, _ := g.Add(id, nil)
		return i
	}
	connect := func(e graph.Edge) {
		if err := g.Connect(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range m.names {
		if brings(name) {
			g.SetValue(at(name), m.specs[name].vertex(name))
		}
	}
	for _, name := range m.names {
		if !brings(name) {
			continue
		}
		for _, on := range m.specs[name].depend {
			connect(graph.Edge{From: at(on), To: at(name), By: graph.ByTo})
		}
		for _, to := range m.specs[name].notify {
			connect(graph.Edge{From: at(name), To: at(to), By: graph.ByFrom, Notify: true})
		}
	}
	for _, ends := range free {
		connect(graph.Edge{From: at(ends[0]), To: at(ends[1]), Notify: m.free[ends]})
	}
	return g
}

func (m *standing) whole(t *rapid.T) *resgraph.Graph {
	var free [][2]string
	for ends := range m.free {
		free = append(free, ends)
	}
	return m.graph(t, func(string) bool { return true }, free)
}

var texts = []string{"/", "/a", "/a/b", "/c", "/c/d"}

// change draws a part or a removal. It returns what the graph is then, the names that are brought or removed, and the free edges of the part.
func (m *standing) change(t *rapid.T) (next *standing, some []string, free [][2]string, removes bool) {
	next = m.clone()
	removes = rapid.IntRange(0, 3).Draw(t, "removes") == 0
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"})
	some = rapid.SliceOfNDistinct(name, 1, 3, rapid.ID).Draw(t, "some")
	if removes {
		some = slices.DeleteFunc(some, func(n string) bool { return !slices.Contains(m.names, n) })
	}
	in := func(n string) bool { return slices.Contains(some, n) }
	for ends := range m.free {
		if in(ends[0]) && in(ends[1]) || removes && (in(ends[0]) || in(ends[1])) {
			delete(next.free, ends)
		}
	}
	if removes {
		for _, n := range some {
			delete(next.specs, n)
		}
		next.names = slices.DeleteFunc(next.names, in)
		return next, some, nil, true
	}
	for _, n := range some {
		if !slices.Contains(next.names, n) {
			next.names = append(next.names, n)
		}
	}
	for _, n := range some {
		s := spec{kind: rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4}).Draw(t, "kind"), is: rapid.SliceOfN(rapid.SampledFrom(texts), 0, 2).Draw(t, "is")}
		s.wants = rapid.SliceOfN(rapid.SampledFrom([]string{"/", "/a", "/a/b", "/c", "!/a", "+/c", "!+/c/d", "@a", "@b", "!@c", "/a/*", "=/c"}), 0, 3).Draw(t, "wants")
		for _, other := range rapid.SliceOfN(rapid.SampledFrom(next.names), 0, 2).Draw(t, "edges") {
			switch {
			case other < n:
				s.depend = append(s.depend, other)
			case other > n:
				s.notify = append(s.notify, other)
			}
		}
		next.specs[n] = s
	}
	for range rapid.IntRange(0, 1).Draw(t, "free") {
		a, b := rapid.SampledFrom(some).Draw(t, "from"), rapid.SampledFrom(next.names).Draw(t, "to")
		if ends := [2]string{min(a, b), max(a, b)}; a != b {
			if _, there := next.free[ends]; !there {
				next.free[ends] = rapid.Bool().Draw(t, "loud")
				free = append(free, ends)
			}
		}
	}
	return next, some, free, false
}

// refers reports whether something that stays has declared an edge to what goes.
func (m *standing) refers(gone []string) bool {
	for name, s := range m.specs {
		if slices.Contains(gone, name) {
			continue
		}
		for _, other := range slices.Concat(s.depend, s.notify) {
			if slices.Contains(gone, other) {
				return true
			}
		}
	}
	return false
}

func sortedEdges(g *resgraph.Graph) []string { return slices.Sorted(slices.Values(edges(g))) }

// TestPartsAreTheWhole: after any sequence of changes Parts is the graph that the steps make of the whole. Seen failing with: change.go,
// touch: without the sums of before; free: without the condition; wish.go, lacking: without the names; settle: without the vertices
// whose edges differ.
func TestPartsAreTheWhole(t *testing.T) {
	cheap, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := &standing{specs: map[string]spec{}, free: map[[2]string]bool{}}
		var p *transform.Parts
		var memory transform.Memory
		var runs tied
		swap := func(g *resgraph.Graph) {
			n := &transform.Notes{}
			out, err := transform.Run(t.Context(), g, []transform.Step{memory.AutoEdge(nil, transform.Known{})}, n)
			if err != nil {
				t.Fatal(err)
			}
			memory.Keep()
			left := slices.ContainsFunc(n.List, func(n transform.Note) bool { return n.Kind == transform.EdgeLeftOut })
			p, runs = transform.NewParts(out, out, &memory, left), tiesOf(out)
		}
		swap(m.whole(t))
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			changed, some, free, removes := m.change(t)
			if removes && m.refers(some) {
				continue
			}
			var part *resgraph.Graph
			var ids []string
			if removes {
				for _, n := range some {
					ids = append(ids, "thing["+n+"]")
				}
			} else {
				part = changed.graph(t, func(n string) bool { return slices.Contains(some, n) }, free)
			}
			c, err := p.Change(t.Context(), nil, part, ids...)
			if err != nil {
				t.Fatal(err)
			}
			m, all = changed, all+1
			want, _ := apply(t, m.whole(t), transform.AutoEdge(nil))
			var next tied
			if c.Whole == "" {
				var cyclic bool
				next = runs.after(c)
				if _, cyclic = next.edges(); cyclic {
					c.Whole = "a cycle"
				}
			}
			if c.Whole != "" {
				swap(p.Whole(c))
			} else {
				cheap++
				p.Take(c)
				runs = next
			}
			unmarked := strings.NewReplacer("~!", "!", "~", " ")
			plain := sortedEdges(want)
			for i := range plain {
				plain[i] = unmarked.Replace(plain[i])
			}
			slices.Sort(plain)
			if got, _ := runs.edges(); !slices.Equal(got, plain) {
				t.Fatalf("by parts run (%s) %q\nwhole: %q", c.Whole, got, plain)
			}
			if got := sortedEdges(p.Graph()); !slices.Equal(got, sortedEdges(want)) {
				t.Fatalf("by parts (%s): %q\nwhole: %q", c.Whole, got, sortedEdges(want))
			}
			var order []string
			for _, n := range m.names {
				order = append(order, "thing["+n+"]")
			}
			if got := p.IDs(); !slices.Equal(got, order) {
				t.Fatalf("by parts %v, whole %v", got, order)
			}
		}
	})
	if cheap*3 < all {
		t.Errorf("only %d of %d changes went without the whole graph", cheap, all)
	}
}

// tied is the edges of the graph that runs, as the reactor keeps them.
type tied []tie

type tie struct {
	from, to string
	by       graph.Owner
	notify   bool
}

func tiesOf(g *resgraph.Graph) (list tied) {
	for e := range g.Declared() {
		list = append(list, tie{g.ID(e.From), g.ID(e.To), e.By, e.Notify})
	}
	return list
}

// after returns the edges after a change, by the law of reactor.Stage.
func (r tied) after(c *transform.Change) tied {
	brought := func(id string) bool {
		i, ok := c.Part.Index(id)
		return ok && c.Part.Value(i) != nil
	}
	gone := func(id string) bool { return slices.Contains(c.Remove, id) }
	next := slices.DeleteFunc(slices.Clone(r), func(t tie) bool {
		switch {
		case gone(t.from) || gone(t.to):
			return true
		case t.by == graph.ByFrom:
			return brought(t.from)
		case t.by == graph.ByTo:
			return brought(t.to)
		}
		return brought(t.from) && brought(t.to)
	})
	return append(next, tiesOf(c.Part)...)
}

// edges returns the edges, each once, and whether they close a cycle.
func (r tied) edges() (list []string, cyclic bool) {
	g := graph.New[*resgraph.Vertex]("")
	at := func(id string) int {
		if i, ok := g.Index(id); ok {
			return i
		}
		i, _ := g.Add(id, nil)
		return i
	}
	for _, t := range r {
		_ = g.Connect(graph.Edge{From: at(t.from), To: at(t.to), Notify: t.notify})
	}
	_, err := g.Sort()
	return sortedEdges(g), err != nil
}

// TestPartsAreReadMeanwhile: readers on other goroutines see each vertex in its old form or its new one, while parts take effect.
func TestPartsAreReadMeanwhile(t *testing.T) {
	var memory transform.Memory
	alone := func(is ...string) *thing {
		x := &thing{is: is}
		x.MetaParams().AutoGroup = new(false)
		return x
	}
	whole := build(t, map[string]*thing{"a": alone("/a"), "b": alone("/b")}, "a b")
	to := whole.Value(1)
	to.Recv = []resgraph.Wire{{Field: "x", From: schema.Ref{Kind: "thing", Name: "a", Key: "y"}}}
	if err := whole.Connect(graph.Edge{From: 0, To: 1, By: graph.ByTo, Implied: true}); err != nil {
		t.Fatal(err)
	}
	g, err := transform.Run(t.Context(), whole, []transform.Step{memory.AutoEdge(nil, transform.Known{})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory.Keep()
	p := transform.NewParts(g, g, &memory, false)
	shared := alone("/b").UIDs()[0]
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if got := slices.Collect(p.Sharing(shared)); !slices.Equal(got, []string{"thing[b]"}) {
					t.Errorf("sharing: %v", got)
				}
				if got := p.Receivers("thing[a]"); !slices.Equal(got, []string{"thing[b]"}) {
					t.Errorf("receivers: %v", got)
				}
				if p.Find("thing[a]") == nil {
					t.Error("thing[a] is lost")
				}
			}
		})
	}
	for i := range 200 {
		c, err := p.Change(t.Context(), nil, build(t, map[string]*thing{"c": alone(fmt.Sprint("/c", i))}, "c"))
		if err != nil || c.Whole != "" {
			t.Fatal(err, c.Whole)
		}
		p.Take(c)
	}
	close(over)
	readers.Wait()
}

// TestPartsNeedTheWhole: a change says why it can't do without the whole graph.
func TestPartsNeedTheWhole(t *testing.T) {
	alone := func(x *thing) *thing {
		x.MetaParams().AutoGroup = new(false)
		return x
	}
	for want, c := range map[string]struct {
		all     map[string]*thing
		brings  *thing
		removes string
	}{
		"":                              {map[string]*thing{"a": alone(&thing{})}, alone(&thing{is: []string{"/x"}}), ""},
		"thing[a] is undone when it le": {map[string]*thing{"a": func() *thing { x := alone(&thing{}); x.MetaParams().Reverse = true; return x }()}, nil, "thing[a]"},
		"thing[b] may run in a group":   {map[string]*thing{"a": {key: "k"}}, &thing{key: "k"}, ""},
		"thing[a] asks for":             {map[string]*thing{"a": alone(&thing{wants: []string{"/x/*"}})}, alone(&thing{is: []string{"/x/y"}}), ""},
		"a resource of the part asks":   {map[string]*thing{"a": alone(&thing{})}, alone(&thing{wants: []string{"/x/*"}}), ""},
	} {
		var memory transform.Memory
		g, err := transform.Run(t.Context(), build(t, c.all, "a"), []transform.Step{memory.AutoEdge(nil, transform.Known{})}, nil)
		if err != nil {
			t.Fatal(err)
		}
		memory.Keep()
		var part *resgraph.Graph
		var remove []string
		if c.brings != nil {
			part = build(t, map[string]*thing{"b": c.brings}, "b")
		} else {
			remove = []string{c.removes}
		}
		change, err := transform.NewParts(g, g, &memory, false).Change(t.Context(), nil, part, remove...)
		if err != nil || !strings.HasPrefix(change.Whole, want) || (want == "") != (change.Whole == "") {
			t.Errorf("%q: %q %v", want, change.Whole, err)
		}
	}
	if fmt.Sprint(transform.NewParts(build(t, nil, "a"), build(t, nil, "a"), nil, true).IDs()) != "[thing[a]]" {
		t.Error("the vertex is lost")
	}
}
