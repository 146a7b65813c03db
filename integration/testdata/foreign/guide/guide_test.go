package guide_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "example.com/foreign/guide"
	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestFindingR5R6Guide: the examples of the guide run. Those that have nothing but a GroupCmp run as one where it lets them, and a composite
// resource makes its part by kind and name.
func TestFindingR5R6Guide(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "graph.yaml")
	text := strings.ReplaceAll(`graph: guide
resources:
  foo:
  - {name: a, whatever: DIR/a, baz: true}
  - {name: b, whatever: DIR/b}
  bar:
  - {name: c, path: DIR/c, team: red}
  - {name: d, path: DIR/d, team: blue}
  - {name: e, path: DIR/e, team: red}
  pair:
  - {name: f, path: DIR/f}
edges:
- {name: e1, from: {kind: foo, name: a}, to: {kind: foo, name: b}, notify: true}
`, "DIR", dir)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var vertices []string
	o := mgmt.Options{State: mgmt.StateIn(filepath.Join(dir, "state")), ConvergedExit: true, ConvergedTimeout: time.Millisecond, Strict: true}
	o.Observer.Loaded = func(graph func() *resgraph.Graph) {
		for i := range graph().Len() {
			vertices = append(vertices, graph().ID(i))
		}
	}
	if _, err := mgmt.Run(t.Context(), o, yaml.New(path, yaml.Options{})); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields("a b c d e f") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(vertices)
	if got := strings.Join(vertices, " "); got != "bar[c] bar[d] foo[a] foo[b] pair[f]" {
		t.Errorf("the vertices are %s", got)
	}
	if _, err := engine.NewNamedResource("foo", ""); err == nil {
		t.Error("a resource without a name")
	}
	if _, err := engine.NewNamedResource("fo", "x"); err == nil || !strings.Contains(err.Error(), `"fo"`) {
		t.Errorf("an unknown kind: %v", err)
	}
}
