package ineffect

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// TestFindingQ10Renew: files that somebody has removed are written again as a whole, also where nothing more is put.
func TestFindingQ10Renew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	names, log := filepath.Join(dir, "in-effect"), filepath.Join(dir, "declared")
	is := map[string]string{"a": "1"}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	anew := func() {
		// At once, since the names may be written meanwhile.
		if err := errors.Join(os.Rename(dir, filepath.Join(t.TempDir(), "state")), os.Mkdir(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		anew()
		k := New(names, slog.New(slog.DiscardHandler), clock.System{})
		l := NewLog("the declarations", log, func() any { return Declarations[string]{Salt: make([]byte, saltLen), Prints: is} }, slog.New(slog.DiscardHandler), clock.System{})
		if err := k.Renew(); err != nil { // nothing was kept before
			t.Error(err)
		}
		k.Keep(func() Names { return Names{All: []string{"a"}} }, "g.yaml")
		if len(is) > 1 { // else it was put by an earlier process
			l.Put("a", "1")
			l.Flush()
		}
		anew()
		if err := errors.Join(k.Renew(), l.Renew()); err != nil {
			t.Error(err)
		}
		if is["b"] != "" {
			is["b"] += "x"
			l.Put("b", is["b"])
		}
		if err := errors.Join(k.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		if got, err := Read(names, "g.yaml"); err != nil || !slices.Equal(got.All, []string{"a"}) {
			t.Errorf("the names are %v, %v", got, err)
		}
		if got, err := ReadDeclarations[string](log); err != nil || !maps.Equal(got.Prints, is) {
			t.Errorf("the entries are %v, %v, want %v", got, err, is)
		}
		is["b"] = "2"
	}
}
