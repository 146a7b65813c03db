package transform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// numbered makes a graph of n vertices without resources.
func numbered(t interface{ Fatal(...any) }, n int, edges [][2]int) *resgraph.Graph {
	g := graph.New[*resgraph.Vertex]("g")
	for i := range n {
		if _, err := g.Add(fmt.Sprint(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range edges {
		if err := g.Connect(graph.Edge{From: e[0], To: e[1]}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// reaches is what path must say, found in the simplest way.
func reaches(edges [][2]int, from, to int) bool {
	seen, queue := map[int]bool{from: true}, []int{from}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		if v == to {
			return true
		}
		for _, e := range edges {
			if e[0] == v && !seen[e[1]] {
				seen[e[1]] = true
				queue = append(queue, e[1])
			}
		}
	}
	return false
}

// The seeker knows every path, over edges of the graph and over added ones, and the
// core has every vertex of a cycle.
func TestSeeker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "n")
		node := rapid.IntRange(0, n-1)
		var all [][2]int
		g := numbered(t, n, nil)
		whole := numbered(t, n, nil)
		s := newSeeker(g, slices.Repeat([]bool{true}, n))
		for range rapid.IntRange(0, 16).Draw(t, "edges") {
			a, b := node.Draw(t, "a"), node.Draw(t, "b")
			if a == b {
				continue
			}
			all = append(all, [2]int{a, b})
			_ = whole.Connect(graph.Edge{From: a, To: b})
			if rapid.Bool().Draw(t, "later") {
				s.add(int32(a), int32(b))
			} else {
				_ = g.Connect(graph.Edge{From: a, To: b})
			}
		}
		on := core(whole)
		for a := range n {
			for b := range n {
				if a == b {
					continue
				}
				if got, want := s.path(int32(a), int32(b)), reaches(all, a, b); got != want {
					t.Fatalf("a path from %d to %d: %t", a, b, got)
				} else if want && reaches(all, b, a) && !(on[a] && on[b]) {
					t.Fatalf("%d and %d are on a cycle", a, b)
				}
			}
		}
		if _, err := whole.Sort(); err == nil && slices.Contains(on, true) {
			t.Fatalf("a graph without a cycle has the core %v", on)
		}
	})
}

// The core is what lies on cycles, and between them; what leads there and away from
// there is not in it, and not searched.
func TestCore(t *testing.T) {
	g := numbered(t, 7, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}, {5, 4}, {0, 6}})
	on := core(g)
	if want := []bool{false, true, true, true, false, false, false}; !slices.Equal(on, want) {
		t.Errorf("got %v", on)
	}
	s := newSeeker(numbered(t, 3, [][2]int{{0, 1}, {1, 2}}), []bool{true, false, true})
	if s.path(0, 2) {
		t.Error("it looks outside the core")
	}
}

// Past the budget an edge is refused, as nobody knows; none is added blindly.
func TestSeekerBudget(t *testing.T) {
	g := numbered(t, 4, [][2]int{{0, 1}, {1, 2}})
	s := newSeeker(g, []bool{true, true, true, true})
	if why := s.refusal(edgeRequest{from: 2, to: 3}); why != "" {
		t.Error(why)
	}
	if why := s.refusal(edgeRequest{from: 2, to: 0}); why != "0 comes before 2 already" {
		t.Error(why)
	}
	s.budget = 1
	if s.refusal(edgeRequest{from: 0, to: 2}) == "" {
		t.Error("an edge is added without having looked")
	}
	if why := s.refusal(edgeRequest{from: 2, to: 3}); !strings.HasPrefix(why, "there are too many cycles") {
		t.Error(why)
	}
}

// What is searched is what the smaller side has: a thousand commands below a tree,
// of which each is wanted above it, do not search the tree each time.
func TestSeekerLooksAtTheSmallerSide(t *testing.T) {
	const leaves = 20_000
	var edges [][2]int
	for i := 1; i < leaves; i++ {
		edges = append(edges, [2]int{(i - 1) / 10, i})
	}
	g := numbered(t, leaves, edges)
	s := newSeeker(g, slices.Repeat([]bool{true}, leaves))
	for i := leaves - 1000; i < leaves; i++ {
		if s.refusal(edgeRequest{from: int32(i), to: 0}) == "" {
			t.Fatal("a cycle is not seen")
		}
	}
	if steps := maxSteps - s.budget; steps > 1000*200 {
		t.Errorf("%d steps", steps)
	}
}
