package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/engine/reactor"

	_ "github.com/reactivegraph/mgmt/resources/all"
)

// counter is a part that counts what the graph has changed.
type counter struct {
	d       *daemon.Daemon
	changed int
}

// Open adds an observer. A part that needs an address or a file takes it here.
func (c *counter) Open(_ context.Context, d *daemon.Daemon) error {
	c.d = d
	d.Options.Observer = d.Options.Observer.With(mgmt.Observer{Ran: func(r reactor.Run) {
		if r.Changed {
			c.changed++
		}
	}})
	return nil
}

// Start begins work that goes on until the graph has come to its end.
func (c *counter) Start(context.Context, *mgmt.Engine) error {
	c.d.Go(func(ctx context.Context) { <-ctx.Done() })
	return nil
}

// Close comes after the engine: no run is counted any more.
func (c *counter) Close() error {
	fmt.Println("changes:", c.changed)
	return nil
}

// written returns a folder of its own with a graph, in whose text DIR is the folder.
func written(text string) (dir, graph string) {
	dir, err := os.MkdirTemp("", "webd")
	if err != nil {
		panic(err)
	}
	graph = filepath.Join(dir, "graph.yaml")
	if err := os.WriteFile(graph, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		panic(err)
	}
	return dir, graph
}

// A Part is what a daemon does besides running graphs.
func ExamplePart() {
	dir, graph := written("resources:\n  file: [{name: DIR/a, content: a}, {name: DIR/b, content: b}]\n")
	defer os.RemoveAll(dir)
	d, err := daemon.Open(context.Background(), daemon.Config{
		Graph: input.Config{YAML: graph}, State: state.Place{Temporary: true}, Engine: mgmt.Options{ConvergedExit: true},
	}, &counter{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	if _, err := d.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// changes: 2
}

// A daemon of one's own answers the verbs of mgmt on its socket, keeps its state and takes deploys. This one ends when its graph has converged.
func ExampleOpen() {
	dir, graph := written("resources:\n  file: [{name: DIR/hello, content: hello}]\n")
	defer os.RemoveAll(dir)
	d, err := daemon.Open(context.Background(), daemon.Config{
		Program: "webd",
		Graph:   input.Config{YAML: graph},
		State:   state.Place{Prefix: filepath.Join(dir, "state")},
		Engine:  mgmt.Options{ConvergedExit: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	report, err := d.Run(context.Background())
	text, _ := os.ReadFile(filepath.Join(dir, "hello"))
	fmt.Println(string(text), report.Counts, err)
	// Output:
	// hello 1 ok <nil>
}
