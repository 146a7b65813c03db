package integration_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
)

// The tests named TestBugNN are those of docs/development/bugs.md: here the ones
// that need the whole engine.

// daemon runs an engine on a graph file, and notes what it is told.
type daemon struct {
	t    *testing.T
	file string
	stop context.CancelFunc
	done chan error

	mu    sync.Mutex
	swaps int
	calm  bool
	runs  []reactor.Run
}

func startDaemon(t *testing.T, graph string) *daemon {
	t.Helper()
	dir := t.TempDir()
	d := &daemon{t: t, file: filepath.Join(dir, "graph.yaml"), done: make(chan error, 1)}
	d.write(graph)
	ctx, stop := context.WithCancel(t.Context())
	d.stop = stop
	e, err := mgmt.Open(ctx, mgmt.Options{State: mgmt.StateIn(filepath.Join(dir, "state")), Observer: mgmt.Observer{
		Swapped:   func(reactor.Swap) { d.note(func() { d.swaps++ }) },
		Ran:       func(r reactor.Run) { d.note(func() { d.runs = append(d.runs, r) }) },
		Converged: func(yes bool, _ reactor.Counts) { d.note(func() { d.calm = yes }) },
	}}, yaml.New(d.file, yaml.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	go func() { d.done <- e.Wait() }()
	d.until("converged", func() bool { return d.swaps == 1 && d.calm })
	return d
}

func (d *daemon) note(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// until waits for what is noted.
func (d *daemon) until(what string, ok func() bool) {
	d.t.Helper()
	yes := await.Eventually(func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return ok()
	})
	if !yes {
		d.t.Fatalf("not %s in time", what)
	}
}

func (d *daemon) write(graph string) {
	d.t.Helper()
	if err := os.WriteFile(d.file+"~", []byte(graph), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(d.file+"~", d.file); err != nil {
		d.t.Fatal(err)
	}
}

// change writes another graph and waits until it has taken effect and rests.
func (d *daemon) change(graph string) {
	d.t.Helper()
	n := 0
	d.note(func() { n = d.swaps })
	d.write(graph)
	d.until("swapped and at rest", func() bool { return d.swaps > n && d.calm })
}

func (d *daemon) end() {
	d.t.Helper()
	d.stop()
	if err := <-d.done; err != nil {
		d.t.Error(err)
	}
}

// of returns how often a resource has run.
func (d *daemon) of(resource string) (n int, last reactor.Run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.runs {
		if r.Resource == resource {
			n, last = n+1, r
		}
	}
	return n, last
}

// TestBug16_AReceivedValueRunsItsReceiver: of resources that would be a group, one
// comes to receive a value. It runs for that, and for each other value, by itself.
//
// Seen failing with: engine/transform/autogroup.go, alone: v.Recv not looked at.
func TestBug16_AReceivedValueRunsItsReceiver(t *testing.T) {
	graph := func(value, recv string) string {
		return `
resources:
  value:
  - {name: v, any: ` + value + `}
  print:
  - {name: owner, msg: mine, depend: ["value[v]"]}
  - {name: member, msg: mine, depend: ["value[v]"]` + recv + `}
`
	}
	const wired = `, recv: {msg: "value[v].any"}`
	d := startDaemon(t, graph("one", ""))
	defer d.end()
	if n, _ := d.of("print[member]"); n != 0 {
		t.Errorf("the member ran %d times by itself", n)
	}
	for i, value := range []string{"one", "two", "three"} {
		d.change(graph(value, wired))
		if n, last := d.of("print[member]"); n != i+1 || last.State != resgraph.StateOK {
			t.Errorf("%s: it ran %d times, and is %s: %v", value, n, last.State, last.Err)
		}
	}
	if n, _ := d.of("print[owner]"); n > 2 {
		t.Errorf("the owner ran %d times", n)
	}
}

// TestBug28_SwapsLeaveNothingTurning: after many graphs, each of which ends Watches
// of every kind, there are about as many goroutines as before, and nothing computes.
//
// Seen failing with: resources/timer.go, Watch: a goroutine that turns once ctx has
// ended; resources/file/watch.go, Watch: one that waits for a context without an end.
func TestBug28_SwapsLeaveNothingTurning(t *testing.T) {
	dir := t.TempDir()
	graph := func(i int) string {
		return strings.NewReplacer("DIR", dir, "#", strconv.Itoa(i)).Replace(`
resources:
  timer:
  - {name: t, interval: 100#}
  - {name: "t#", interval: 1h}
  file:
  - {name: DIR/f, content: "#"}
  - {name: "DIR/f#", content: x}
  exec:
  - {name: w, cmd: "true", watchcmd: sleep 100#, creates: DIR/f}
  - {name: "w#", cmd: "true", watchfiles: [DIR/x]}
  password:
  - {name: "p#"}
  test:
  - {name: "e#", watchevery: 1h}
`)
	}
	d := startDaemon(t, graph(0))
	defer d.end()
	before := runtime.NumGoroutine()
	const graphs = 10 // of which each would leave one at least
	for i := range graphs {
		d.change(graph(graphs - 1 - i))
	}
	few := func() bool { return runtime.NumGoroutine() <= before+graphs/2 } // some may not have been there yet
	if !await.Eventually(few) {
		t.Errorf("%d goroutines, before %d", runtime.NumGoroutine(), before)
	}
	var used time.Duration
	rests := func() bool { // what turns computes all of it, each time
		start := enginetest.Computed(t)
		time.Sleep(300 * time.Millisecond)
		used = enginetest.Computed(t) - start
		return used <= 100*time.Millisecond
	}
	if !await.Eventually(rests) {
		t.Errorf("at rest it computes for %s of 300ms", used)
	}
}
