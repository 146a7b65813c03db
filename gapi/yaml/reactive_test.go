package yaml_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// factHost is a fakeHost of a machine whose facts change when the test says so.
type factHost struct {
	*fakeHost

	mu    sync.Mutex
	facts engine.Facts
	woken *factWatch // nil while nothing watches facts
}

type factWatch struct {
	host *factHost
	wake chan struct{}
}

func (h *factHost) Facts() engine.Facts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.facts
}

func (h *factHost) WatchFacts(context.Context) (events.Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.woken = &factWatch{h, make(chan struct{}, 1)}
	return h.woken, nil
}

func (w *factWatch) C() <-chan struct{}  { return w.wake }
func (w *factWatch) Cause() events.Cause { return events.Cause{} }
func (w *factWatch) Close() {
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	w.host.woken = nil
}

// change alters the facts, and reports whether a watcher was told.
func (h *factHost) change(alter func(*engine.Facts)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	alter(&h.facts)
	if h.woken == nil {
		return false
	}
	select {
	case h.woken.wake <- struct{}{}:
	default: // it was woken and has not looked yet
	}
	return true
}

// TestFactsWake: a fact that an expression has read makes a new graph, and no other one does. Facts are watched while an expression reads one.
func TestFactsWake(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "g.yaml", `{comment: "${{ facts.hostname }}", resources: {}}`)
	synctest.Test(t, func(t *testing.T) {
		host := &factHost{fakeHost: &fakeHost{}, facts: engine.Facts{Hostname: "w1"}}
		f := followEnv(t, path, gapi.Env{Host: host})
		f.host = host.fakeHost
		defer func() {
			f.stop()
			<-f.done
			if host.woken != nil || host.open != 0 {
				t.Error("something is watched after the end")
			}
		}()
		f.expect("w1")
		if !host.change(func(facts *engine.Facts) { facts.Hostname = "w2" }) {
			t.Error("the facts are not watched")
		}
		f.expect("w2")
		host.change(func(facts *engine.Facts) { facts.CPUs = 8 })
		f.expect()
		write(t, dir, "g.yaml", `{comment: none, resources: {}}`)
		host.touch()
		f.expect("none")
		if host.change(func(facts *engine.Facts) { facts.Hostname = "w3" }) {
			t.Error("the facts are watched for nothing")
		}
	})
}

// TestInputsWake: files of variables, of data, and those that an expression reads make a new graph when they change.
func TestInputsWake(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "g.yaml", `{vars: {a: "-"}, data: {files: [d.yaml]}, comment: "${{ vars.a }} ${{ data.?k.orValue('-') }} ${{ read('r') }}", resources: {}}`)
	write(t, dir, "r", "r1")
	vars := write(t, dir, "v.yaml", "a: v1")
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{}
		f := followOptions(t, path, gapi.Env{Host: &factHost{fakeHost: host}}, yaml.Options{VarFiles: []string{vars}})
		f.host = host
		defer func() { f.stop(); <-f.done }()
		f.expect("v1 - r1")
		for _, step := range []struct{ file, src, want string }{
			{"v.yaml", "a: v2", "v2 - r1"},
			{"d.yaml", "k: d", "v2 d r1"},
			{"r", "r2", "v2 d r2"},
			{"d.yaml", "{", "error: d.yaml"},
			{"d.yaml", "{}", "v2 - r2"},
		} {
			write(t, filepath.Dir(path), step.file, step.src)
			host.touch()
			f.expect(step.want)
		}
	})
}

// TestKeptEntriesWake: a fact that an entry has read still wakes after a computation that took the entry as it was, and so do its files.
func TestKeptEntriesWake(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "g.yaml", `resources:
  noop:
  - {name: a, comment: "${{ facts.hostname }}"}
  - {name: b, comment: "${{ read('r') }}"}
  - {name: c}
`)
	write(t, dir, "r", "r1")
	synctest.Test(t, func(t *testing.T) {
		host := &factHost{fakeHost: &fakeHost{}, facts: engine.Facts{Hostname: "w1"}}
		f := followEnv(t, path, gapi.Env{Host: host})
		f.host = host.fakeHost
		defer func() { f.stop(); <-f.done }()
		has := func(want ...string) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			f.mu.Lock()
			defer f.mu.Unlock()
			for i, id := range []string{"noop[a]", "noop[b]"} {
				if !strings.Contains(f.runs[id], want[i]) {
					t.Errorf("%s is %s, without %s", id, f.runs[id], want[i])
				}
			}
		}
		has("w1", "r1")
		before := "w1"
		for i := range 3 {
			r, w := fmt.Sprint("next", i), fmt.Sprint("host", i)
			write(t, dir, "r", r)
			host.touch()
			has(before, r)
			if !host.change(func(facts *engine.Facts) { facts.Hostname = w }) {
				t.Error("the facts are not watched any more")
			}
			has(w, r)
			before = w
		}
	})
}

// TestIncludeWakes: a fact and a file that only the key include reads make a new graph when they change.
func TestIncludeWakes(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "g.yaml", `{include: ["${{ facts.hostname }}-${{ read('r') }}.yaml"], resources: {}}`)
	write(t, dir, "r", "a")
	for _, name := range []string{"w1-a", "w2-a", "w2-b"} {
		write(t, dir, name+".yaml", "comment: "+name+"\n")
	}
	synctest.Test(t, func(t *testing.T) {
		host := &factHost{fakeHost: &fakeHost{}, facts: engine.Facts{Hostname: "w1"}}
		f := followEnv(t, path, gapi.Env{Host: host})
		f.host = host.fakeHost
		defer func() { f.stop(); <-f.done }()
		f.expect("w1-a")
		if !host.change(func(facts *engine.Facts) { facts.Hostname = "w2" }) {
			t.Error("the facts are not watched")
		}
		f.expect("w2-a")
		write(t, dir, "r", "b")
		host.touch()
		f.expect("w2-b")
	})
}

// TestOneReadingIsWhole: a caller that does not follow the files gets a graph that computes as a whole, with its findings.
func TestOneReadingIsWhole(t *testing.T) {
	path := write(t, t.TempDir(), "g.yaml", "resources: {noop: [{name: \"${{ 'a' + 'b' }}\"}, {name: \"${{ none }}\"}]}\n")
	for d, err := range yaml.New(path, yaml.Options{}).Graphs(t.Context(), gapi.Env{NoWatch: true}) {
		if err != nil || d.Part != nil || len(d.Resources) != 1 || d.Problems.Err() == nil {
			t.Errorf("%+v, %v", d, err)
		}
	}
}
