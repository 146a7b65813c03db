package plugin_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/internal/filename"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/internal/await"
)

// bench is a folder with a descriptor, a schema, things, and the kinds of them.
type bench struct {
	t     testing.TB
	dir   string // of the things
	set   *plugin.Set
	kinds *engine.Registry
	host  *host.Host
	vars  string
	log   *slog.Logger // nil for none
}

// parse reads a text of JSON as a file.
func parse(t testing.TB, file, src string) *schema.Node {
	t.Helper()
	n, ds := jsonnode.Parse([]byte(src), jsonnode.Options{File: file, What: "no JSON", Rest: "more", Levels: 100, Bytes: 1 << 20, Values: 1 << 20})
	if n == nil || ds.Err() != nil {
		t.Fatal(ds)
	}
	return n
}

// newBench makes one; more are further lines of the descriptor.
func newBench(t testing.TB, more string, o plugin.Options) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), vars: t.TempDir()}
	if err := os.WriteFile(filepath.Join(b.dir, "schema.json"), []byte(toySchema), 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(more, `"env"`) {
		more += `, "env": {"` + toyFolder + `": "` + b.dir + `"}`
	}
	b.set = b.loadSet(more, o)
	b.kinds = engine.NewRegistry()
	if err := b.set.Register(b.kinds); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.host, err = host.New(context.Background(), host.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.host.Close() })
	return b
}

// load returns the plugin with more lines of the descriptor.
func (b *bench) load(more string) *plugin.Plugin {
	return b.loadSet(more, plugin.Options{}).Plugins()[0]
}

func (b *bench) loadSet(more string, o plugin.Options) *plugin.Set {
	t := b.t
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	src := `{"name": "toy", "command": ["` + self + `"], "schema": "schema.json", "grace": "1s"` + transport(t) + more + "}"
	o.ReadFile = os.ReadFile
	return b.loadText(src, o)
}

