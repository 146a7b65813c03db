package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
)

// drawn is a graph as data, so that it can be built in any order of declaration.
type drawn struct {
	n      int
	edges  [][2]int // from a lower to a higher number
	notify []bool
	wants  [][]want // by vertex
	is     []int    // what each says that it is
	gone   []int    // those that are not in the graph
	keys   []string
	metas  []int // 4: it takes no part, 5: it fails, 6: its UIDs have no hash, 7: it is to go
}

// want is one wish of a vertex.
type want struct {
	of     int // before itself if positive, else after, counted from 1; 0 for nobody
	notify bool
	byName bool
}

func (w want) String() string {
	text := ""
	if w.of < 0 {
		text = "!"
	}
	if w.notify {
		text += "+"
	}
	if w.byName {
		return fmt.Sprintf("%s@%02d", text, max(w.of, -w.of)-1)
	}
	return text + fmt.Sprint(max(w.of, -w.of))
}

func drawWant(n int) *rapid.Generator[want] {
	return rapid.Custom(func(t *rapid.T) want {
		return want{
			of:     rapid.IntRange(-n, n).Draw(t, "of"),
			notify: rapid.IntRange(0, 2).Draw(t, "refresh") == 0,
			byName: rapid.Bool().Draw(t, "byName"),
		}
	})
}

func draw(t *rapid.T) drawn {
	d := drawn{n: rapid.IntRange(1, 12).Draw(t, "n")}
	node := rapid.IntRange(0, d.n-1)
	for range rapid.IntRange(0, 14).Draw(t, "edges") {
		a, b := node.Draw(t, "a"), node.Draw(t, "b")
		if a != b {
			d.edges = append(d.edges, [2]int{min(a, b), max(a, b)})
			d.notify = append(d.notify, rapid.IntRange(0, 3).Draw(t, "notify") == 0)
		}
	}
	for range d.n {
		d.wants = append(d.wants, rapid.SliceOfN(drawWant(d.n), 0, 3).Draw(t, "wants"))
		d.is = append(d.is, len(d.is)+1)
		d.keys = append(d.keys, rapid.SampledFrom([]string{"k", "k", "k", "l", ""}).Draw(t, "key"))
		d.metas = append(d.metas, rapid.IntRange(0, 3).Draw(t, "meta"))
	}
	return d
}

// build declares the vertices in an order, and the edges in one.
func (d drawn) build(t *rapid.T, order []int) *resgraph.Graph {
	g := graph.New[*resgraph.Vertex]("g")
	for _, i := range order {
		x := &thing{is: []string{fmt.Sprint(d.is[i])}, key: d.keys[i]}
		for _, w := range d.wants[i] {
			x.wants = append(x.wants, w.String())
		}
		x.SetKind("thing")
		x.SetName(fmt.Sprintf("%02d", i))
		switch d.metas[i] {
		case 4:
			x.MetaParams().AutoEdge = new(false)
		case 5:
			x.bad = "late"
		case 6:
			x.slow = true
		case 7:
			x.gone = true
		}
		x.MetaParams().RetryReset = d.metas[i] == 1
		x.MetaParams().Reset = d.metas[i] == 2
		if _, err := g.Add(x.String(), &resgraph.Vertex{Res: x}); err != nil {
			t.Fatal(err)
		}
	}
	for k, e := range d.edges {
		if slices.Contains(d.gone, e[0]) || slices.Contains(d.gone, e[1]) {
			continue
		}
		if err := g.Connect(graph.Edge{From: slices.Index(order, e[0]), To: slices.Index(order, e[1]), Notify: d.notify[k]}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// name is the id of the vertex with a number.
func name(i int) string { return fmt.Sprintf("thing[%02d]", i) }

func (d drawn) plain() (order []int) {
	for i := range d.n {
		order = append(order, i)
	}
	return order
}

func apply(t *rapid.T, g *resgraph.Graph, steps ...transform.Step) (*resgraph.Graph, []transform.Note) {
	n := &transform.Notes{All: true}
	out, err := transform.Run(t.Context(), g, steps, n)
	if err != nil {
		t.Fatal(err)
	}
	return out, n.List
}

// where returns the index of an id, or of the owner of it.
func where(t *rapid.T, g *resgraph.Graph, id string) int {
	i, ok := resgraph.Find(g, id)
	if !ok {
		t.Fatalf("%s is lost", id)
	}
	return i
}

// keepsOrder checks that what came before something else still does.
func keepsOrder(t *rapid.T, old, now *resgraph.Graph) {
	if _, err := now.Sort(); err != nil {
		t.Fatal(err)
	}
	for i, id := range old.IDs() {
		for j := range old.Descendants(i) {
			a, b := where(t, now, id), where(t, now, old.ID(j))
			if a == b || !now.Reachable(a, b) {
				t.Fatalf("%s came before %s", id, old.ID(j))
			}
		}
	}
}

// All steps: no cycle, no order lost, no vertex lost or doubled.
func TestStepsKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		g := d.build(t, d.plain())
		edged, _ := apply(t, g, transform.AutoEdge(nil))
		keepsOrder(t, g, edged)
		out, _ := apply(t, edged, transform.AutoGroup())
		keepsOrder(t, edged, out)
		var ids, again []string
		for _, id := range g.IDs() {
			ids = append(ids, id)
		}
		for i, v := range out.All() {
			again = append(again, out.ID(i))
			for _, m := range v.Special().Group {
				again = append(again, m.Res.String())
			}
		}
		slices.Sort(ids)
		slices.Sort(again)
		if !slices.Equal(ids, again) {
			t.Fatalf("%v has become %v", ids, again)
		}
	})
}

