package yaml_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// fakeHost is a Host whose only subscription wakes when the test says so.
type fakeHost struct {
	engine.Host // the rest is not there

	mu    sync.Mutex
	sub   *fakeSub
	open  int
	armed func() // called by Watch before it is armed
	err   error
}

type fakeSub struct {
	host  *fakeHost
	paths []string
	wake  chan struct{}
	once  sync.Once
}

func (h *fakeHost) Watch(_ context.Context, paths []string, _ events.Options) (events.Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.armed != nil {
		h.armed()
	}
	if h.err != nil {
		return nil, h.err
	}
	h.open++
	h.sub = &fakeSub{host: h, paths: paths, wake: make(chan struct{}, 1)}
	return h.sub, nil
}

func (s *fakeSub) C() <-chan struct{}  { return s.wake }
func (s *fakeSub) Cause() events.Cause { return events.Cause{} }
func (s *fakeSub) Close() {
	s.once.Do(func() {
		s.host.mu.Lock()
		defer s.host.mu.Unlock()
		s.host.open--
	})
}

// touch wakes the frontend.
func (h *fakeHost) touch() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.sub.wake <- struct{}{}:
	default:
	}
}

func (h *fakeHost) watched() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sub.paths)
}

// follower collects what a frontend yields.
type follower struct {
	t    *testing.T
	host *fakeHost
	stop context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	seen []string // the comment of each graph, or the error
	// The resources by id, as a caller has them who alters only the part that differs, and how many graphs were told as parts.
	runs  map[string]string
	parts int
}

// follow runs in a bubble: its clock is the bubble's.
func follow(t *testing.T, host *fakeHost, path string) *follower {
	return followEnv(t, path, gapi.Env{Host: host})
}

func followEnv(t *testing.T, path string, env gapi.Env) *follower {
	return followOptions(t, path, env, yaml.Options{})
}

func followOptions(t *testing.T, path string, env gapi.Env, o yaml.Options) *follower {
	ctx, stop := context.WithCancel(t.Context())
	f := &follower{t: t, stop: stop, done: make(chan struct{})}
	f.host, _ = env.Host.(*fakeHost)
	go func() {
		defer close(f.done)
		for d, err := range yaml.New(path, o).Graphs(ctx, env) {
			if err == nil {
				f.apply(d)
				err = d.Complete().Problems.Err() // Build would say so
			}
			f.mu.Lock()
			if err != nil {
				f.seen = append(f.seen, "error: "+err.Error())
			} else {
				f.seen = append(f.seen, d.Comment)
			}
			f.mu.Unlock()
		}
	}()
	synctest.Wait()
	return f
}

// apply brings the resources to a graph: by its part where that is enough.
func (f *follower) apply(d *gapi.Declared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := d.Resources
	switch {
	case d.Part == nil:
		f.runs = map[string]string{}
	case d.Part.All:
		f.runs, changed = map[string]string{}, d.Complete().Resources
	default:
		f.parts++
		changed = d.Part.Resources
		for _, id := range d.Part.Removed {
			if _, there := f.runs[id]; !there {
				f.t.Errorf("%s is removed, and is not there", id)
			}
			delete(f.runs, id)
		}
	}
	for i := range changed {
		f.runs[changed[i].ID()] = declarationText(&changed[i])
	}
}

// declarationText is everything that a declaration says, with its places.
func declarationText(d *gapi.Declaration) string {
	var s strings.Builder
	s.WriteString(fmt.Sprintln(d.Kind, d.Name, d.Pos, d.NamePos, d.Unread, len(d.Hidden), nodeText(d.Value), nodeText(d.Meta)))
	for _, r := range d.Recv {
		s.WriteString(fmt.Sprintln(r.Field, r.From, r.Pos))
		if r.Formula != nil {
			s.WriteString(r.Formula.Sum)
		}
	}
	return s.String() + fmt.Sprintln(d.Before, d.Depend, d.Notify, d.Listen)
}

// nodeText is a tree with its places.
func nodeText(n *schema.Node) string {
	if n == nil {
		return "-"
	}
	var s strings.Builder
	s.WriteString(fmt.Sprint(n.Kind, n.Pos, n.Text))
	for _, i := range n.Items {
		s.WriteString(" [" + nodeText(i) + "]")
	}
	for _, p := range n.Pairs {
		s.WriteString(" " + p.Key + ":" + nodeText(p.Value))
	}
	return s.String()
}

