package sched_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// What contradicts itself is refused, and nothing is changed by it.
func TestSwapRefuses(t *testing.T) {
	t.Parallel()
	m := sched.New(sched.Options{})
	base := sched.Topology{N: 4, Added: []sched.Vertex{0, 1, 2}, Edges: edges{{0, 1}, {1, 2}}}
	if err := m.Swap(base); err != nil {
		t.Fatal(err)
	}
	m.Ready(0)
	m.Next()
	if err := m.Swap(sched.Topology{N: 4, Removed: []sched.Vertex{0}, Edges: edges{{1, 2}}}); err != nil {
		t.Fatal(err)
	}
	cases := map[string]sched.Topology{
		"removed hole":     {N: 4, Removed: []sched.Vertex{3}},
		"removed twice":    {N: 4, Removed: []sched.Vertex{1, 1}},
		"removed outside":  {N: 4, Removed: []sched.Vertex{-1}},
		"added but there":  {N: 4, Added: []sched.Vertex{1}},
		"added twice":      {N: 4, Added: []sched.Vertex{3, 3}},
		"added outside":    {N: 4, Added: []sched.Vertex{4}},
		"added below zero": {N: 4, Added: []sched.Vertex{-1}},
		"not forgotten":    {N: 4, Added: []sched.Vertex{0}},
		"kept outside":     {N: 2},
		"edge to a hole":   {N: 4, Edges: edges{{1, 3}}},
		"edge outside":     {N: 4, Edges: edges{{1, 9}}},
		"batch too short":  {N: 4, Batch: []int32{-1}},
	}
	for name, c := range cases {
		if err := m.Swap(c); !errors.Is(err, sched.ErrSlot) {
			t.Errorf("%s: %v", name, err)
		}
		if err := m.Invariants(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	m.Forgotten(0)
	if err := m.Swap(sched.Topology{N: 4, Added: []sched.Vertex{0}}); err != nil {
		t.Errorf("after Forgotten: %v", err)
	}
	if got := m.State(0); got != resgraph.StateStarting {
		t.Errorf("the new vertex is %v", got)
	}
}

// The path of a cycle is one: each vertex has an edge to the next.
func TestCyclePath(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	cycles := 0
	for range 300 {
		var e edges
		for range 2 + r.IntN(14) {
			e = append(e, [2]sched.Vertex{int32(r.IntN(8)), int32(r.IntN(8))})
		}
		err := sched.New(sched.Options{}).Swap(topology(8, e))
		c, ok := errors.AsType[*sched.CycleError](err)
		if !ok {
			continue
		}
		cycles++
		for i, v := range c.Path {
			if w := c.Path[(i+1)%len(c.Path)]; !slices.Contains(e, [2]sched.Vertex{v, w}) {
				t.Fatalf("%v: no edge from %d to %d among %v", c.Path, v, w, e)
			}
		}
		if c.Error() == "" {
			t.Error("no text")
		}
	}
	if cycles < 50 {
		t.Fatalf("only %d cycles", cycles)
	}
}

// A graph that shrinks and grows keeps what it keeps.
func TestSwapShrinks(t *testing.T) {
	t.Parallel()
	m := settled(t, chain(10))
	top := sched.Topology{N: 3, Edges: edges{{0, 1}, {1, 2}}}
	for v := sched.Vertex(3); v < 10; v++ {
		top.Removed = append(top.Removed, v)
	}
	if err := m.Swap(top); err != nil {
		t.Fatal(err)
	}
	if c := m.Counts(); c[resgraph.StateOK] != 3 || !m.AtRest() {
		t.Fatalf("counts %v", c)
	}
	event(t, m, 2)
	if err := m.Swap(sched.Topology{N: 20, Added: []sched.Vertex{19}, Edges: edges{{2, 19}}}); err != nil {
		t.Fatal(err)
	}
	m.Ready(19)
	if n := drain(m); n != 1 {
		t.Fatalf("%d runs", n)
	}
}

// A deep chain overflows nothing: all walks along paths are loops.
func TestDeepChain(t *testing.T) {
	t.Parallel()
	const n = 300_000
	m := machine(t, chain(n))
	for v := sched.Vertex(n - 1); v >= 0; v-- {
		m.Ready(v)
		if v > 0 {
			m.Next()
		}
	}
	m.Fail(0, true)
	if c := m.Counts(); c[resgraph.StateBlocked] != n-1 {
		t.Fatalf("counts %v", c)
	}
	if by, ok := m.BlockedBy(n - 1); !ok || by != 0 {
		t.Fatalf("blocked by %d, %v", by, ok)
	}
	m.Wake(0)
	if runs := drain(m); runs != n {
		t.Fatalf("%d runs", runs)
	}
	m.Hold(0, resgraph.StateHeld)
	m.Event(0)
	m.Event(n - 1)
	if _, ok := m.Next(); ok {
		t.Fatal("a start below a held root")
	}
	if w, ok := m.Witness(n - 1); !ok || w != 0 {
		t.Fatalf("witness %d, %v", w, ok)
	}
}
