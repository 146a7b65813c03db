package transform_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
)

// change draws another graph from one: some vertices want something else, are something
// else, are new, or are gone.
func (d drawn) change(t *rapid.T) drawn {
	d.wants, d.is, d.metas = slices.Clone(d.wants), slices.Clone(d.is), slices.Clone(d.metas)
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		i := rapid.IntRange(0, d.n-1).Draw(t, "which")
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			d.wants[i] = rapid.SliceOfN(drawWant(d.n), 0, 3).Draw(t, "wants")
		case 1:
			d.is[i] = rapid.IntRange(1, d.n).Draw(t, "is")
		case 2:
			d.metas[i] = rapid.IntRange(0, 7).Draw(t, "meta")
		case 3:
			if d.gone = slices.Clone(d.gone); !slices.Contains(d.gone, i) {
				d.gone = append(d.gone, i)
			} else {
				d.gone = slices.DeleteFunc(d.gone, func(j int) bool { return j == i })
			}
		}
	}
	return d
}

// order draws one of those that are there: mostly the one that they always have.
func (d drawn) order(t *rapid.T) []int {
	order := d.plain()
	if rapid.IntRange(0, 3).Draw(t, "shuffled") == 0 {
		order = rapid.Permutation(order).Draw(t, "order")
	}
	return slices.DeleteFunc(order, func(i int) bool { return slices.Contains(d.gone, i) })
}

// known says what is declared as in the graph that runs, whatever UIDs say of it.
func (d drawn) known(g *resgraph.Graph, runs *drawn) transform.Known {
	same := map[int]bool{}
	for i := range d.n {
		if at, ok := g.Index(name(i)); ok {
			same[at] = runs != nil && !slices.Contains(runs.gone, i) && slices.Equal(d.wants[i], runs.wants[i]) && d.metas[i] == runs.metas[i]
		}
	}
	return transform.Known{Same: func(i int) bool { return same[i] }}
}

// With a memory of the graph that runs the same comes out as without, whatever became of the
// graphs in between.
func TestMemoryChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m transform.Memory
		var runs *drawn
		d := draw(t)
		for range rapid.IntRange(2, 6).Draw(t, "graphs") {
			order := d.order(t)
			g := d.build(t, order)
			known := d.known(g, runs)
			want, notes := apply(t, g, transform.AutoEdge(nil))
			got, same := apply(t, g, m.AutoEdge(nil, known))
			if !slices.Equal(edges(got), edges(want)) {
				t.Fatalf("with a memory: %q\nwithout: %q", edges(got), edges(want))
			}
			if !slices.EqualFunc(same, notes, func(a, b transform.Note) bool { return a.String() == b.String() }) {
				t.Fatalf("with a memory: %v\nwithout: %v", same, notes)
			}
			if rapid.Bool().Draw(t, "runs") {
				m.Keep()
				kept := d
				runs = &kept
			}
			d = d.change(t)
		}
	})
}

// Who is declared as it runs is asked again only if what it asked for is another thing now.
func TestMemoryAsksFewer(t *testing.T) {
	var m transform.Memory
	asked := 0
	things := func() map[string]*thing {
		list := map[string]*thing{"dir": {is: []string{"/dir"}}, "other": {is: []string{"/other"}}, "odd": {wants: []string{"/other"}}}
		for _, name := range []string{"a", "b", "c"} {
			list[name] = &thing{wants: []string{"/dir"}}
		}
		for _, x := range list {
			x.tell = func() { asked++ }
		}
		return list
	}
	swap := func(want int, all map[string]*thing, names, changed string) {
		t.Helper()
		g := build(t, all, names)
		known := transform.Known{Same: func(i int) bool { return short(g.ID(i)) != changed }}
		asked = 0
		out, err := transform.Run(t.Context(), g, []transform.Step{m.AutoEdge(nil, known)}, nil)
		if err != nil || asked != want {
			t.Errorf("%d were asked, want %d (%v)", asked, want, err)
		}
		plain, _ := run(t, transform.AutoEdge(nil), build(t, all, names))
		same(t, "edges", edges(out), edges(plain)...)
		m.Keep()
	}
	const names = "dir other odd a b c"
	swap(6, things(), names, "")
	swap(0, things(), names, "")
	swap(1, things(), names, "a")
	swap(4, things(), names, "dir")              // and those that want it
	swap(1, things(), "dir odd a b c", "")       // it has gone, and one had asked for it
	swap(2, things(), names, "other")            // it is back
	swap(0, things(), "c b a odd other dir", "") // in another order
	moved := things()
	moved["other"].is = []string{"/dir"} // says so, although it is declared as before
	swap(4, moved, names, "")
}
