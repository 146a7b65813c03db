package cmd

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
)

// trimAfter are how long a graph that has converged is left alone before its memory is
// tidied, and again: the events of its own writes may come late.
var trimAfter = [...]time.Duration{5 * time.Second, 30 * time.Second}

// trimmer gives back to the system, twice for each graph, what bringing it about has
// taken and keeping it does not need.
type trimmer struct {
	// graph has capacity one: two graphs that converge meanwhile count as one.
	graph chan struct{} // a graph has converged for the first time
	fresh bool          // of the loop
	// free is giveBack, and a counter in tests.
	free func()
}

// newTrimmer makes the part that returns memory after a new graph.
func newTrimmer() *trimmer {
	return &trimmer{graph: make(chan struct{}, 1), free: giveBack}
}

// giveBack gives back the unused part of the heap, and the pages of the program itself.
// It runs a collection of garbage first, so it is called only twice for each graph.
func giveBack() {
	debug.FreeOSMemory()
	dropProgram()
}

// observe waits for the first convergence of each graph: before it, memory is still in
// use.
func (t *trimmer) observe(o mgmt.Observer) mgmt.Observer {
	return o.With(mgmt.Observer{
		Swapped: func(mgmt.Swap) { t.fresh = true },
		Converged: func(yes bool, _ mgmt.Counts) {
			if yes && t.fresh {
				t.fresh = false
				ask(t.graph)
			}
		},
	})
}

// start begins to wait for graphs; the returned function ends that.
func (t *trimmer) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { t.run(ctx) })
	return func() { cancel(); wg.Wait() }
}

// run returns memory at the times of trimAfter, until the context ends.
func (t *trimmer) run(ctx context.Context) {
	for {
		select {
		case <-t.graph:
		case <-ctx.Done():
			return
		}
		// A graph that converges during these waits is served after them.
		for _, after := range trimAfter {
			wait := time.NewTimer(after)
			select {
			case <-wait.C:
				t.free()
			case <-ctx.Done():
				wait.Stop()
				return
			}
		}
	}
}