// expect waits until the frontend rests, and compares what it yielded since the
// last time.
func (f *follower) expect(want ...string) {
	f.t.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	f.seenNow(f.t, want...)
}

// seenNow compares what was yielded since the last time.
func (f *follower) seenNow(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	ok := len(f.seen) == len(want)
	for i := range min(len(f.seen), len(want)) {
		ok = ok && (f.seen[i] == want[i] || strings.HasPrefix(want[i], "error: ") && strings.HasPrefix(f.seen[i], "error: ") &&
			strings.Contains(f.seen[i], strings.TrimPrefix(want[i], "error: ")))
	}
	if !ok {
		t.Errorf("yielded %q, want %q", f.seen, want)
	}
	f.seen = nil
}

// end cancels, and checks that the sequence ends and nothing is watched any more.
func (f *follower) end() {
	f.t.Helper()
	f.stop()
	<-f.done
	f.expect()
	if f.host != nil && f.host.open != 0 {
		f.t.Errorf("%d subscriptions are left", f.host.open)
	}
}

// graph is a small graph with that comment.
func graphSource(comment string) string {
	return "comment: " + comment + "\nresources:\n  noop:\n  - name: a\n"
}

func TestFollowEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := write(t, dir, "g.yaml", graphSource("one"))
		f := follow(t, &fakeHost{}, path)
		f.expect("one")
		f.host.touch() // nothing is different
		f.expect()
		write(t, dir, "g.yaml", graphSource("two"))
		f.host.touch()
		f.expect("two")
		write(t, dir, "g.yaml", "resources: [\n")
		f.host.touch()
		f.expect("error: g.yaml:2:1: expected a value")
		f.host.touch() // it is as bad as it was
		f.expect()
		write(t, dir, "g.yaml", graphSource("two"))
		f.host.touch()
		f.expect("two")
		f.end()
	})
}

// A frontend that is blocked by its consumer loses no edit and queues none.
func TestFollowMergesEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := write(t, dir, "g.yaml", graphSource("one"))
		host := &fakeHost{}
		var seen []string
		for d, err := range yaml.New(path, yaml.Options{}).Graphs(t.Context(), gapi.Env{Host: host}) {
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, d.Comment)
			if d.Comment == "three" {
				break
			}
			for _, c := range []string{"two", "three"} {
				write(t, dir, "g.yaml", graphSource(c))
				host.touch()
			}
		}
		if !slices.Equal(seen, []string{"one", "three"}) {
			t.Errorf("yielded %q", seen)
		}
		if host.open != 0 {
			t.Errorf("%d subscriptions are left", host.open)
		}
	})
}

func TestFollowWaitsForAnEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := write(t, dir, "g.yaml", graphSource("one"))
		f := follow(t, &fakeHost{}, path)
		f.expect("one")

		// Truncate, write half, write all, with pauses shorter than Settle.
		for _, src := range []string{"", "comment: tw", graphSource("two")} {
			write(t, dir, "g.yaml", src)
			f.host.touch()
			time.Sleep(yaml.DefaultSettle / 2)
		}
		f.expect("two")

		// Truncate and think.
		write(t, dir, "g.yaml", "")
		f.host.touch()
		time.Sleep(5 * yaml.DefaultSettle)
		write(t, dir, "g.yaml", graphSource("three"))
		f.host.touch()
		f.expect("three")

		// Away and back.
		if err := os.Rename(path, path+"~"); err != nil {
			t.Fatal(err)
		}
		f.host.touch()
		time.Sleep(5 * yaml.DefaultSettle)
		write(t, dir, "g.yaml", graphSource("four"))
		f.host.touch()
		f.expect("four")

		// A file that never rests is read all the same.
		for i := range 200 {
			write(t, dir, "g.yaml", graphSource("five")+strings.Repeat("#", i))
			f.host.touch()
			time.Sleep(yaml.DefaultSettle / 2)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		f.mu.Lock()
		if n := len(f.seen); n < 2 || n > 10 {
			t.Errorf("yielded %d times in a storm of 200 edits", n)
		}
		f.seen = nil
		f.mu.Unlock()
		f.end()
	})
}

func TestFollowGoneForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := write(t, dir, "g.yaml", graphSource("one"))
		f := follow(t, &fakeHost{}, path)
		f.expect("one")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		f.host.touch()
		f.expect("error: no such file")
		write(t, dir, "g.yaml", graphSource("one"))
		f.host.touch()
		f.expect("one")
		write(t, dir, "g.yaml", "")
		f.host.touch()
		f.expect("error: empty")
		f.end()
	})
}

