package run

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/engine/reactor"
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
	end  func()
}

// newTrimmer makes the part that returns memory after a new graph.
func newTrimmer() *trimmer {
	return &trimmer{graph: make(chan struct{}, 1), free: giveBack, end: func() {}}
}

// giveBack gives back the unused part of the heap, and the pages of the program itself.
// It runs a collection of garbage first, so it is called only twice for each graph.
func giveBack() {
	debug.FreeOSMemory()
	dropProgram()
}

// Open implements daemon.Part.
func (t *trimmer) Open(_ context.Context, d *daemon.Daemon) error {
	d.Options.Observer = t.observe(d.Options.Observer)
	return nil
}

// observe waits for the first convergence of each graph: before it, memory is still in
// use.
func (t *trimmer) observe(o mgmt.Observer) mgmt.Observer {
	return o.With(mgmt.Observer{
		Swapped: func(reactor.Swap) { t.fresh = true },
		Converged: func(yes bool, _ reactor.Counts) {
			if yes && t.fresh {
				t.fresh = false
				ask(t.graph)
			}
		},
	})
}

// Start implements daemon.Part: it begins to wait for graphs.
func (t *trimmer) Start(ctx context.Context, _ *mgmt.Engine) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { t.run(ctx) })
	t.end = func() {
		cancel()
		wg.Wait()
	}
	return nil
}

// Close implements daemon.Part.
func (t *trimmer) Close() error {
	t.end()
	return nil
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

// ask leaves a question in a channel of capacity one, unless there is one: two at once count as one.
func ask(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
