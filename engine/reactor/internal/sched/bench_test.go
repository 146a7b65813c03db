package sched_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

type edges = [][2]sched.Vertex

// topology is a first topology of n vertices.
func topology(n int, e edges) sched.Topology {
	t := sched.Topology{N: n, Edges: e, Added: make([]sched.Vertex, n)}
	for v := range t.Added {
		t.Added[v] = sched.Vertex(v)
	}
	return t
}

func chain(n int) sched.Topology {
	e := make(edges, 0, n)
	for v := range sched.Vertex(n - 1) {
		e = append(e, [2]sched.Vertex{v, v + 1})
	}
	return topology(n, e)
}

func star(n int) sched.Topology {
	e := make(edges, 0, n)
	for v := range sched.Vertex(n - 1) {
		e = append(e, [2]sched.Vertex{0, v + 1})
	}
	return topology(n, e)
}

// funnel has one sink, the last vertex, below all others.
func funnel(n int) sched.Topology {
	e := make(edges, 0, n)
	for v := range sched.Vertex(n - 1) {
		e = append(e, [2]sched.Vertex{v, sched.Vertex(n - 1)})
	}
	return topology(n, e)
}

// layers has count layers of width vertices; each vertex is below degree random
// ones of the layer above, or below all of them if degree is 0.
func layers(count, width, degree int) sched.Topology {
	r := rand.New(rand.NewPCG(7, 7))
	var e edges
	for l := 1; l < count; l++ {
		for i := range width {
			v := sched.Vertex(l*width + i)
			for j := range width {
				if degree == 0 {
					e = append(e, [2]sched.Vertex{sched.Vertex((l-1)*width + j), v})
				}
			}
			for range degree {
				e = append(e, [2]sched.Vertex{sched.Vertex((l-1)*width + r.IntN(width)), v})
			}
		}
	}
	return topology(count*width, e)
}

// random has m random edges, each from a lower to a higher slot.
func random(n, m int) sched.Topology {
	r := rand.New(rand.NewPCG(11, 11))
	e := make(edges, 0, m)
	for len(e) < m {
		a, b := sched.Vertex(r.IntN(n)), sched.Vertex(r.IntN(n))
		if a != b {
			e = append(e, [2]sched.Vertex{min(a, b), max(a, b)})
		}
	}
	return topology(n, e)
}

func machine(tb testing.TB, t sched.Topology) *sched.Machine {
	tb.Helper()
	m := sched.New(sched.Options{Parallel: 16})
	if err := m.Swap(t); err != nil {
		tb.Fatal(err)
	}
	return m
}

var ok = sched.Outcome{State: resgraph.StateOK}

// drain runs all that can run, one after the other, and returns how many runs it
// took.
func drain(m *sched.Machine) int {
	runs := 0
	for {
		run, more := m.Next()
		if !more {
			return runs
		}
		for _, v := range slices.Clone(run) {
			m.Done(v, ok)
			runs++
		}
	}
}

// settled returns a machine in which every vertex is ok.
func settled(tb testing.TB, t sched.Topology) *sched.Machine {
	tb.Helper()
	m := machine(tb, t)
	for v := range t.N {
		m.Ready(sched.Vertex(v))
	}
	if n := drain(m); n != t.N || !m.AtRest() {
		tb.Fatalf("%d runs of %d, %d pending", n, t.N, m.Pending())
	}
	return m
}

// event is one event on a quiet graph, to the end of its run.
func event(tb testing.TB, m *sched.Machine, v sched.Vertex) {
	m.Event(v)
	run, started := m.Next()
	if !started || len(run) != 1 || run[0] != v {
		tb.Fatalf("started %v", run)
	}
	m.Done(v, ok)
	if _, more := m.Next(); more {
		tb.Fatal("a second run")
	}
}

func benchEvent(b *testing.B, t sched.Topology, v sched.Vertex) {
	m := settled(b, t)
	b.ReportAllocs()
	for b.Loop() {
		event(b, m, v)
	}
}

func BenchmarkEventChainEnd(b *testing.B)   { benchEvent(b, chain(100_000), 99_999) }
func BenchmarkEventChainRoot(b *testing.B)  { benchEvent(b, chain(100_000), 0) }
func BenchmarkEventStarRoot(b *testing.B)   { benchEvent(b, star(1_000_000), 0) }
func BenchmarkEventFunnelSink(b *testing.B) { benchEvent(b, funnel(100_000), 99_999) }

// BenchmarkFunnel is 100,000 held sources of one dirty sink, released and
// settled in random order, and the run of the sink.
func BenchmarkFunnel(b *testing.B) {
	const n = 100_000
	m := settled(b, funnel(n+1))
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for b.Loop() {
		b.StopTimer()
		for v := range sched.Vertex(n) {
			m.Hold(v, resgraph.StateHeld)
			m.Event(v)
		}
		m.Event(n)
		b.StartTimer()
		runs := 0
		for _, v := range order {
			m.Release(sched.Vertex(v))
			runs += drain(m)
		}
		if runs != n+1 || !m.AtRest() {
			b.Fatalf("%d runs", runs)
		}
	}
}

