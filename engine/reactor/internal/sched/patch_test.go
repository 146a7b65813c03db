package sched_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
)

// replacing returns a patch of a random graph that gives vertex v a new slot with the same edges.
func replacing(t sched.Topology, v, slot sched.Vertex) sched.Patch {
	p := sched.Patch{N: max(t.N, int(slot)+1), Removed: []sched.Vertex{v}, Added: []sched.Vertex{slot}}
	for _, e := range t.Edges {
		switch v {
		case e[0]:
			p.Join = append(p.Join, [2]sched.Vertex{slot, e[1]})
		case e[1]:
			p.Join = append(p.Join, [2]sched.Vertex{e[0], slot})
		}
	}
	return p
}

// patchBytes returns the memory that one Patch of a quiet graph allocates.
func patchBytes(t *testing.T, n int) uint64 {
	t.Helper()
	top := random(n, 3*n)
	m := settled(t, top)
	there, back := replacing(top, sched.Vertex(n/2), sched.Vertex(n)), replacing(top, sched.Vertex(n/2), sched.Vertex(n))
	back.Removed, back.Added, back.Join = there.Added, there.Removed, nil
	for _, e := range top.Edges {
		if e[0] == there.Removed[0] || e[1] == there.Removed[0] {
			back.Join = append(back.Join, e)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 50
	for range rounds {
		for _, p := range []sched.Patch{there, back} {
			if err := m.Patch(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / (2 * rounds)
}

// TestCostPatch: a Patch costs the part, whatever the size of the graph.
func TestCostPatch(t *testing.T) {
	small, large := patchBytes(t, 1000), patchBytes(t, 100_000)
	t.Logf("%d bytes of 1,000 vertices, %d of 100,000", small, large)
	if large > 4*small+4096 {
		t.Errorf("a Patch allocates %d bytes of 1,000 vertices, %d of 100,000", small, large)
	}
}

// TestPatchRefuses: a Patch whose slots contradict those in use changes nothing.
func TestPatchRefuses(t *testing.T) {
	t.Parallel()
	m := settled(t, chain(4))
	for name, p := range map[string]sched.Patch{
		"fewer slots":       {N: 3},
		"keys for no one":   {N: 4, Batch: []int32{0}},
		"removes a hole":    {N: 5, Removed: []sched.Vertex{4}},
		"removes twice":     {N: 4, Removed: []sched.Vertex{1, 1}},
		"adds what is used": {N: 4, Added: []sched.Vertex{1}},
		"adds twice":        {N: 5, Added: []sched.Vertex{4, 4}},
		"reuses at once":    {N: 4, Removed: []sched.Vertex{1}, Added: []sched.Vertex{1}},
		"adds beyond":       {N: 4, Added: []sched.Vertex{4}},
		"edge to a hole":    {N: 4, Removed: []sched.Vertex{3}, Join: [][2]sched.Vertex{{0, 3}}},
		"cut at a hole":     {N: 5, Cut: [][2]sched.Vertex{{0, 4}}},
	} {
		if err := m.Patch(p); !errors.Is(err, sched.ErrSlot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := m.Patch(sched.Patch{N: 4, Join: [][2]sched.Vertex{{3, 1}}})
	if c, ok := errors.AsType[*sched.CycleError](err); !ok || len(c.Path) != 3 {
		t.Errorf("%v", err)
	}
	if err := m.Invariants(); err != nil || !m.AtRest() {
		t.Errorf("%v, at rest %v", err, m.AtRest())
	}
}

// BenchmarkPatchOfStar replaces the root of a star, or cuts all its edges: the time grows with the edges, and not with their square.
func BenchmarkPatchOfStar(b *testing.B) {
	for _, n := range []int{5000, 40_000} {
		top := star(n)
		for name, p := range map[string]sched.Patch{"replace": replacing(top, 0, sched.Vertex(n)), "cut": {N: top.N, Cut: top.Edges}} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					m := settled(b, top)
					b.StartTimer()
					if err := m.Patch(p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPatch replaces one vertex of 100,000.
func BenchmarkPatch(b *testing.B) {
	top := random(100_000, 300_000)
	m := settled(b, top)
	p := replacing(top, 50_000, 100_000)
	for b.Loop() {
		if err := m.Patch(p); err != nil {
			b.Fatal(err)
		}
		old := p.Removed
		p.Removed, p.Added = p.Added, old
		for i, e := range p.Join {
			for end, v := range e {
				if v == p.Removed[0] {
					p.Join[i][end] = p.Added[0]
				}
			}
		}
	}
}
