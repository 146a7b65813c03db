package sched_test

import (
	"math/rand/v2"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// The tests of this file count the edges that searches look at. Unlike times,
// the counts are the same on every machine.

func looks(t *testing.T, m *sched.Machine, most uint64, do func()) {
	t.Helper()
	from := m.Looked()
	do()
	if n := m.Looked() - from; n > most {
		t.Errorf("looked at %d edges, want at most %d", n, most)
	} else {
		t.Logf("looked at %d edges of at most %d", n, most)
	}
}

// An event while nothing else is unsettled looks at nothing, wherever it is, and
// allocates nothing.
func TestCostQuietEvent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		t sched.Topology
		v sched.Vertex
	}{
		"chain end":   {chain(100_000), 99_999},
		"chain root":  {chain(100_000), 0},
		"star root":   {star(100_000), 0},
		"star leaf":   {star(100_000), 500},
		"funnel sink": {funnel(100_000), 99_999},
		"dense":       {layers(4, 50, 0), 180},
		"random":      {random(10_000, 30_000), 9_999},
	}
	for name, c := range cases {
		m := settled(t, c.t)
		looks(t, m, 0, func() {
			for range 100 {
				event(t, m, c.v)
			}
		})
		if n := m.Looked(); n > 2*uint64(len(c.t.Edges)) {
			t.Errorf("%s: %d edges looked at to converge, of %d", name, n, len(c.t.Edges))
		}
	}
}

// A vertex that has never been ok, failed for good, leaves events elsewhere as
// cheap as they were.
func TestCostBesideFailed(t *testing.T) {
	t.Parallel()
	m := settled(t, chain(1000))
	top := chain(1000)
	top.Removed, top.Added, top.N = nil, []sched.Vertex{1000, 1001}, 1002
	top.Edges = append(top.Edges, [2]sched.Vertex{1000, 1001})
	if err := m.Swap(top); err != nil {
		t.Fatal(err)
	}
	m.Ready(1000)
	m.Ready(1001)
	run, _ := m.Next()
	m.Done(run[0], sched.Outcome{State: resgraph.StateFailed})
	m.Next()
	looks(t, m, 0, func() {
		for range 100 {
			event(t, m, 999)
		}
	})
}

// A sink with many unsettled sources looks at each edge about once, in whatever
// order they settle, also if others become unsettled and ok between.
func TestCostFunnel(t *testing.T) {
	t.Parallel()
	const n = 10_000
	for _, disturbed := range []bool{false, true} {
		top := funnel(n + 1)
		top.Added, top.N = append(top.Added, n+1), n+2
		m := settled(t, top)
		for v := range sched.Vertex(n) {
			m.Hold(v, resgraph.StateHeld)
			m.Event(v)
		}
		m.Event(n)
		m.Next()
		looks(t, m, 3*n, func() {
			for _, v := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
				if disturbed {
					m.Event(n + 1)
				}
				m.Release(sched.Vertex(v))
				drain(m)
			}
		})
		if !m.AtRest() {
			t.Fatal("not at rest")
		}
	}
}

// A sink with two sources that flap in turn finds the other one at once, though
// each event voids its certificate.
func TestCostFlappingSources(t *testing.T) {
	t.Parallel()
	const n = 10_000
	m := settled(t, funnel(n+1))
	at := [2]sched.Vertex{17, 9_000}
	start := func(v sched.Vertex) {
		m.Event(v)
		if run, ok := m.Next(); !ok || run[0] != v {
			t.Fatalf("started %v", run)
		}
	}
	start(at[0])
	m.Event(n)
	if _, ok := m.Next(); ok {
		t.Fatal("the sink runs")
	}
	looks(t, m, 2*n, func() {
		for i := range 1000 {
			start(at[(i+1)%2])
			m.Done(at[i%2], ok)
			if _, more := m.Next(); more {
				t.Fatal("the sink runs")
			}
		}
	})
}

// Below a root that flaps, many dirty vertices cost nothing while they can't run.
func TestCostFlappingRoot(t *testing.T) {
	t.Parallel()
	const n = 10_000
	m := sched.New(sched.Options{Parallel: 1})
	if err := m.Swap(star(n)); err != nil {
		t.Fatal(err)
	}
	for v := range sched.Vertex(n) {
		m.Ready(v)
	}
	m.Next()
	m.Yield() // let all others be looked at and parked
	m.Next()
	m.Regain()
	looks(t, m, 2*n, func() {
		for range 1000 {
			m.Done(0, ok)
			m.Event(0)
			m.Next()
		}
	})
}

// With one root held, events on the half that is not below it start at once, and
// those below it cost one edge each.
func TestCostHeldRoot(t *testing.T) {
	t.Parallel()
	const n = 2000
	e := make(edges, 0, n)
	for v := sched.Vertex(2); v < n+2; v++ {
		e = append(e, [2]sched.Vertex{v % 2, v})
	}
	m := settled(t, topology(n+2, e))
	m.Hold(0, resgraph.StateHeld)
	m.Event(0)
	looks(t, m, 2*n, func() {
		for v := sched.Vertex(2); v < n+2; v++ {
			m.Event(v)
			if got := drain(m); got != int(v%2) {
				t.Fatalf("%d: %d runs", v, got)
			}
		}
		for range 100 {
			m.Event(3)
			drain(m)
		}
	})
	if c := m.Counts(); c[resgraph.StateBlocked] != n/2 {
		t.Fatalf("counts %v", c)
	}
}

// Dense layers converge in a number of looks near that of the edges.
func TestCostDense(t *testing.T) {
	t.Parallel()
	top := layers(4, 50, 0)
	m := machine(t, top)
	looks(t, m, uint64(2*len(top.Edges)), func() {
		converge(t, m, rand.New(rand.NewPCG(3, 4)).Perm(top.N))
	})
}

// Events beside 64 held vertices look at a few edges each, once the first
// searches have been made.
func TestCostBesideHeld(t *testing.T) {
	t.Parallel()
	m := heldMachine(t)
	r := rand.New(rand.NewPCG(8, 9))
	looks(t, m, 100*20_000, func() {
		for range 20_000 {
			m.Event(sched.Vertex(r.IntN(100_000)))
			drain(m)
		}
	})
}

// No event allocates, nor does Next, once all has been seen.
func TestNoAllocation(t *testing.T) {
	m := settled(t, random(1000, 3000))
	r := rand.New(rand.NewPCG(8, 9))
	flight := make([]sched.Vertex, 0, 64)
	some := func() {
		m.Event(sched.Vertex(r.IntN(1000)))
		m.Hold(sched.Vertex(r.IntN(1000)), resgraph.StateHeld)
		m.Release(sched.Vertex(r.IntN(1000)))
		for run, more := m.Next(); more; run, more = m.Next() {
			flight = append(flight, run...)
		}
		for len(flight) > 12 {
			m.Done(flight[0], ok)
			flight = append(flight[:0], flight[1:]...)
		}
	}
	for range 10_000 {
		some()
	}
	if n := testing.AllocsPerRun(1000, some); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
}
