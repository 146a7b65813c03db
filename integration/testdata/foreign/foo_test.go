package foreign_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	foreign "example.com/foreign"
	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestRegistered: the kind is known, with its fields and abilities.
func TestRegistered(t *testing.T) {
	k, err := engine.DefaultRegistry().Kind("foo")
	if err != nil {
		t.Fatal(err)
	}
	if keys := strings.Join(k.Type.Keys(), " "); keys != "file whatever baz after answer" {
		t.Errorf("its parameters are %s", keys)
	}
	a := k.Abilities
	if !a.Refreshable || !a.Recvable || !a.Edgeable || !a.Groupable || a.Sends == nil || a.Sends.Field("line") == nil {
		t.Errorf("its abilities are %v", a.Names())
	}
	if a.Overlapping || a.Readable || a.Batcher {
		t.Errorf("it claims abilities that it does not have: %v", a.Names())
	}
}

// TestDecode: its own UnmarshalYAML runs our decoding, positions and all.
func TestDecode(t *testing.T) {
	node, err := schema.NodeOf(map[string]any{"file": "/x", "whatever": "w", "baz": true})
	if err != nil {
		t.Fatal(err)
	}
	res, err := engine.DefaultRegistry().New("foo")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Decode(node, res).Err(); err != nil {
		t.Fatal(err)
	}
	foo := res.(*foreign.FooRes)
	if foo.File != "/x" || foo.Whatever != "w" || !foo.Baz || foo.Answer != 42 {
		t.Errorf("decoded to %+v", foo)
	}
	bad, err := schema.NodeOf(map[string]any{"whatevr": "w"})
	if err != nil {
		t.Fatal(err)
	}
	diags := schema.Decode(bad, res)
	if diags.Err() == nil || !strings.Contains(diags.Error(), `did you mean "whatever"?`) {
		t.Errorf("a misspelt key: %v", diags)
	}
}

// TestFakes: it works on the fakes, as the guide says, with no Change.
func TestFakes(t *testing.T) {
	f := enginetest.NewInit(t)
	foo := &foreign.FooRes{File: filepath.Join(t.TempDir(), "f"), Whatever: "hi", Answer: 42}
	foo.SetKind("foo")
	foo.SetName("x")
	if err := foo.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := foo.Init(f.Init()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- foo.Watch(ctx) }()
	f.WaitRunning(t)
	for i, want := range []bool{false, true} {
		if ok, err := foo.CheckApply(ctx, true); ok != want || err != nil {
			t.Errorf("CheckApply number %d: %t, %v", i, ok, err)
		}
	}
	f.WaitEvent(t) // its own write
	if s, ok := f.Sent().(*foreign.FooSends); !ok || s.Line != "hi" {
		t.Errorf("sent %v", f.Sent())
	}
	f.SetRefresh(true)
	if ok, err := foo.CheckApply(ctx, true); ok || err != nil {
		t.Errorf("CheckApply with a notification: %t, %v", ok, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := foo.Cleanup(); err != nil {
		t.Error(err)
	}
}

// TestAutoEdge: its own UID with its own IFF makes an automatic edge, to the resource that it means and to no other.
func TestAutoEdge(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "graph.yaml")
	text := strings.ReplaceAll(`graph: edges
resources:
  foo:
  - {name: last, file: DIR/last, after: DIR/first}
  - {name: other, file: DIR/other}
  - {name: first, file: DIR/first}
`, "DIR", dir)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var edges []string
	o := mgmt.Options{State: mgmt.StateIn(filepath.Join(dir, "state")), ConvergedExit: true, ConvergedTimeout: time.Millisecond, Strict: true}
	o.Observer.Loaded = func(graph func() *resgraph.Graph) {
		g := graph()
		for e := range g.Edges() {
			edges = append(edges, g.ID(e.From)+" "+e.Name+" "+g.ID(e.To))
		}
	}
	if _, err := mgmt.Run(t.Context(), o, yaml.New(path, yaml.Options{})); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(edges, ", "); got != "foo[first] auto foo[last]" {
		t.Errorf("the edges are %q", got)
	}
}

// run is one engine at work on a graph file.
type run struct {
	t    *testing.T
	dir  string
	stop context.CancelFunc
	done chan error
}

func start(t *testing.T) *run {
	r := &run{t: t, dir: t.TempDir(), done: make(chan error, 1)}
	r.graph("hello")
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	engine, err := mgmt.Open(ctx, mgmt.Options{State: mgmt.StateIn(filepath.Join(r.dir, "state")), Strict: true}, yaml.New(filepath.Join(r.dir, "graph.yaml"), yaml.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- engine.Wait() }()
	return r
}

// graph writes the graph file: one foo sends its line to another one, and notifies
// a third.
func (r *run) graph(line string) {
	r.t.Helper()
	text := strings.NewReplacer("DIR", r.dir, "LINE", line).Replace(`graph: foreign
resources:
  foo:
  - name: sender
    file: DIR/sender
    whatever: LINE
    baz: true
    notify: ["foo[listener]"]
  - name: receiver
    file: DIR/receiver
    recv: {whatever: "foo[sender].line"}
  - name: listener
    file: DIR/listener
    whatever: static
`)
	r.write("graph.yaml", text)
}

func (r *run) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// await waits until the file of a name or pattern has this content.
func (r *run) await(name, want string) {
	r.t.Helper()
	var got []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if paths, _ := filepath.Glob(filepath.Join(r.dir, name)); len(paths) == 1 {
			if got, _ = os.ReadFile(paths[0]); string(got) == want {
				return
			}
		}
		select {
		case err := <-r.done:
			r.t.Fatalf("Run ended while %s is %q: %v", name, got, err)
		default:
		}
	}
	r.t.Fatalf("%s is %q, not %q", name, got, want)
}

// TestRun: under the engine it converges, receives, is refreshed, repairs what
// the outside does, follows an edit of the graph, and ends cleanly.
func TestRun(t *testing.T) {
	r := start(t)
	r.await("sender", "HELLO\n")
	r.await("receiver", "HELLO\n")
	r.await("listener", "static\n")
	const refreshes = "state/*/foo/listener/refreshed" // in its VarDir
	r.await(refreshes, "1")
	for _, name := range []string{"receiver", "listener"} {
		before, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		r.write(name, "broken")
		r.await(name, string(before))
	}
	r.graph("edited")
	r.await("receiver", "EDITED\n")
	r.await(refreshes, "2")
	r.stop()
	if err := <-r.done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
