package graph

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The tests in this file bound work by counting steps, not by a clock.

// layers makes a graph of layers, each vertex with some random edges into the
// next layer.
func layers(tb testing.TB, depth, width, edges int) *Graph[int] {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	g := New[int]("layers")
	for i := range depth * width {
		if _, err := g.Add(fmt.Sprint(i), i); err != nil {
			tb.Fatal(err)
		}
		for range edges {
			if i >= width {
				link(tb, g, (i/width-1)*width+r.IntN(width), i)
			}
		}
	}
	return g
}

func link(tb testing.TB, g *Graph[int], from, to int) {
	tb.Helper()
	if err := g.Connect(Edge{From: from, To: to}); err != nil {
		tb.Fatal(err)
	}
}

// dense makes a random graph with cycles of all lengths.
func dense(tb testing.TB, n, edges int) *Graph[int] {
	tb.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	g := New[int]("dense")
	for i := range n {
		if _, err := g.Add(fmt.Sprint(i), i); err != nil {
			tb.Fatal(err)
		}
	}
	for range edges {
		if a, b := r.IntN(n), r.IntN(n); a != b {
			link(tb, g, a, b)
		}
	}
	return g
}

// oneWay makes a random graph in which no two vertices point at each other.
func oneWay(tb testing.TB, n, edges int) *Graph[int] {
	tb.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	g := dense(tb, n, 0)
	for range edges {
		a := r.IntN(n)
		link(tb, g, a, (a+1+r.IntN(n/3))%n)
	}
	return g
}

