package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/internal/await"
)

// breakIn has the toy be broken in a way. It is called before the first resource.
func (b *bench) breakIn(way string) *bench {
	b.t.Helper()
	b.set = b.loadSet(fmt.Sprintf(`, "env": {%q: %q, %q: %q}`, toyFolder, b.dir, toyBroken, way), plugin.Options{})
	b.kinds = engine.NewRegistry()
	if err := b.set.Register(b.kinds); err != nil {
		b.t.Fatal(err)
	}
	return b
}

// things returns the files of the things.
func (b *bench) things() []string {
	ids, _ := filepath.Glob(filepath.Join(b.dir, "id-*"))
	return ids
}

func (b *bench) record(name string) string { return filepath.Join(b.vars, name, "provider.json") }

// TestInterruptedReplacement: a replacement that was cut off before its create leaves no thing behind, whether the thing is still
// wanted or not.
func TestInterruptedReplacement(t *testing.T) {
	for state, left := range map[string]int{"present": 1, "absent": 0} {
		t.Run(state, func(t *testing.T) {
			b := newBench(t, "", plugin.Options{})
			b.res("toy:index:slow", "a", map[string]any{"color": "red"}).run(true)
			var was struct{ ID, Key string }
			text, err := os.ReadFile(b.record("a"))
			if err != nil || json.Unmarshal(text, &was) != nil {
				t.Fatal(err)
			}
			rec := fmt.Sprintf(`{"version": 1, "key": "NEXT", "creating": true, "old": {"id": %q, "key": %q}}`, was.ID, was.Key)
			if err := os.WriteFile(b.record("a"), []byte(rec), 0o600); err != nil {
				t.Fatal(err)
			}
			r := b.res("toy:index:slow", "a", map[string]any{"color": "blue", "state": state})
			r.run(true)
			r.expect(true, true, "")
			if now := b.things(); len(now) != left {
				t.Errorf("%d things are left, want %d", len(now), left)
			}
		})
	}
}

// TestUnknownDigest: a lost record destroys no thing for the sake of a value that cannot be read back.
func TestUnknownDigest(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	in := map[string]any{"color": "red", "pin": "1234"}
	b.res("toy:index:thing", "a", in).run(true)
	if err := os.Remove(b.record("a")); err != nil {
		t.Fatal(err)
	}
	r := b.res("toy:index:thing", "a", in)
	r.run(true)
	r.expect(true, true, "")
	if b.made() != 1 {
		t.Errorf("it was made %d times", b.made())
	}
	in["pin"] = "5678"
	b.res("toy:index:thing", "a", in).run(true)
	if b.made() != 2 {
		t.Error("another value has replaced nothing")
	}
}

