package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/graph/graphtest"
	"pgregory.net/rapid"
)

// describe writes a difference in one line, by ids.
func describe(old, new *graph.Graph[int], d graph.Difference) string {
	var b strings.Builder
	for _, i := range d.Removed {
		fmt.Fprintf(&b, "-%s ", old.ID(i))
	}
	for _, i := range d.Added {
		fmt.Fprintf(&b, "+%s ", new.ID(i))
	}
	for _, p := range d.Changed {
		fmt.Fprintf(&b, "~%s ", new.ID(p.New))
	}
	for _, p := range d.Kept {
		fmt.Fprintf(&b, "=%s ", new.ID(p.New))
	}
	for _, e := range d.EdgesRemoved {
		fmt.Fprintf(&b, "-%s%s ", old.ID(e.From), old.ID(e.To))
	}
	for _, e := range d.EdgesAdded {
		fmt.Fprintf(&b, "+%s%s ", new.ID(e.From), new.ID(e.To))
	}
	return strings.TrimSpace(b.String())
}

func equal(a, b int) bool { return a == b }

func TestDiff(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"nothing", "abc ab bc", "abc ab bc", "=a =b =c"},
		{"empty to some", "", "ab ab", "+a +b +ab"},
		{"some to empty", "ab ab", "", "-a -b -ab"},
		{"vertex and its edge", "abc ab bc", "ab ab", "-c =a =b -bc"},
		{"another index is a changed value here", "abc", "bac", "~b ~a =c"},
		{"an edge turned round", "ab ab", "ab ba", "=a =b -ab +ba"},
		{"plain to notify", "ab ab", "ab ab!", "=a =b -ab +ab"},
		{"implied to plain", "ab ab?", "ab ab", "=a =b -ab +ab"},
		{"declared twice", "ab ab", "ab ab ab", "=a =b"},
		{"declared elsewhere", "abc ab bc", "abc bc ab", "=a =b =c"},
		{"with a cycle", "ab ab ba", "abc ab bc ca", "+c =a =b -ba +bc +ca"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old, new := parse(t, tt.old), parse(t, tt.new)
			d := graphtest.CheckDiff(t, old, new, equal)
			if got := describe(old, new, d); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// parse builds a graph from "abc ab bc": ids, then edges.
func parse(tb testing.TB, s string) *graph.Graph[int] {
	tb.Helper()
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return graph.New[int]("")
	}
	return build(tb, fields[0], fields[1:]...)
}

func TestDiffLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := graphtest.Draw(t, graphtest.Shape{})
		b := a
		if rapid.Bool().Draw(t, "related") {
			b.IDs = rapid.Permutation(b.IDs).Draw(t, "ids")
			b.Edges = slices.Clone(b.Edges[:rapid.IntRange(0, len(b.Edges)).Draw(t, "fewer")])
		} else {
			b = graphtest.Draw(t, graphtest.Shape{})
		}
		even := func(a, b int) bool { return a%2 == b%2 }
		graphtest.CheckDiff(t, a.Build(t), b.Build(t), even)
	})
}

func TestDiffOfItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := graphtest.Draw(t, graphtest.Shape{})
		if d := graphtest.CheckDiff(t, s.Build(t), s.Build(t), equal); !d.Empty() {
			t.Fatalf("a graph differs from itself: %+v", d)
		}
	})
}

// same is asked once for each vertex in both graphs, the old value first.
func TestDiffAsksOnce(t *testing.T) {
	old, new := build(t, "abcd"), build(t, "dxb")
	var asked []string
	graph.Diff(old, new, func(a, b int) bool {
		asked = append(asked, fmt.Sprint(old.ID(a), new.ID(b)))
		return true
	})
	if want := []string{"dd", "bb"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}
