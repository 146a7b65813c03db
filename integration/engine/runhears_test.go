package engine_test

import (
	"os"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi/static"
)

// TestRunHearsOfItsOwnWork: a run ends when what its own work is news for has been run again, also where no edge says so.
func TestRunHearsOfItsOwnWork(t *testing.T) {
	for range 20 {
		root := t.TempDir()
		if err := os.WriteFile(root+"/source", []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		with, f := from(`
resources:
  file:
  - {name: `+root+`/copy, source: `+root+`/source, meta: {autoedge: false}}
  - {name: `+root+`/source, content: new, depend: ["exec[after]"], meta: {autoedge: false}}
  exec:
  - {name: after, cmd: "true", creates: `+root+`/copy, depend: ["file[`+root+`/copy]"]}
`, mgmt.Options{ConvergedExit: true})
		if _, err := mgmt.Run(t.Context(), with, f); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(root + "/copy"); err != nil || string(text) != "new" {
			t.Errorf("the copy is %q, %v", text, err)
		}
	}
}

// TestRestAfterLeaving: a graph is at rest when a purged folder has let go of what has left the graph.
func TestRestAfterLeaving(t *testing.T) {
	dir := t.TempDir() + "/"
	rests := make(chan bool, 100)
	e, ctx := applied(t, mgmt.Options{Observer: mgmt.Observer{Converged: func(yes bool, _ reactor.Counts) { rests <- yes }}})
	for range 20 {
		for _, members := range [][]string{{"a"}, nil} {
			g := static.NewGraph("purged")
			g.AddValues("file", dir, map[string]any{"purge": true, "recurse": true})
			for _, name := range members {
				g.AddValues("file", dir+name, map[string]any{"content": "x"})
			}
			if _, err := e.Apply(ctx, g.Declared()); err != nil {
				t.Fatal(err)
			}
			for !<-rests {
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != len(members) {
				t.Errorf("the folder has %v, want %q: %v", left, members, err)
			}
		}
	}
}

// TestRunWaitsForAWriter: a run ends with every file as it is to be, also one that another process was in the middle of writing.
func TestRunWaitsForAWriter(t *testing.T) {
	file := t.TempDir() + "/file"
	with, f := from(`
resources:
  exec:
  - {name: neighbour, cmd: "(echo bad; sleep 0.3) > `+file+` 2>&1 & until test -s `+file+`; do :; done", shell: /bin/sh, creates: `+file+`}
  file:
  - {name: `+file+`, content: good, depend: ["exec[neighbour]"]}
`, mgmt.Options{ConvergedExit: true})
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "good" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