// loadText returns the set of one descriptor.
func (b *bench) loadText(src string, o plugin.Options) *plugin.Set {
	t := b.t
	t.Helper()
	set, ds := plugin.Load([]*schema.Node{parse(t, filepath.Join(b.dir, "toy.json"), src)}, o)
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

// one is a resource with what the engine gives to it.
type one struct {
	b *bench
	engine.Res
	mu      sync.Mutex
	changes []string
	sent    map[string]any
	events  chan string
	refresh bool
}

// res makes a resource, and initialises it with a session of its own.
func (b *bench) res(kind, name string, values map[string]any) *one {
	b.t.Helper()
	r, err := b.kinds.New(kind)
	if err != nil {
		b.t.Fatal(err)
	}
	r.SetName(name)
	for key, v := range values {
		if err := schema.Set(r, key, v); err != nil {
			b.t.Fatal(err)
		}
	}
	o := &one{b: b, Res: r, events: make(chan string, 1000)}
	err = r.Init(&engine.Init{
		Host: b.host, Running: func() { o.events <- "running" }, Event: func() { o.events <- "event" },
		Refresh: func() bool { return o.refresh }, Logf: b.t.Logf, Log: b.log,
		Send: func(v any) error {
			plain, err := schema.Encode(v)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.sent, _ = plain.(map[string]any)
			return err
		},
		Change: func(c engine.Change) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.changes = append(o.changes, c.String())
		},
		VarDir: func(p string) (string, error) {
			at := filepath.Join(b.vars, filename.Of(name), p)
			return at, os.MkdirAll(at, 0o700)
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := r.Cleanup(); err != nil {
			b.t.Error(err)
		}
	})
	return o
}

// run is a CheckApply, with the changes that it has reported.
func (o *one) run(apply bool) (bool, string) {
	o.b.t.Helper()
	o.changes = nil
	ok, err := o.CheckApply(o.b.t.Context(), apply)
	if err != nil {
		o.b.t.Fatalf("%s: %v", o, err)
	}
	return ok, strings.Join(o.changes, "; ")
}

func (o *one) expect(apply, ok bool, changes string) {
	o.b.t.Helper()
	if gotOK, got := o.run(apply); gotOK != ok || got != changes {
		o.b.t.Errorf("CheckApply(%t) is %t, with %q; want %t, with %q", apply, gotOK, got, ok, changes)
	}
}

func (b *bench) made() int {
	text, _ := os.ReadFile(filepath.Join(b.dir, "made"))
	return strings.Count(string(text), "\n")
}

// TestLife: a thing is made, kept, changed, replaced and removed, and each step is reported as it is done.
func TestLife(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	made := `created; color: (none) -> "red"`
	r.expect(false, false, made)
	r.expect(true, false, made)
	r.expect(true, true, "")
	if r.sent["serial"] == nil || r.sent["serial"] != r.sent["id"] || r.sent["color"] != "red" {
		t.Errorf("sent %v", r.sent)
	}
	first := r.sent["id"]

	r = b.res("toy:index:thing", "a", map[string]any{"color": "blue", "size": int64(3), "shape": "round"})
	r.expect(false, false, `color: "red" -> "blue"; size: (none) -> 3; shape: (none) -> "round"`)
	r.run(true)
	r.expect(true, true, "")
	if r.sent["id"] == first || b.made() != 2 {
		t.Errorf("it was not replaced: %v, made %d times", r.sent, b.made())
	}

	shown, err := r.Res.(engine.Readable).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := schema.Get(shown, "size"); v != int64(3) {
		t.Errorf("it is shown with the size %v", v)
	}
	for item, err := range r.Res.(engine.Listable).List(t.Context()) {
		if err != nil || item.Name() != "a" {
			t.Errorf("%v, %v is listed", item, err)
		}
	}
	r = b.res("toy:index:thing", "a", map[string]any{"color": "blue", "state": "absent"})
	r.expect(false, false, "deleted")
	r.expect(true, false, "deleted")
	r.expect(true, true, "")
}

// TestReplaceFirst: a replacement that creates first leaves no gap, and no thing behind.
func TestReplaceFirst(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	b.res("toy:index:slow", "a", map[string]any{"color": "red"}).run(true)
	r := b.res("toy:index:slow", "a", map[string]any{"color": "blue"})
	r.run(true)
	r.expect(true, true, "")
	if left, _ := filepath.Glob(filepath.Join(b.dir, "id-*")); len(left) != 1 || b.made() != 2 {
		t.Errorf("%d are left of %d", len(left), b.made())
	}
}

// TestSecrets: a value that cannot be read back is applied once, and again when it is another one. It is not in the record.
func TestSecrets(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red", "password": "canary-text"})
	r.run(true)
	r.expect(true, true, "")
	r = b.res("toy:index:thing", "a", map[string]any{"color": "red", "password": "canary-texts"})
	r.expect(true, false, "password: (none) -> (secret)")
	r.expect(true, true, "")
	if rec, err := os.ReadFile(filepath.Join(b.vars, "a", "provider.json")); err != nil || strings.Contains(string(rec), "canary") {
		t.Errorf("the record is %s, %v", rec, err)
	}
}

// TestCheck: the provider's own check is an error with the property.
func TestCheck(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	_, err := b.res("toy:index:thing", "a", map[string]any{"color": "red", "size": int64(13)}).CheckApply(t.Context(), true)
	if err == nil || err.Error() != "the provider toy refuses it: size: 13 is no size" {
		t.Error(err)
	}
}

// TestRefresh: a notified thing that is right is refreshed.
func TestRefresh(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	r.run(true)
	r = b.res("toy:index:thing", "a", map[string]any{"color": "blue"})
	r.refresh = true
	r.expect(true, false, `refreshed; color: "red" -> "blue"`)
	r.expect(true, false, "refreshed")
	if _, err := os.Stat(filepath.Join(b.dir, "refreshed")); err != nil {
		t.Error(err)
	}
}

// TestWatch: a change from outside is an event, also after the provider was killed; no call fails by that.
func TestWatch(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	r.run(true)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx) }()
	r.await("running", "event")
	drift := func() {
		t.Helper()
		ids, _ := filepath.Glob(filepath.Join(b.dir, "id-*"))
		if len(ids) != 1 {
			t.Fatal(ids)
		}
		if err := os.Remove(ids[0]); err != nil {
			t.Fatal(err)
		}
	}
	drift()
	r.await("event")
	r.run(true)

	began := time.Now()
	kill(t, b.set.Plugins()[0].Status().PID)
	r.expect(true, true, "")
	t.Logf("ok %s after the kill", time.Since(began))
	r.drain()
	drift()
	r.await("event")
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// await waits for words of Watch, in this order, with any others between them.
func (o *one) await(words ...string) {
	o.b.t.Helper()
	for _, want := range words {
		for got := ""; got != want; {
			got = await.Of(o.b.t, want+" comes", o.events)
		}
	}
}

// drain waits until the events of a restart have come.
func (o *one) drain() {
	o.await("event")
	for {
		select {
		case <-o.events:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

// TestBroken: a provider that ends again and again fails its resources with its last lines, without the secrets.
func TestBroken(t *testing.T) {
	b := newBench(t, "", plugin.Options{Breaks: 2})
	_, err := b.res("toy:index:thing", "crash", map[string]any{"color": "red", "password": "canary-text"}).CheckApply(t.Context(), true)
	if err == nil || !strings.Contains(err.Error(), "is broken") || !strings.Contains(err.Error(), "my last words, and not (secret)") {
		t.Error(err)
	}
	if s := b.set.Plugins()[0].Status(); s.Phase != plugin.Broken || s.Error == "" {
		t.Errorf("%+v", s)
	}
}

// TestStop: the last resource that leaves ends the process.
func TestStop(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	r, err := b.kinds.New("toy:index:thing")
	if err != nil {
		t.Fatal(err)
	}
	_, open := r.(engine.SharedRes).Shared()
	shared, err := open(t.Context(), b.host)
	if err != nil {
		t.Fatal(err)
	}
	p := b.set.Plugins()[0]
	_, end, err := p.Connect(t.Context(), b.host)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); s.Phase != plugin.Stopped || s.PID != 0 {
		t.Errorf("another session hides the shared one: %+v", s)
	}
	end()
	if err := apply(t.Context(), b.kinds, b.host, shared, b.dir, "a"); err != nil {
		t.Fatal(err)
	}
	pid := p.Status().PID
	if !alive(pid) {
		t.Fatal("there is no process")
	}
	if err := shared.Close(); err != nil {
		t.Error(err)
	}
	if alive(pid) {
		t.Error("the process is there after the end of the session")
	}
}
