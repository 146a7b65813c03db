package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// eventRows are about the way of an event through the engine.
func eventRows() []row {
	return []row{
		{"event through the library", library, "CPU and allocations of the process for each event, Init.Event called to CheckApply called; 1,000 vertices at rest, 64 events at once; then one at a time", "2µs of CPU and 3 allocations at 64", eventCost},
	}
}

// eventCost takes the medians of nine rounds.
// The events come 64 at once, which shares wake-ups, and then one at a time, which shares
// none. The limit is on the first.
func eventCost(b *bench) result {
	count := 100_000
	if b.quick {
		count = 10_000
	}
	s := newStir(1000)
	many, allocs := s.rounds(count, 64)
	one, more := s.rounds(count, 1)
	s.r.close()
	return result{
		Figure: fmt.Sprintf("%s, %.1f allocations; one at a time %s, %.1f allocations", round(many), allocs, round(one), more),
		OK:     many <= 2*time.Microsecond && allocs <= 3,
	}
}

// stir is a graph at rest whose vertices get events.
// The runs are counted by all vertices together; the last awaited one says so on enough.
type stir struct {
	r      *bare
	probes []*probe
	ran    atomic.Int64
	until  atomic.Int64 // how many runs are awaited
	enough chan struct{}
}

// It returns when the graph has converged. The reactor is bare, with neither a file nor a
// journal.
// newStir starts a graph of n probes.
func newStir(n int) *stir {
	s := &stir{r: newReactor(), probes: make([]*probe, n), enough: make(chan struct{}, 1)}
	g := graph.New[*resgraph.Vertex]("events")
	for i := range s.probes {
		s.probes[i] = &probe{ran: func() {
			if s.ran.Add(1) == s.until.Load() {
				s.enough <- struct{}{}
			}
		}}
		addTo(g, "probe", i, s.probes[i])
	}
	must(s.r.Swap(context.Background(), g))
	<-s.r.rested
	return s
}

// send sends events, some at once, and waits each time until all of them have led to a run.
// Each round is waited for, so at most that many events are on their way. Count is a
// multiple of atOnce.
func (s *stir) send(count, atOnce int) {
	for i := 0; i < count; i += atOnce {
		s.until.Store(s.ran.Load() + int64(atOnce))
		for n := range atOnce {
			s.probes[(i+n)%len(s.probes)].init.Event()
		}
		<-s.enough
	}
}

// rounds returns the cost of an event.
// Both are for one event: processor time of the process, which includes the collector of
// garbage, and the number of allocations. They are medians of nine.
func (s *stir) rounds(count, atOnce int) (used time.Duration, allocs float64) {
	count -= count % atOnce
	var times []time.Duration
	var made []float64
	for range 9 {
		// Each round begins without garbage of the one before, whose collection it would pay.
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		begin := cpu()
		s.send(count, atOnce)
		times = append(times, (cpu()-begin)/time.Duration(count))
		runtime.ReadMemStats(&after)
		made = append(made, float64(after.Mallocs-before.Mallocs)/float64(count))
	}
	slices.Sort(made)
	return median(times), made[len(made)/2]
}