// Every edge that is wanted is there, or closes a cycle; nothing else is there. It
// carries refresh where somebody wants that, or has declared it.
func TestAutoEdgeIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		g := d.build(t, d.plain())
		out, notes := apply(t, g, transform.AutoEdge(nil))
		wanted, refresh := map[[2]int]bool{}, map[[2]int]bool{}
		for i, list := range d.wants {
			for _, w := range list {
				e := [2]int{w.of - 1, i}
				if w.of < 0 {
					e = [2]int{i, -w.of - 1}
				}
				if w.of != 0 && e[0] != e[1] {
					wanted[e] = true
					refresh[e] = refresh[e] || w.notify
				}
			}
		}
		left := map[string]bool{}
		for _, n := range notes {
			if n.Kind == transform.EdgeLeftOut {
				left[strings.Join(n.Vertices, " ")] = true
			}
		}
		for e := range wanted {
			if _, ok := out.Link(e[0], e[1]); ok {
				continue
			}
			if !out.Reachable(e[1], e[0]) || !left[g.ID(e[0])+" "+g.ID(e[1])] {
				t.Fatalf("%v is not there", e)
			}
		}
		for e := range out.Edges() {
			ends := [2]int{e.From, e.To}
			was, declared := g.Link(e.From, e.To)
			if !declared {
				was = graph.Edge{From: e.From, To: e.To, Name: "auto", Implied: true, By: e.By}
				if e.By == graph.ByNeither {
					t.Fatalf("%+v does not belong to who has asked for it", e)
				}
			}
			was.Notify = was.Notify || refresh[ends]
			if !declared && !wanted[ends] || was != e {
				t.Fatalf("%+v, and not %+v", e, was)
			}
		}
	})
}

// Between the members of a group there is no path, they notify and are notified by
// the same ones, and what they have in common is in common.
func TestGroupsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		g := d.build(t, d.plain())
		notified := func(i int) (s []string) {
			for e := range g.InEdges(i) {
				if e.Notify {
					s = append(s, "<"+g.ID(e.From))
				}
			}
			for e := range g.OutEdges(i) {
				if e.Notify {
					s = append(s, ">"+g.ID(e.To))
				}
			}
			return s
		}
		out, _ := apply(t, g, transform.AutoGroup())
		for i, v := range out.All() {
			all := []int{where(t, g, out.ID(i))}
			for _, m := range v.Special().Group {
				all = append(all, where(t, g, m.Res.String()))
			}
			for _, a := range all {
				for _, b := range all {
					if a != b && g.Reachable(a, b) || !slices.Equal(notified(a), notified(b)) ||
						d.keys[a] != d.keys[b] || (d.metas[a] == 2) != (d.metas[b] == 2) {
						t.Fatalf("%s and %s are in one group", g.ID(a), g.ID(b))
					}
				}
			}
		}
	})
}

// canonical is a graph without its order of declaration.
func canonical(g *resgraph.Graph) (list []string) {
	name := func(i int) string {
		all := []string{g.ID(i)}
		for _, m := range g.Value(i).Special().Group {
			all = append(all, m.Res.String())
		}
		slices.Sort(all)
		return strings.Join(all, "+")
	}
	for i := range g.Len() {
		list = append(list, fmt.Sprint(name(i), g.Value(i).Res.MetaParams().RetryReset))
	}
	for e := range g.Edges() {
		list = append(list, fmt.Sprint(name(e.From), ">", name(e.To), e.Notify, e.Implied))
	}
	slices.Sort(list)
	return list
}

// The order of declaration does not matter, and the same graph gives the same
// notes.
func TestStepsAreDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		order := rapid.Permutation(d.plain()).Draw(t, "order")
		one, notes := apply(t, d.build(t, d.plain()), transform.Default()...)
		two, again := apply(t, d.build(t, d.plain()), transform.Default()...)
		if fmt.Sprint(canonical(one), notes) != fmt.Sprint(canonical(two), again) {
			t.Fatalf("%v and then %v", notes, again)
		}
		other, _ := apply(t, d.build(t, order), transform.Default()...)
		if a, b := canonical(one), canonical(other); !slices.Equal(a, b) {
			t.Fatalf("%v in another order is %v", a, b)
		}
	})
}
