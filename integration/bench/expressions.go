package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// expressionRows are graphs that compute values.
// Their limits are processor time, since the frontend waits until files are quiet.
// The wait costs nothing.
func expressionRows() []row {
	return []row{
		{"10,000 resources of a loop with three expressions each", library, "CPU from the file, to the declared graph; floor: the same graph written out; medians of nine in turn", "150 ms more than the floor", loopOfTenThousand},
		{"one fact changed that one of 10,000 reads", library, "CPU of the process from the new fact, to the swap in effect; mean of 50", "10 ms of CPU, no other touched", oneFactOfTenThousand},
	}
}

// loopOfTenThousand compares a loop with the same resources written out.
// A name and a text have three expressions together. Loop and floor take turns, so that both
// meet the same neighbours. Nothing runs: the row ends with the declared graph.
func loopOfTenThousand(b *bench) result {
	const loop = `resources:
  file:
  - name: "/srv/${{ each.value }}"
    for_each: ${{ lists.range(10000) }}
    content: "${{ facts.hostname }} ${{ each.value + 1 }}\n"
`
	var out strings.Builder
	out.WriteString("resources:\n  file:\n")
	for i := range 10_000 {
		fmt.Fprintf(&out, "  - name: \"/srv/%d\"\n    content: \"w1 %d\\n\"\n", i, i+1)
	}
	var loops, floors []time.Duration
	for range 9 {
		loops = append(loops, loadTenThousand(b, loop))
		floors = append(floors, loadTenThousand(b, out.String()))
	}
	got, floor := median(loops), median(floors)
	return result{Figure: round(got), Floor: round(floor), OK: got <= floor+150*time.Millisecond}
}

// loadTenThousand returns the processor time in which a file becomes 10,000 declarations.
// Expressions are checked against the types of the kinds, as the program does it.
func loadTenThousand(b *bench, src string) time.Duration {
	// No resource is grouped, so each is a vertex and a swap counts them all.
	path := filepath.Join(b.dir, "graph.yaml")
	must(os.WriteFile(path, []byte(src), 0o600))
	used, _ := spent(func() {
		d, err := yaml.Load(path, yaml.Options{
			Facts:    func() map[string]any { return map[string]any{"hostname": "w1"} },
			Registry: engine.DefaultRegistry,
		}, nil)
		must(err)
		if len(d.Resources) != 10_000 {
			panic(fmt.Sprintf("%d resources", len(d.Resources)))
		}
	})
	return used
}

// factHost is this machine with a number of processors that the row sets.
// It has one subscription to facts at most, which is not closed before the host.
type factHost struct {
	*host.Host
	mu    sync.Mutex
	cpus  int
	woken chan struct{}
}

// Facts returns those of this machine, but for the number.
func (h *factHost) Facts() engine.Facts {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.Host.Facts()
	f.CPUs = h.cpus
	return f
}

// WatchFacts returns the one subscription, which the host is itself.
func (h *factHost) WatchFacts(context.Context) (engine.Subscription, error) { return h, nil }

// C wakes a reader once for each change, and Cause names no source: the reader asks Facts again.
func (h *factHost) C() <-chan struct{}  { return h.woken }
func (h *factHost) Cause() engine.Cause { return engine.Cause{} }

// Close ends a subscription, not the host.
func (h *factHost) Close() {}

// set changes the number, and wakes who watches facts.
// It waits while a wake-up before it was not taken.
func (h *factHost) set(cpus int) {
	h.mu.Lock()
	h.cpus = cpus
	h.mu.Unlock()
	h.woken <- struct{}{}
}

// oneFactOfTenThousand changes a fact, which wakes the frontend.
// The time covers the reading of the file, the computation, the check of the graph and the
// swap. The file stays as it is. A swap that touches another resource misses the limit.
func oneFactOfTenThousand(b *bench) result {
	var src strings.Builder
	src.WriteString("resources:\n  noop:\n  - {name: reader, comment: \"${{ facts.cpus }}\", meta: {autogroup: false}}\n")
	for i := range 9_999 {
		fmt.Fprintf(&src, "  - {name: \"%d\", meta: {autogroup: false}}\n", i)
	}
	path := filepath.Join(b.dir, "graph.yaml")
	must(os.WriteFile(path, []byte(src.String()), 0o600))
	machine, err := host.New(context.Background(), host.Options{})
	must(err)
	defer machine.Close()
	h := &factHost{Host: machine, cpus: 1, woken: make(chan struct{}, 1)}
	r := start(yaml.New(path, yaml.Options{Settle: time.Millisecond}), mgmt.Options{Host: h})
	defer r.close()
	<-r.swapped
	r.rest()
	// CPU and not time is measured, since the frontend waits for the file to settle. The mean of all rounds has the garbage
	// of each in it.
	const rounds = 50
	begin, alone := cpu(), true
	for i := range rounds {
		h.set(2 + i)
		s := <-r.swapped
		alone = alone && s.Changed == 1 && s.Added+s.Removed == 0
	}
	each := (cpu() - begin) / rounds
	return result{Figure: fmt.Sprintf("%s, alone: %t", round(each), alone), OK: alone && each <= 10*time.Millisecond}
}