func TestFollowIncludes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := write(t, dir, "g.yaml", graphSource("one"))
		f := follow(t, &fakeHost{}, path)
		f.expect("one")
		same(t, f.host.watched(), path)

		write(t, dir, "g.yaml", "include: [b.yaml]\n"+graphSource("two"))
		f.host.touch()
		f.expect("error: can't include")
		base := filepath.Join(dir, "b.yaml")
		same(t, f.host.watched(), base, path)

		write(t, dir, "b.yaml", "graph: base\n")
		f.host.touch()
		f.expect("two")
		write(t, dir, "b.yaml", "graph: other\n")
		f.host.touch()
		f.expect("two")

		write(t, dir, "g.yaml", graphSource("three"))
		f.host.touch()
		f.expect("three")
		same(t, f.host.watched(), path)
		f.end()
	})
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("watches %q, want %q", got, want)
	}
}

func TestFollowFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "10.yaml", graphSource("ten"))
		f := follow(t, &fakeHost{}, dir)
		f.expect("ten")
		write(t, dir, "05.yml", "comment: five\n")
		write(t, dir, ".hidden.yaml", "nonsense: {")
		write(t, dir, "README", "nonsense: {")
		write(t, dir, "sub.yaml/x.yaml", "nonsense: {")
		f.host.touch()
		f.expect("five")
		same(t, f.host.watched(), dir, filepath.Join(dir, "05.yml"), filepath.Join(dir, "10.yaml"))
		if err := os.Remove(filepath.Join(dir, "05.yml")); err != nil {
			t.Fatal(err)
		}
		f.host.touch()
		f.expect("ten")
		f.end()
	})
}

// What changes while the watches are being armed is seen.
func TestFollowSeesChangesWhileArming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := write(t, dir, "g.yaml", graphSource("one"))
		host := &fakeHost{armed: func() { write(t, dir, "g.yaml", graphSource("two")) }}
		f := follow(t, host, path)
		f.expect("two")
		f.end()
	})
}

func TestFollowFirstFailureEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := follow(t, &fakeHost{}, filepath.Join(dir, "none.yaml"))
		f.expect("error: none.yaml: no such file or directory")
		<-f.done
		f.end()
	})
}

func TestFollowWithoutWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := write(t, t.TempDir(), "g.yaml", graphSource("one"))
		f := follow(t, &fakeHost{err: errors.New("no watches left")}, path)
		f.expect("one", "error: no watches left")
		<-f.done
		f.end()
	})
}

// Without watching there is one graph.
func TestNoWatch(t *testing.T) {
	path := write(t, t.TempDir(), "g.yaml", graphSource("one"))
	once(t, path, gapi.Env{NoWatch: true, Host: &fakeHost{err: errors.New("not to be called")}}, "one")
	once(t, "-", gapi.Env{Host: &fakeHost{err: errors.New("not to be called")}, Stdin: strings.NewReader(graphSource("in"))}, "in")
}

func once(t *testing.T, path string, env gapi.Env, want string) {
	t.Helper()
	n := 0
	for d, err := range yaml.New(path, yaml.Options{}).Graphs(t.Context(), env) {
		if n++; err != nil || d.Comment != want {
			t.Errorf("%v, %v", d, err)
		}
	}
	if n != 1 {
		t.Errorf("yielded %d times", n)
	}
}

func TestNoWatchFailure(t *testing.T) {
	for d, err := range yaml.New("-", yaml.Options{}).Graphs(t.Context(), gapi.Env{NoWatch: true}) {
		if ds, ok := errors.AsType[schema.Diagnostics](err); d != nil || !ok || ds[0].Pos.File != "stdin" {
			t.Errorf("%v, %v", d, err)
		}
	}
}

// A pipe in the place of a file would be waited for, and the sequence with it.
func TestFollowFileBecomesPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		host := &fakeHost{}
		path := write(t, dir, "g.yaml", graphSource("one"))
		f := follow(t, host, path)
		f.expect("one")
		must(t, os.Remove(path))
		must(t, unix.Mkfifo(path, 0o600))
		host.touch()
		f.expect("error: it is neither a file nor a folder")
		if !slices.Contains(host.watched(), path) {
			t.Errorf("watches %q", host.watched())
		}
		must(t, os.Remove(path))
		write(t, dir, "g.yaml", graphSource("two"))
		host.touch()
		f.expect("two")
		f.end()
	})
}
