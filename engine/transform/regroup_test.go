package transform_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
)

// declaredBy builds a graph of things without those in brackets, which only stand for running ones. An edge belongs to the thing
// before the colon: "y: p>y q>y".
func declaredBy(t *testing.T, things map[string]*thing, names string, edges ...string) *resgraph.Graph {
	t.Helper()
	g := build(t, things, strings.NewReplacer("(", "", ")", "").Replace(names))
	for name := range strings.FieldsSeq(names) {
		if plain := strings.Trim(name, "()"); plain != name {
			i, _ := g.Index("thing[" + plain + "]")
			g.SetValue(i, nil)
		}
	}
	for _, line := range edges {
		owner, list, _ := strings.Cut(line, ":")
		for e := range strings.FieldsSeq(list) {
			at := strings.IndexAny(e, ">!")
			from, _ := g.Index("thing[" + e[:at] + "]")
			to, ok := g.Index("thing[" + e[at+1:] + "]")
			by := graph.ByTo
			if e[:at] == owner {
				by = graph.ByFrom
			}
			if err := g.Connect(graph.Edge{From: from, To: to, By: by, Notify: e[at] == '!'}); err != nil || !ok {
				t.Fatal(e, err)
			}
		}
	}
	return g
}

// TestPartsLeaveGroupsAlone: a part of a graph with groups costs the part where it can't alter a group, and says why where
// it might. The graph is p+q before x and y, and x before l+m.
// Seen failing with: regroup without the look at edges, and without the search downstream; compile without runsAs.
func TestPartsLeaveGroupsAlone(t *testing.T) {
	for _, c := range []struct {
		name, part string
		edges      string
		remove     string
		want       string   // the beginning of Whole; empty for none
		after      []string // the edges of the graph then
	}{
		{name: "a new one", part: "w", after: []string{"p x", "p y", "x l"}},
		{name: "the same edges", part: "x (p)", edges: "x: p>x", after: []string{"p x", "p y", "x l"}},
		{name: "after another member", part: "y (p) (q)", edges: "y: p>y q>y", after: []string{"p x", "p y", "x l"}},
		{name: "a new one after a member", part: "w (q)", edges: "w: q>w", after: []string{"p x", "p y", "p w", "x l"}},
		{name: "one goes", remove: "y", after: []string{"p x", "x l"}},
		{name: "its level alters", part: "x (p)", want: "resources downstream may run in groups"},
		{name: "what is before one", part: "w (l)", edges: "w: w>l", want: "an edge from thing[w] to thing[l]"},
		{name: "it is notified by one", part: "w (q)", edges: "w: q!w", want: "an edge from thing[q] to thing[w]"},
		{name: "it is one", part: "p", want: "thing[p] may run in a group"},
		{name: "one of them goes", remove: "q", want: "thing[q] may run in a group"},
	} {
		things := keyed("p q l m")
		base := declaredBy(t, things, "p q x y l m", "x: p>x", "y: q>y", "l: x>l", "m: x>m")
		grouped, err := transform.Run(t.Context(), base, []transform.Step{transform.AutoGroup()}, nil)
		if err != nil || grouped == base {
			t.Fatal("nothing is grouped", err)
		}
		p := transform.NewParts(base, grouped, nil, false)
		var part *resgraph.Graph
		if c.part != "" {
			part = declaredBy(t, map[string]*thing{"p": {key: "k"}}, c.part, c.edges)
		}
		var remove []string
		if c.remove != "" {
			remove = []string{"thing[" + c.remove + "]"}
		}
		change, err := p.Change(t.Context(), nil, part, remove...)
		if err != nil || !strings.HasPrefix(change.Whole, c.want) || (c.want == "") != (change.Whole == "") {
			t.Errorf("%s: %q %v, want %q", c.name, change.Whole, err, c.want)
			continue
		}
		if c.want != "" {
			continue
		}
		for i := range change.Part.Len() {
			if id := change.Part.ID(i); id == "thing[q]" || id == "thing[m]" {
				t.Errorf("%s: the reactor does not know %s", c.name, id)
			}
		}
		p.Take(change)
		same(t, c.name, edges(p.Graph()), c.after...)
		drawn := groups(p.Graph())
		if !slices.Contains(drawn, "p+q") || !slices.Contains(drawn, "l+m") {
			t.Errorf("%s: the groups are %q", c.name, drawn)
		}
		if got := p.IDs(); len(got) != p.Graph().Len()+2 || !slices.Contains(got, "thing[q]") {
			t.Errorf("%s: %q are in effect", c.name, got)
		}
	}
}