// What people write has a few wrong edges in a graph that is acyclic otherwise,
// or is all cycles: finding the shortest stays near to linear in both.
func TestCycleCost(t *testing.T) {
	oneWrong := layers(t, 100, 1000, 3)
	link(t, oneWrong, 99_500, 500)
	ring := New[int]("ring")
	const n = 100_000
	for i := range n {
		if _, err := ring.Add(fmt.Sprint(i), i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		link(t, ring, i, (i+1)%n)
	}
	for name, tt := range map[string]struct {
		g   *Graph[int]
		per int // steps per edge
	}{
		"one wrong edge":  {oneWrong, 4},
		"ring":            {ring, 3},
		"random":          {dense(t, 100_000, 300_000), 4},
		"random, no pair": {oneWay(t, 50_000, 150_000), 20},
		"complete":        {dense(t, 300, 300*300*3), 2},
	} {
		l := tt.g.read()
		c := l.findCycle(cycleBudget)
		if limit := tt.per * len(l.succ); c.steps > limit || !c.shortest {
			t.Errorf("%s: %d steps for %d edges, want at most %d; proved: %t", name, c.steps, len(l.succ), limit, c.shortest)
		}
		t.Logf("%s: %d edges, %d steps, cycle of %d", name, len(l.succ), c.steps, len(c.path))
	}
}

// Long cycles through a wide graph are what the budget is for: the search ends
// at most one round behind it, and here with the right answer all the same.
func TestCycleCostIsBounded(t *testing.T) {
	g := layers(t, 100, 1000, 3)
	for i := range 20 {
		link(t, g, 99_500+i, 500+i)
	}
	l := g.read()
	c := l.findCycle(1 << 21)
	if c.steps > 1<<21+len(l.succ) || c.shortest || len(c.path) != 100 {
		t.Errorf("%d steps, a cycle of %d, proved: %t", c.steps, len(c.path), c.shortest)
	}
}

// The small components come first, so that a small budget still finds what a
// person would call the cycle.
func TestCycleSmallComponentFirst(t *testing.T) {
	g := layers(t, 20, 20, 2)
	for i := range 20 {
		link(t, g, 380+i, i)
	}
	for i := range 3 {
		if _, err := g.Add(fmt.Sprint("small", i), 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		link(t, g, 400+i, 400+(i+1)%3)
	}
	if c := g.read().findCycle(0); len(c.path) != 3 || c.shortest {
		t.Errorf("found %v, proved: %t", c.path, c.shortest)
	}
}

// A search that gives up still returns a cycle, says so, and ends soon after
// the budget.
func TestCycleBudget(t *testing.T) {
	g := layers(t, 20, 20, 2)
	for i := range 20 {
		link(t, g, 380+i, i)
	}
	l := g.read()
	full, cut := l.findCycle(cycleBudget), l.findCycle(0)
	if !full.shortest || cut.shortest || len(cut.path) < len(full.path) || cut.steps >= full.steps {
		t.Errorf("all: %+v, cut short: %+v", full, cut)
	}
	for at, v := range cut.path {
		if _, ok := l.find(int(v), int(cut.path[(at+1)%len(cut.path)])); !ok {
			t.Errorf("%v is not a cycle", cut.path)
		}
	}
	if over := cut.steps; over > 3*len(l.succ) {
		t.Errorf("%d steps without a budget for %d edges", over, len(l.succ))
	}
}

func TestReductionBudget(t *testing.T) {
	g := dense(t, 60, 0)
	for i := range 60 {
		for j := range i {
			link(t, g, j, i)
		}
	}
	l := g.read()
	l.sorted()
	all, steps := l.redundant(reduceBudget)
	if got := count(all); got != len(l.succ)-59 {
		t.Errorf("a complete order of 60 keeps %d edges, want the 59 of a chain", len(l.succ)-got)
	}
	some, fewer := l.redundant(steps / 4)
	if fewer >= steps || count(some) == 0 || count(some) >= count(all) {
		t.Errorf("cut short: %d steps and %d left out, all: %d and %d", fewer, count(some), steps, count(all))
	}
	for k := range l.succ {
		if some.has(k) && !all.has(k) {
			t.Errorf("cut short it leaves out edge %d, which is needed", k)
		}
	}
}

func count(b bitset) (n int) {
	for i := range len(b) * 64 {
		if b.has(i) {
			n++
		}
	}
	return n
}

// A question about two vertices looks only at what stands between them, and on
// the side that has less to do.
func TestReachableCost(t *testing.T) {
	const n = 10_000
	chain := dense(t, n, 0)
	star := dense(t, n, 0)
	for i := range n - 1 {
		link(t, chain, i, i+1)
		link(t, star, 0, i+1)
	}
	tree := dense(t, 4004+3, 0) // 0 to 3 to 1333 each, and from one of these 3 in a row
	for i := range 3 {
		link(t, tree, 0, i+1)
		link(t, tree, []int{4, 4004, 4005}[i], 4004+i)
		for j := range 1333 {
			link(t, tree, i+1, 4+1333*i+j)
		}
	}
	tests := []struct {
		name     string
		g        *Graph[int]
		from, to int
		want     bool
		most     int
	}{
		{"near in a chain", chain, 5000, 5010, true, 12},
		{"backwards", chain, 5010, 5000, false, 0},
		{"itself", chain, 7, 7, true, 0},
		{"a leaf of a star", star, 0, n - 1, true, 0},
		{"through the wide part of a tree", tree, 0, 4006, true, 10},
		{"two leaves of a star", star, 5, n - 1, false, 1},
	}
	for _, tt := range tests {
		if got, steps := tt.g.read().reaches(tt.from, tt.to); got != tt.want || steps > tt.most {
			t.Errorf("%s: %t after %d steps, want %t after at most %d", tt.name, got, steps, tt.want, tt.most)
		}
	}
}

// Reads after the first allocate nothing.
func TestReadsDoNotAllocate(t *testing.T) {
	g := layers(t, 10, 10, 3)
	g.read()
	sum := 0
	allocs := testing.AllocsPerRun(10, func() {
		for i := range g.Len() {
			sum += len(g.Succ(i)) + len(g.Pred(i))
			for e := range g.OutEdges(i) {
				if _, ok := g.Link(e.From, e.To); ok && g.HasEdgeFromTo(int64(e.From), int64(e.To)) {
					sum += e.To
				}
			}
			for e := range g.InEdges(i) {
				sum += e.From
			}
		}
	})
	if allocs != 0 || sum == 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// Reading never makes a layout again, writing does.
func TestLayoutIsMadeOnce(t *testing.T) {
	g := layers(t, 10, 10, 3)
	first := g.read()
	g.EdgeCount()
	if _, err := g.Sort(); err != nil {
		t.Fatal(err)
	}
	if g.read() != first {
		t.Error("a read made a new layout")
	}
	link(t, g, 0, 99)
	if g.read() == first {
		t.Error("a write kept the old layout")
	}
}
