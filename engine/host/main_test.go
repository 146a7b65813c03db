package host

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/events"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	playRole()
	// Who runs the tests with nohup, or in the background, ignores these, and so would all that is started.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	goleak.VerifyTestMain(m)
}

const patience = 5 * time.Minute

// newHost returns a Host that is closed, and found empty, at the end of the test.
func newHost(t testing.TB, o Options) *Host {
	t.Helper()
	if o.open == nil {
		o.open = openChosen
	}
	h, err := New(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// watch subscribes until the end of the test.
func watch(t testing.TB, h *Host, o events.Options, paths ...string) events.Subscription {
	t.Helper()
	s, err := h.Watch(t.Context(), paths, o)
	must(t, err)
	return s
}

// woken waits for a wake-up.
func woken(t testing.TB, s events.Subscription) events.Cause {
	t.Helper()
	select {
	case <-s.C():
		return s.Cause()
	case <-time.After(patience):
		t.Fatal("no wake-up came")
		return events.Cause{}
	}
}

// until takes wake-ups until the condition holds. It holds only if a wake-up
// came after it became true, or at once.
func until(t testing.TB, s events.Subscription, what string, ok func() bool) {
	t.Helper()
	late := time.After(patience)
	for !ok() {
		select {
		case <-s.C():
		case <-late:
			t.Fatalf("no wake-up told that %s", what)
		}
	}
}

// settle waits until the hub has seen everything that has happened so far, and
// empties the subscriptions.
func settle(t testing.TB, h *Host, subs ...events.Subscription) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sentinel"), "") // a name that is made waits for the end of its writer, and one that is there does not
	s, err := h.Watch(t.Context(), []string{filepath.Join(dir, "sentinel")}, events.Options{})
	must(t, err)
	defer s.Close()
	// The second sentinel comes after whatever the first one's predecessors led to.
	for range 2 {
		write(t, filepath.Join(dir, "sentinel"), "x")
		woken(t, s)
		quiesce(h)
	}
	for _, s := range subs {
		drain(s)
	}
}

// quiesce waits until the hub has nothing to do.
func quiesce(h *Host) {
	for busy := true; busy; {
		done := make(chan struct{})
		h.hub.calls <- func() {
			defer close(done)
			h.hub.modifications()
			busy = h.hub.busy() || len(h.hub.transits.order) > 0
		}
		<-done
	}
}

func drain(s events.Subscription) (c events.Cause) {
	select {
	case <-s.C():
		return s.Cause()
	default:
		return events.Cause{}
	}
}

// silent fails if there is a wake-up after everything has been seen.
func silent(t testing.TB, h *Host, s events.Subscription) {
	t.Helper()
	settle(t, h)
	if c := drain(s); c != (events.Cause{}) {
		t.Fatalf("unexpected wake-up: %+v", c)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	must(t, os.MkdirAll(path, 0o755))
}

func rename(t testing.TB, from, to string) { t.Helper(); must(t, os.Rename(from, to)) }
func symlink(t testing.TB, to, at string)  { t.Helper(); must(t, os.Symlink(to, at)) }
func remove(t testing.TB, path string)     { t.Helper(); must(t, os.RemoveAll(path)) }

func exists(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return err == nil }
}

func holds(path, text string) func() bool {
	return func() bool { b, _ := os.ReadFile(path); return string(b) == text }
}

// empty waits until the hub holds nothing any more.
func empty(t testing.TB, h *Host) {
	t.Helper()
	deadline := time.Now().Add(patience)
	held := func() Stats {
		st := h.Stats()
		st.Resyncs = 0 // which happened, and is not held
		return st
	}
	for held() != (Stats{}) || dump(h) != "" {
		if time.Now().After(deadline) {
			t.Fatalf("not let go of: %+v\n%s", h.Stats(), dump(h))
		}
		quiesce(h)
	}
}

// dump shows the tree of nodes, without the root.
func dump(h *Host) string {
	var b strings.Builder
	done := make(chan struct{})
	h.hub.calls <- func() {
		defer close(done)
		var show func(n *node)
		show = func(n *node) {
			for _, k := range n.kids {
				fmt.Fprintf(&b, "%s mark=%b dir=%v to=%v leaf=%v auto=%v names=%d back=%d\n",
					k.path(), k.mark, k.dir != nil, k.to != nil, k.leaf, k.auto, len(k.names), len(k.back))
				show(k)
			}
		}
		show(h.hub.root)
		if n := len(h.hub.byID) + len(h.hub.byPath) + len(h.hub.polled) + len(h.hub.loops); n != 0 {
			fmt.Fprintf(&b, "%d directories or loops\n", n)
		}
	}
	<-done
	return b.String()
}

// check compares what the hub knows with what the file system is: every node
// that is entered is the directory that is there.
func check(t testing.TB, h *Host) {
	t.Helper()
	settle(t, h)
	var wrong []string
	done := make(chan struct{})
	h.hub.calls <- func() {
		defer close(done)
		var look func(n *node)
		look = func(n *node) {
			st, err := os.Stat(n.path())
			there := err == nil && st.IsDir()
			if n.inside && there != (n.dir != nil) {
				wrong = append(wrong, fmt.Sprintf("%s: there %v, entered %v", n.path(), there, n.dir != nil))
			}
			if n.dir != nil && there && n.dir.id != identify(mustEval(n.path())) {
				wrong = append(wrong, n.path()+": another directory is watched")
			}
			for _, k := range n.kids {
				look(k)
			}
		}
		look(h.hub.root)
		if held, ok := holdsOf(h.hub.w); ok && held != len(h.hub.byPath) {
			wrong = append(wrong, fmt.Sprintf("the source holds %d, we %d", held, len(h.hub.byPath)))
		}
	}
	<-done
	if wrong != nil {
		t.Fatal(strings.Join(wrong, "\n"))
	}
}

func mustEval(path string) string {
	p, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return p
}

// A lines is a log that tests can read.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
