package graph_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/reactivegraph/mgmt/graph"
)

// The sizes that the benchmarks run at: vertices, and three edges for each.
var sizes = []int{100_000, 1_000_000}

// names returns ids like those of resources.
func names(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("file[/srv/data/%07d]", i)
	}
	return ids
}

// random builds an acyclic graph with three edges per vertex, its edges in no
// order and its topological order not that of the indices.
func random(tb testing.TB, ids []string, seed uint64) *graph.Graph[int] {
	tb.Helper()
	n := len(ids)
	r := rand.New(rand.NewPCG(seed, 1))
	perm := r.Perm(n)
	g := graph.New[int]("bench")
	for i, id := range ids {
		if _, err := g.Add(id, i); err != nil {
			tb.Fatal(err)
		}
	}
	for range 3 * n {
		a, b := r.IntN(n), r.IntN(n)
		if a == b {
			continue
		}
		connect(tb, g, graph.Edge{From: perm[min(a, b)], To: perm[max(a, b)]})
	}
	return g
}

// BenchmarkBuild is from ids to both adjacencies.
func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ids := names(n)
			b.ReportAllocs()
			for b.Loop() {
				random(b, ids, 1).EdgeCount()
			}
		})
	}
}

// BenchmarkSort is from ids to a topological order: build, lay out, sort. The
// heap that the graph keeps is reported per vertex.
func BenchmarkSort(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ids := names(n)
			before := heap()
			var g *graph.Graph[int]
			for b.Loop() {
				g = random(b, ids, 1)
				if _, err := g.Sort(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(heap()-before)/float64(n), "heap-B/vertex")
			runtime.KeepAlive(g)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkCycle is a graph with one wrong edge, its layout included.
func BenchmarkCycle(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := random(b, names(n), 1)
			order, err := g.Sort()
			if err != nil {
				b.Fatal(err)
			}
			wrong := graph.Edge{From: order[n-1], To: order[0]}
			for b.Loop() {
				connect(b, g, wrong)
				if c := g.Cycle(); g.Reachable(order[0], order[n-1]) != (c != nil) {
					b.Fatal(c)
				}
			}
		})
	}
}

// BenchmarkReachable asks about two random vertices of a million.
func BenchmarkReachable(b *testing.B) {
	const n = 1_000_000
	g := random(b, names(n), 1)
	r := rand.New(rand.NewPCG(7, 7))
	g.Reachable(0, 1)
	for b.Loop() {
		g.Reachable(r.IntN(n), r.IntN(n))
	}
}

// BenchmarkLink looks edges up, of which about none are there.
func BenchmarkLink(b *testing.B) {
	const n = 1_000_000
	g := random(b, names(n), 1)
	g.EdgeCount()
	i := 0
	for b.Loop() {
		g.Link(i%n, (i*7919)%n)
		i++
	}
}

// BenchmarkDraw draws 10,000 vertices, reduced.
func BenchmarkDraw(b *testing.B) {
	g := random(b, names(10_000), 1)
	for b.Loop() {
		if err := g.WriteDOT(io.Discard, graph.DrawOptions{Reduce: true}); err != nil {
			b.Fatal(err)
		}
	}
}