// converge lets the vertices of t become ready in the given order and run, 16 at
// once.
func converge(tb testing.TB, m *sched.Machine, order []int) {
	flight := make([]sched.Vertex, 0, 16)
	runs := 0
	step := func() bool {
		for len(flight) < 16 {
			run, more := m.Next()
			if !more {
				break
			}
			flight = append(flight, run...)
		}
		if len(flight) == 0 {
			return false
		}
		m.Done(flight[0], ok)
		flight = slices.Delete(flight, 0, 1)
		runs++
		return true
	}
	for _, v := range order {
		m.Ready(sched.Vertex(v))
		step()
	}
	for step() {
	}
	if runs != len(order) || !m.AtRest() {
		tb.Fatalf("%d runs of %d, %d pending", runs, len(order), m.Pending())
	}
}

func benchConverge(b *testing.B, t sched.Topology, shuffled bool) {
	order := make([]int, t.N)
	for i := range order {
		order[i] = i
	}
	if shuffled {
		order = rand.New(rand.NewPCG(3, 4)).Perm(t.N)
	}
	var m *sched.Machine
	bytes := 0.0
	for b.Loop() {
		b.StopTimer()
		m = nil
		before := heap()
		m = machine(b, t)
		b.StartTimer()
		converge(b, m, order)
		b.StopTimer()
		bytes = float64(heap()-before) / float64(t.N)
		b.StartTimer()
	}
	runtime.KeepAlive(m)
	b.ReportMetric(bytes, "B/vertex")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(t.N), "ns/vertex")
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func BenchmarkConvergeRandomShuffled(b *testing.B) {
	benchConverge(b, random(1_000_000, 3_000_000), true)
}
func BenchmarkConvergeRandomInOrder(b *testing.B) {
	benchConverge(b, random(1_000_000, 3_000_000), false)
}
func BenchmarkConvergeChainShuffled(b *testing.B) { benchConverge(b, chain(1_000_000), true) }
func BenchmarkConvergeDense(b *testing.B)         { benchConverge(b, layers(4, 50, 0), true) }

// heldMachine is a random graph of 100,000 with 64 vertices held dirty.
func heldMachine(tb testing.TB) *sched.Machine {
	m := settled(tb, random(100_000, 300_000))
	r := rand.New(rand.NewPCG(5, 6))
	for range 64 {
		v := sched.Vertex(r.IntN(100_000))
		m.Hold(v, resgraph.StateHeld)
		m.Event(v)
	}
	return m
}

// BenchmarkHeld is one event after another beside 64 held vertices.
func BenchmarkHeld(b *testing.B) { benchEvents(b, heldMachine(b), 100_000) }

// BenchmarkQuiet is one event after another all over a graph on which nothing else
// happens: its size must not show in what is looked at and started.
func BenchmarkQuiet(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchEvents(b, settled(b, random(n, 3*n)), n) })
	}
}

// benchEvents is one event after another on random ones of n vertices, each timed
// for itself, the clock included.
func benchEvents(b *testing.B, m *sched.Machine, n int) {
	r := rand.New(rand.NewPCG(8, 9))
	const batch = 20_000
	took := make([]time.Duration, 0, batch)
	started, looked := 0, m.Looked()
	for b.Loop() {
		v := sched.Vertex(r.IntN(n))
		from := time.Now()
		m.Event(v)
		started += drain(m)
		if len(took) < cap(took) {
			took = append(took, time.Since(from))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(took[len(took)-1].Nanoseconds()), "max-ns")
	b.ReportMetric(float64(started)/float64(b.N), "runs/event")
	b.ReportMetric(float64(m.Looked()-looked)/float64(b.N), "looks/event")
}

// benchStorm is events all over a quiet graph with 16 runs in flight.
func benchStorm(b *testing.B, t sched.Topology) {
	m := settled(b, t)
	r := rand.New(rand.NewPCG(12, 13))
	flight := make([]sched.Vertex, 0, 32)
	for b.Loop() {
		m.Event(sched.Vertex(r.IntN(t.N)))
		for {
			run, more := m.Next()
			if !more {
				break
			}
			flight = append(flight, run...)
		}
		if len(flight) >= 16 {
			i := r.IntN(len(flight))
			m.Done(flight[i], ok)
			flight[i] = flight[len(flight)-1]
			flight = flight[:len(flight)-1]
		}
	}
}

func BenchmarkStormRandom(b *testing.B) { benchStorm(b, random(100_000, 300_000)) }
func BenchmarkStormLayers(b *testing.B) { benchStorm(b, layers(100, 1000, 3)) }

// BenchmarkStarRecovers is a failed root over a million dirty leaves that becomes
// ok: the end of its run alone.
func BenchmarkStarRecovers(b *testing.B) {
	const n = 1_000_000
	m := settled(b, star(n))
	m.Fail(0, true)
	for v := range sched.Vertex(n) {
		m.Event(v)
	}
	m.Next()
	var most time.Duration
	for b.Loop() {
		m.Wake(0)
		m.Next()
		from := time.Now()
		m.Done(0, ok)
		most = max(most, time.Since(from))
		m.Fail(0, true)
	}
	b.ReportMetric(float64(most.Nanoseconds()), "max-ns")
}

// BenchmarkSwap replaces one vertex of 100,000.
func BenchmarkSwap(b *testing.B) {
	t := random(100_000, 300_000)
	m := settled(b, t)
	t.Removed, t.Added = []sched.Vertex{50_000}, []sched.Vertex{50_000}
	for b.Loop() {
		if err := m.Swap(t); err != nil {
			b.Fatal(err)
		}
	}
}
