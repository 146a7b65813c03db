package resources

import (
	"context"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

func TestMain(m *testing.M) {
	// Who runs the tests with nohup, or in the background, ignores these, and so would all that is started.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	goleak.VerifyTestMain(m)
}

// nothingComesOf fails if an event comes of what is done, each time that it is done: one may be of
// what was done before, and still on its way.
func nothingComesOf(t *testing.T, f *enginetest.Fake, what func()) {
	t.Helper()
	for range 10 {
		what()
		select {
		case <-f.Events():
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
	t.Error("an event for nothing")
}

// begin validates and initialises a resource that was filled by hand.
func begin(t *testing.T, kind string, r engine.Res, o ...enginetest.Option) *enginetest.Fake {
	t.Helper()
	r.SetKind(kind)
	if r.Name() == "" {
		r.SetName("it")
	}
	if err := r.Validate(); err != nil {
		t.Fatalf("Validate: %v", err)
	}
	f := enginetest.NewInit(t, o...)
	if err := r.Init(f.Init()); err != nil {
		t.Fatalf("Init: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Cleanup(); err != nil {
			t.Errorf("Cleanup: %v", err)
		}
	})
	return f
}

// verbs runs CheckApply once, and returns the verbs of its changes as one text:
// nothing when all was right, and "error: ..." when it failed.
func verbs(t *testing.T, f *enginetest.Fake, r engine.Res, apply bool) string {
	t.Helper()
	f.Reset()
	f.SetNoop(!apply)
	defer f.SetNoop(false)
	ok, err := r.CheckApply(t.Context(), apply)
	if err != nil {
		if ok {
			t.Errorf("CheckApply returned true and %v", err)
		}
		return "error: " + err.Error()
	}
	var words []string
	for _, c := range f.Changes() {
		words = append(words, c.String())
	}
	if ok != (len(words) == 0) {
		t.Errorf("CheckApply(%t) returned %t with the changes %v", apply, ok, words)
	}
	return strings.Join(words, " ")
}

// want fails the test unless CheckApply says exactly this, looking first and
// then applying: both have to agree.
func want(t *testing.T, f *enginetest.Fake, r engine.Res, what string) {
	t.Helper()
	if got := verbs(t, f, r, false); got != what {
		t.Fatalf("looking: got %q, want %q", got, what)
	}
	if got := verbs(t, f, r, true); got != what {
		t.Fatalf("applying: got %q, want %q", got, what)
	}
}

// watching runs Watch until the test ends, and waits until it is armed.
func watching(t *testing.T, f *enginetest.Fake, r engine.Res) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx) }()
	stop = func() {
		if cancel == nil {
			return
		}
		cancel()
		cancel = nil
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	}
	t.Cleanup(stop)
	f.WaitRunning(t)
	return stop
}

func TestKinds(t *testing.T) {
	kinds := Kinds()
	if !slices.IsSorted(kinds) {
		t.Errorf("Kinds is not sorted: %v", kinds)
	}
	if got := engine.DefaultRegistry().Kinds(); !slices.Equal(got, kinds) {
		t.Errorf("registered are %v, Kinds lists %v", got, kinds)
	}
}

func TestKindsAreDocumented(t *testing.T) {
	for _, name := range Kinds() {
		k, err := engine.DefaultRegistry().Kind(name)
		if err != nil {
			t.Error(err)
			continue
		}
		first, _, _ := strings.Cut(k.Doc, "\n")
		if len(first) < 20 || !strings.HasSuffix(strings.TrimSpace(first), ".") && !strings.Contains(k.Doc, ".") {
			t.Errorf("%s: its Doc does not begin with a sentence: %q", name, first)
		}
		for _, f := range k.Type.Fields {
			if !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s.%s: its doc is no sentence: %q", name, f.Key, f.Doc)
			}
		}
		if k.Abilities.Sends == nil {
			continue
		}
		for _, f := range k.Abilities.Sends.Fields {
			if !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s sends %s: its doc is no sentence: %q", name, f.Key, f.Doc)
			}
		}
	}
}

// Every kind of this package overlaps, and says so.
func TestKindsOverlap(t *testing.T) {
	for _, name := range Kinds() {
		k, err := engine.DefaultRegistry().Kind(name)
		if err != nil {
			t.Error(err)
		} else if !k.Abilities.Overlapping {
			t.Errorf("%s does not overlap", name)
		}
	}
}

func TestRootKey(t *testing.T) {
	for path, want := range map[string]string{"": "", "cmd": "cmd", "env.A": "env", "args[0]": "args", "a[0].b": "a"} {
		if got := rootKey(path); got != want {
			t.Errorf("rootKey(%q) = %q, want %q", path, got, want)
		}
	}
}

// A hundred thousand noops are a graph like any other.
func TestNoopIsSmall(t *testing.T) {
	if n := reflect.TypeFor[NoopRes]().Size() - reflect.TypeFor[engine.MetaParams]().Size(); n > 128 {
		t.Errorf("a noop takes %d bytes beside its metaparameters", n)
	}
}
