package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/state"

	_ "github.com/reactivegraph/mgmt/resources/all"
)

// A daemon of one's own answers the verbs of mgmt on its socket, keeps its state and takes deploys. This one ends when its graph has converged.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "webd")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	graph := filepath.Join(dir, "graph.yaml")
	if err := os.WriteFile(graph, []byte("resources:\n  file: [{name: "+dir+"/hello, content: hello}]\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
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
