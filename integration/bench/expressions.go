package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// expressionRows are graphs that compute values.
// Their limits are processor time, since the frontend waits until files are quiet.
// The wait costs nothing.
func expressionRows() []row {
	return []row{
		{"10,000 resources of a loop with three expressions each", library, "CPU from the file, to the declared graph; floor: the same graph written out; medians of nine in turn", "150 ms more than the floor", loopOfTenThousand},
		{"one fact changed that one of 10,000 reads", library, "CPU of the process from the new fact, to the swap in effect; mean of 50", "10 ms of CPU, no other touched", oneFactOfTenThousand},
		{"a sent value through an expression", library, "CPU of the process from the new value, to the run of its receiver; floor: recv of the same value; medians of 63 blocks of 100 in turn", "5µs more than the floor", sentValue},
		{"start of the packages of expressions", program, "initialization of the packages that only expressions and secrets need, as GODEBUG=inittrace=1 tells it of mgmt version; medians of nine", "1 ms, 2 MB", startOfExpressions},
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
func (h *factHost) WatchFacts(context.Context) (events.Subscription, error) { return h, nil }

// C wakes a reader once for each change, and Cause names no source: the reader asks Facts again.
func (h *factHost) C() <-chan struct{}  { return h.woken }
func (h *factHost) Cause() events.Cause { return events.Cause{} }

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

// sentValue compares two receivers of the same value: an expression computes the parameter of the first, and
// recv gives the second the value as it is.
// Both graphs run in this process with stores of their own, and take turns. A value that does not arrive
// ends the row. Each pair of graphs gets fewer than 1,000 values, and then a new pair begins.
func sentValue(b *bench) result {
	const sent, plain = `any: "${{ sent('kv[k].value') + '!' }}"`, `recv: {any: "kv[k].value"}`
	pairs := 7
	if b.quick {
		pairs = 1
	}
	var figures, floors []time.Duration
	for range pairs {
		with, without := newRelay(b, "sent", sent), newRelay(b, "plain", plain)
		for range 9 {
			figures = append(figures, with.block(100))
			floors = append(floors, without.block(100))
		}
		with.r.close()
		without.r.close()
	}
	got, floor := median(figures), median(floors)
	return result{Figure: round(got), Floor: round(floor), OK: got <= floor+5*time.Microsecond}
}

// relay is a graph whose resource value[v] gets each value that is written to a store.
type relay struct {
	r     *running
	world world.World
	ran   chan struct{} // value[v] has run
	next  int
}

// newRelay returns when the graph is at rest.
// The store has a value before the graph starts: a kv without one fails. The caller closes the engine.
func newRelay(b *bench, name, receiver string) *relay {
	l := &relay{world: memory.New(), ran: make(chan struct{}, 1024)}
	l.write()
	path := filepath.Join(b.dir, name+".yaml")
	must(os.WriteFile(path, []byte("resources:\n  kv: [{name: k}]\n  value:\n  - name: v\n    "+receiver+"\n"), 0o600))
	var o mgmt.Options
	o.World = mgmt.Share(l.world)
	o.Observer.Ran = func(run reactor.Run) {
		if run.Resource == "value[v]" {
			l.ran <- struct{}{}
		}
	}
	l.r = start(yaml.New(path, yaml.Options{}), o)
	l.r.rest()
	<-l.ran
	return l
}

// write writes the next value. Values differ, since an equal one would wake no receiver.
// The store belongs to the relay alone, so an error ends the row.
func (l *relay) write() {
	l.next++
	_, _, err := l.world.Txn(context.Background(), nil, []world.Op{{Key: hosts.KVKey(hosts.All, "k"), Value: []byte(strconv.Itoa(l.next))}})
	must(err)
}

// The blocks are short, so both graphs of a pair meet the same neighbours. An engine at rest costs nothing meanwhile.
//
// block returns the processor time of one value, the mean of a number of them.
func (l *relay) block(count int) time.Duration {
	begin := cpu()
	for range count {
		l.write()
		select {
		case <-l.ran:
		case <-time.After(time.Minute):
			panic("a value was not received in a minute")
		}
		for len(l.r.converged) > 0 { // the engine waits when this is full
			<-l.r.converged
		}
	}
	return (cpu() - begin) / time.Duration(count)
}

// startOfExpressions adds up the initialization of the packages that a program without expressions would not need.
// The runtime gives times of a clock on the wall, which another process can lengthen. So the median of nine counts.
// The bytes are those of the heap, and the code is not among them.
func startOfExpressions(b *bench) result {
	var took []time.Duration
	var sizes []int
	for range 9 {
		cmd := exec.Command(b.binary, "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return result{Err: fmt.Sprintf("%v: %s", err, out)}
		}
		// A line of the runtime has milliseconds and bytes.
		var all float64
		size := 0
		for line := range strings.Lines(string(out)) {
			if m := initLine.FindStringSubmatch(line); m != nil && ofExpressions.MatchString(m[1]) {
				ms, err := strconv.ParseFloat(m[2], 64)
				must(err)
				bytes, err := strconv.Atoi(m[3])
				must(err)
				all, size = all+ms, size+bytes
			}
		}
		if size == 0 {
			return result{Err: "the program tells of no package of expressions"}
		}
		took, sizes = append(took, time.Duration(all*float64(time.Millisecond))), append(sizes, size)
	}
	slices.Sort(sizes)
	got, size := median(took), float64(sizes[len(sizes)/2])/1e6
	return result{Figure: fmt.Sprintf("%s, %.2f MB", round(got), size), OK: got <= time.Millisecond && size <= 2}
}

// initLine is a line of the runtime about a package: its path, its time and its bytes.
var initLine = regexp.MustCompile(`^init (\S+) @.*?, (\S+) ms clock, (\d+) bytes`)

// ofExpressions are the packages that expressions, templates and secrets alone have brought into the program.
var ofExpressions = regexp.MustCompile(`^(cel\.dev/|github\.com/antlr4-go/|google\.golang\.org/genproto/googleapis/api/expr|filippo\.io/|github\.com/reactivegraph/mgmt/(engine/expr|gapi/expand))`)
