package resources

import (
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/received"
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
		if got := received.RootKey(path); got != want {
			t.Errorf("rootKey(%q) = %q, want %q", path, got, want)
		}
	}
}

// A kind that nothing outside can change needs no goroutine that waits.
func TestKindsWithNothingToWatch(t *testing.T) {
	var got []string
	for _, name := range Kinds() {
		k, err := engine.DefaultRegistry().Kind(name)
		if err != nil {
			t.Fatal(err)
		}
		if k.Abilities.Unwatched {
			got = append(got, name)
		}
	}
	if want := []string{"msg", "noop", "print", "value"}; !slices.Equal(got, want) {
		t.Errorf("nothing to watch have %v, want %v", got, want)
	}
}
