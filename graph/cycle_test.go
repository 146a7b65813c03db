package graph_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/graph/graphtest"
	"pgregory.net/rapid"
)

func TestCycle(t *testing.T) {
	tests := map[string]string{
		"":                        "",
		"ab bc cd ad":             "",
		"ab ba":                   "cycle: a -> b -> a",
		"ba ab":                   "cycle: a -> b -> a",
		"ab bc ca":                "cycle: a -> b -> c -> a",
		"cb ba ac":                "cycle: a -> c -> b -> a",
		"ab bc cd da ca":          "cycle: a -> b -> c -> a",
		"ab bc cd de ea fg gf":    "cycle: f -> g -> f", // the short one in another component
		"ab bc ca ad de ef fd":    "cycle: a -> b -> c -> a",
		"ab bc cd de ef fa cf fc": "cycle: c -> f -> c",
		"ab bc cd da ag ge ef fg": "cycle: e -> f -> g -> e", // entered at its last vertex
		"ga ab bc cb cd":          "cycle: b -> c -> b",      // before and behind the cycle
	}
	for edges, want := range tests {
		g := build(t, "abcdefg", strings.Fields(edges)...)
		graphtest.Check(t, g)
		got := ""
		if c := g.Cycle(); c != nil {
			got = c.Error()
			if !c.Shortest {
				t.Errorf("%q: not proved to be the shortest", edges)
			}
		}
		if got != want {
			t.Errorf("%q has %q, want %q", edges, got, want)
		}
	}
}

func TestCycleEdgesHavePositions(t *testing.T) {
	g := build(t, "abc", "ab", "bc!", "ca?")
	c := g.Cycle()
	want := []graph.Edge{
		{From: 0, To: 1, Pos: "g.yaml:1:1"},
		{From: 1, To: 2, Pos: "g.yaml:2:1", Notify: true},
		{From: 2, To: 0, Pos: "g.yaml:3:1", Implied: true},
	}
	for at, e := range want {
		if c.Edges[at] != e {
			t.Errorf("step %d is %+v, want %+v", at, c.Edges[at], e)
		}
	}
}

func TestCycleErrorText(t *testing.T) {
	long := &graph.CycleError{}
	for i := range 40 {
		long.Path = append(long.Path, string(rune('A'+i)))
	}
	tests := map[string]*graph.CycleError{
		`cycle: "" -> "a\nb" -> exec[a "b"] -> größe -> ""`:                                                {Path: []string{"", "a\nb", `exec[a "b"]`, "größe", ""}},
		"cycle: A -> B -> C -> D -> E -> F -> G -> H -> (24 more) -> a -> b -> c -> d -> e -> f -> g -> h": long,
	}
	for want, c := range tests {
		if c.Error() != want {
			t.Errorf("got  %s\nwant %s", c.Error(), want)
		}
	}
}

// Declaring edges in another order gives the same cycle.
func TestCycleIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := graphtest.Draw(t, graphtest.Shape{})
		text := func() string {
			if c := s.Build(t).Cycle(); c != nil {
				return c.Error()
			}
			return ""
		}
		want := text()
		s.Edges = rapid.Permutation(s.Edges).Draw(t, "shuffled")
		if got := text(); got != want {
			t.Fatalf("after a shuffle %s, before %s", got, want)
		}
	})
}