// TestRefused: after a definite refusal the next try has a key of its own.
func TestRefused(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	_, err := b.res("toy:index:thing", "a", map[string]any{"color": "red", "size": int64(14)}).CheckApply(t.Context(), true)
	if err == nil || !strings.Contains(err.Error(), "14 is refused") {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(b.record("a")); err != nil || strings.Contains(string(text), "key") || strings.Contains(string(text), "creating") {
		t.Errorf("the record is %s, %v", text, err)
	}
}

// TestRestart: a create that is open when the provider is restarted makes one thing.
func TestRestart(t *testing.T) {
	b := newBench(t, "", plugin.Options{}).breakIn("slow create")
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	done := make(chan error, 1)
	go func() {
		_, err := r.CheckApply(t.Context(), true)
		done <- err
	}()
	await.Until(t, "a create comes", func() bool { _, err := os.Stat(filepath.Join(b.dir, "creating")); return err == nil })
	if !b.set.Plugins()[0].Restart() {
		t.Error("there was no provider")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	r.expect(true, true, "")
	if b.made() != 1 {
		t.Errorf("it was made %d times", b.made())
	}
}

// TestDeaf: a provider that reads nothing any more holds no call longer than its context, and is ended.
func TestDeaf(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	r := b.res("toy:index:thing", "deaf", map[string]any{"color": "red", "shape": strings.Repeat("x", 4<<20)})
	pid := 0
	for range 2 {
		ctx, end := context.WithTimeout(t.Context(), 500*time.Millisecond)
		done := make(chan error, 1)
		go func() {
			_, err := r.CheckApply(ctx, true)
			done <- err
		}()
		if err := await.Of(t, "the call ends with its context", done); err == nil {
			t.Error("a provider that does not read has answered")
		}
		end()
		pid = b.set.Plugins()[0].Status().PID
	}
	if !alive(pid) {
		t.Fatal("there is no process")
	}
	if err := r.Cleanup(); err != nil || alive(pid) {
		t.Errorf("the process is alive: %t, %v", alive(pid), err)
	}
}

// TestWatchEnds: a watch that the provider ends without an error is opened anew.
func TestWatchEnds(t *testing.T) {
	b := newBench(t, "", plugin.Options{}).breakIn("watch ends")
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	r.run(true)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx) }()
	r.await("running", "event", "running", "event")
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRestartAgain: a restart that was asked for is no failure, so none of them has a pause before it.
func TestRestartAgain(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	r.run(true)
	p := b.set.Plugins()[0]
	for n := range 7 {
		p.Restart()
		await.Until(t, "it is started again", func() bool {
			s := p.Status()
			if s.Phase == plugin.Backoff || s.Phase == plugin.Broken {
				t.Fatalf("restart %d: %+v", n, s)
			}
			return s.Starts >= n+2 && s.Phase == plugin.Ready
		})
	}
	r.expect(true, true, "")
}

// TestTrust: a program that is not trusted is not started, and the error has the reason.
func TestTrust(t *testing.T) {
	b := newBench(t, "", plugin.Options{Trust: func(path string) error { return fmt.Errorf("bob can write to %s", path) }})
	_, err := b.res("toy:index:thing", "a", map[string]any{"color": "red"}).CheckApply(t.Context(), true)
	if err == nil || !strings.Contains(err.Error(), "bob can write to /") {
		t.Error(err)
	}
	if now := b.things(); len(now) != 0 {
		t.Errorf("there are %v", now)
	}
}

// TestMixedReleases: a program of another release than its schema file is refused after a few starts, since an upgrade may be between its files. When
// the schema file has another text, the owner of the set is told, and the resources of the set wait for their end.
func TestMixedReleases(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(b.dir, "schema.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(toySchema + "\n")
	told := make(chan struct{}, 100)
	b.set = b.loadSet(fmt.Sprintf(`, "env": {%q: %q}`, toyFolder, b.dir), plugin.Options{LongestPause: 10 * time.Millisecond, Changed: func() { told <- struct{}{} }})
	b.kinds = newKinds(t, b.set)
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	_, err := r.CheckApply(t.Context(), true)
	if err == nil || !strings.Contains(err.Error(), "install the schema file of this program") || b.set.Plugins()[0].Status().Phase != plugin.Broken {
		t.Errorf("%v, %+v", err, b.set.Plugins()[0].Status())
	}
	if len(told) > 0 {
		t.Error("the file is as it was loaded, and another text was told")
	}
	write(toySchema)
	<-told
	waits, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	if _, err := r.CheckApply(waits, true); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it does not wait for the next graph: %v", err)
	}
	next := b.loadSet(fmt.Sprintf(`, "env": {%q: %q}`, toyFolder, b.dir), plugin.Options{Before: b.set})
	if next.Equal(b.set) {
		t.Fatal("the set is the one of before")
	}
	b.set, b.kinds = next, newKinds(t, next)
	if _, err := b.res("toy:index:thing", "a", map[string]any{"color": "red"}).CheckApply(t.Context(), true); err != nil || b.made() != 1 {
		t.Errorf("%v, %d things", err, b.made())
	}
}
