package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
)

// graphRows are graphs of noops, so the figures have the work of the engine and none of a kind.
// The rows of the scheduler alone come from the benchmarks of its package.
func graphRows() []row {
	const clock = "graph in Go handed to the reactor, to converged"
	return []row{
		{"chain of 5,000 noops", library, clock, "40ms", func(*bench) result { return converge(chain(5000), 40*time.Millisecond) }},
		{"100 layers of 100, 3 random edges up", library, clock, "150ms", func(*bench) result { return converge(layers(100, 100, 3), 150*time.Millisecond) }},
		{"4 dense layers of 50", library, clock, "10ms", func(*bench) result { return converge(layers(4, 50, 50), 10*time.Millisecond) }},
		{"event on the last of a chain of 100,000", scheduler, "event given to the scheduler, to its run done", "2µs", schedRow("EventChainEnd", 2*time.Microsecond)},
		{"event on the root of a star of 1,000,000", scheduler, "event given to the scheduler, to its run done", "2µs", schedRow("EventStarRoot", 2*time.Microsecond)},
		{"100,000 held sources of one sink settling", scheduler, "first source done, to the sink done", "50ms", schedRow("Funnel", 50*time.Millisecond)},
		{"event beside a held root", library, "event called in Watch, to the start of CheckApply; 2,000 leaves, half below a root that runs", "p99 1ms", heldRoot},
	}
}

// plain is a graph of n noops.
func plain(n int) *resgraph.Graph {
	g := graph.New[*resgraph.Vertex]("bench")
	for i := range n {
		res := aloneNoop()
		addTo(g, "noop", i, res)
	}
	return g
}

// addTo adds a resource by the number i, which is its name. No frontend has part in it:
// the graph goes to the reactor as it is.
func addTo(g *resgraph.Graph, kind string, i int, res engine.Res) {
	res.SetKind(kind)
	res.SetName(strconv.Itoa(i))
	_, err := g.Add(res.String(), &resgraph.Vertex{Res: res})
	must(err)
}

// chain is the worst graph for a scheduler: no two vertices may run at once, so the time is
// the latency of one vertex times n.
func chain(n int) func() *resgraph.Graph {
	return func() *resgraph.Graph {
		g := plain(n)
		for i := range n - 1 {
			must(g.Connect(graph.Edge{From: i, To: i + 1}))
		}
		return g
	}
}

// layers makes each vertex depend on some of the layer above; width means all.
func layers(depth, width, edges int) func() *resgraph.Graph {
	return func() *resgraph.Graph {
		// The seed is fixed, so every run has the same edges.
		rng := rand.New(rand.NewPCG(7, 7))
		g := plain(depth * width)
		for i := width; i < depth*width; i++ {
			above := (i/width - 1) * width
			for e := range edges {
				from := above + e
				if edges < width {
					from = above + rng.IntN(width)
				}
				must(g.Connect(graph.Edge{From: from, To: i}))
			}
		}
		return g
	}
}

// bare is a reactor without a front door.
type bare struct {
	*reactor.Reactor
	rested chan time.Time
	close  func()
}

// newReactor starts a reactor with everything in memory. The caller closes it, which waits for its goroutines.
// The channel has room for many convergences, since the loop of the reactor must not wait for a reader.
func newReactor() *bare {
	h, err := host.New(context.Background(), host.Options{})
	must(err)
	b := &bare{rested: make(chan time.Time, 1024)}
	b.Reactor, err = reactor.New(reactor.Options{
		Host: h, World: memory.New(), Store: journal.NewMemory(),
		Listener: reactor.Listener{Converged: func(yes bool, _ reactor.Counts) {
			if yes {
				b.rested <- time.Now()
			}
		}},
	})
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.close = func() {
		stop()
		must(errors.Join(<-done, h.Close()))
	}
	return b
}

// Making the graph is not measured, and each round has a reactor of its own.
// converge takes the median of nine.
func converge(make func() *resgraph.Graph, limit time.Duration) result {
	var took []time.Duration
	for range 9 {
		g := make()
		r := newReactor()
		begin := time.Now()
		must(r.Swap(context.Background(), g))
		took = append(took, (<-r.rested).Sub(begin))
		r.close()
	}
	return under(median(took), limit)
}

// probe is a resource that tells when it runs, and whose events a test sends.
type probe struct {
	traits.Base
	traits.Overlapping
	init  *engine.Init
	event chan struct{}
	ran   func()
}

func (p *probe) Default() engine.Res       { return &probe{} }
func (p *probe) Validate() error           { return nil }
func (p *probe) Init(i *engine.Init) error { p.init = i; return nil }
func (p *probe) Cleanup() error            { return nil }
func (p *probe) Cmp(engine.Res) error      { return nil }

// Watch passes on each event that the test sends, without delay.
func (p *probe) Watch(ctx context.Context) error {
	p.init.Running()
	for {
		select {
		case <-p.event:
			p.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// CheckApply tells the time of its run through ran, and changes nothing.
func (p *probe) CheckApply(context.Context, bool) (bool, error) {
	p.ran()
	return true, nil
}

// holder holds all vertices below it once it is told to.
type holder struct {
	probe
	held chan struct{} // closed to go on
	hold bool
}

// CheckApply blocks as a slow command does, until held is closed or the run ends.
func (h *holder) CheckApply(ctx context.Context, _ bool) (bool, error) {
	if h.hold {
		select {
		case <-h.held:
		case <-ctx.Done():
		}
	}
	return true, nil
}

// heldRoot measures events on leaves beside a root that runs for long.
func heldRoot(b *bench) result {
	const leaves = 2000
	// The odd leaves do not depend on the root, so their events must not wait for it. Each round also
	// wakes a leaf below the root, which has to wait: the queue of such leaves must cost the others nothing.
	hold := 10 * time.Second
	if b.quick {
		hold = time.Second
	}
	g := graph.New[*resgraph.Vertex]("held")
	root := &holder{probe: probe{event: make(chan struct{})}, held: make(chan struct{})}
	addTo(g, "holder", 0, root)
	var mu sync.Mutex
	var took []time.Duration
	sent := make([]time.Time, leaves)
	ran := make(chan struct{}, leaves)
	probes := make([]*probe, leaves)
	for i := range leaves {
		p := &probe{event: make(chan struct{})}
		p.ran = func() {
			mu.Lock()
			defer mu.Unlock()
			if !sent[i].IsZero() {
				took = append(took, time.Since(sent[i]))
				sent[i] = time.Time{}
				ran <- struct{}{}
			}
		}
		probes[i] = p
		addTo(g, "probe", i, p)
		if i%2 == 0 {
			must(g.Connect(graph.Edge{From: 0, To: i + 1}))
		}
	}
	// The first convergence runs every vertex once. From then on the root is held.
	r := newReactor()
	must(r.Swap(context.Background(), g))
	<-r.rested
	root.hold = true
	root.event <- struct{}{}
	rng := rand.New(rand.NewPCG(3, 3))
	for begin := time.Now(); time.Since(begin) < hold; {
		below, beside := probes[rng.IntN(leaves/2)*2], rng.IntN(leaves/2)*2+1
		below.event <- struct{}{}
		mu.Lock()
		sent[beside] = time.Now()
		mu.Unlock()
		probes[beside].event <- struct{}{}
		<-ran
	}
	close(root.held)
	r.close()
	p99 := quantile(took, 0.99)
	return result{Figure: fmt.Sprintf("p50 %s, p99 %s", round(median(took)), round(p99)), OK: p99 < time.Millisecond}
}
