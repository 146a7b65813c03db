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

func TestSort(t *testing.T) {
	tests := []struct {
		edges string
		want  string
	}{
		{"", "abcdef"},
		{"ab bc cd de ef", "abcdef"},
		{"fe ed dc cb ba", "fedcba"},
		{"fa", "bcdefa"},
		{"ca", "bcadef"}, // a as soon as it may, before d
		{"fa fb", "cdefab"},
		{"ad bd cd df", "abcdef"},
		{"eb be! ab", "cycle: b -> e -> b"},
	}
	for _, tt := range tests {
		g := build(t, "abcdef", strings.Fields(tt.edges)...)
		order, err := g.Sort()
		got := letters(g, order)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q sorts as %s, want %s", tt.edges, got, tt.want)
		}
		graphtest.Check(t, g)
	}
}

// The order must not depend on the order in which edges were declared.
func TestSortIgnoresOrderOfEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := graphtest.Draw(t, graphtest.Shape{Acyclic: true})
		want, err := s.Build(t).Sort()
		if err != nil {
			t.Fatal(err)
		}
		s.Edges = rapid.Permutation(s.Edges).Draw(t, "shuffled")
		if got, err := s.Build(t).Sort(); err != nil || !slices.Equal(got, want) {
			t.Fatalf("after a shuffle %v, %v, before %v", got, err, want)
		}
	})
}

func TestSortGivesAwayItsSlice(t *testing.T) {
	g := build(t, "abc", "ab")
	first, _ := g.Sort()
	clear(first)
	graphtest.Check(t, g)
}

// Nothing recurses: a chain of a million works, forwards and back.
func TestLongChain(t *testing.T) {
	const n = 1_000_000
	g := chain(t, n)
	order, err := g.Sort()
	if err != nil || len(order) != n || order[n-1] != n-1 {
		t.Fatal(len(order), err)
	}
	if !g.Reachable(0, n-1) || g.Reachable(n-1, 0) {
		t.Error("the ends of a chain are reachable the wrong way round")
	}
	connect(t, g, graph.Edge{From: n - 1, To: 0})
	c := g.Cycle()
	if len(c.Edges) != n || !c.Shortest || c.Path[0] != "v0" {
		t.Errorf("a ring of %d has a cycle of %d edges, shortest: %t", n, len(c.Edges), c.Shortest)
	}
	if len(c.Error()) > 500 {
		t.Errorf("the error has %d bytes", len(c.Error()))
	}
}

// The bit tree gives out numbers as a sorted list would, over several levels.
func TestStarInReverse(t *testing.T) {
	const n = 64*64 + 70
	g := graph.New[int]("star")
	for i := range n {
		if _, err := g.Add(fmt.Sprint(i), i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n - 1 {
		connect(t, g, graph.Edge{From: n - 1, To: n - 2 - i})
	}
	order, err := g.Sort()
	if err != nil || order[0] != n-1 || !slices.IsSorted(order[1:]) {
		t.Errorf("%v, %v...", err, order[:3])
	}
}
