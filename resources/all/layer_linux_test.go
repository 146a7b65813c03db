package all_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/simulate"
)

// resource makes a resource with parameters.
func resource(t *testing.T, kind, name string, params map[string]any) engine.Res {
	t.Helper()
	r, err := lifecycle.Make(engine.DefaultRegistry(), lifecycle.Wanted{Kind: kind, Name: name}, func(r engine.Res) error {
		for key, v := range params {
			if err := schema.Set(r, key, v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// layered is a layer over a folder, and one who looks through it.
type layered struct {
	*testing.T
	root   string
	layer  *simulate.Layer
	look   safepath.Walker
	untold int
}

func newLayered(t *testing.T) *layered {
	l := &layered{T: t, root: t.TempDir()}
	l.layer = simulate.NewLayer(t.Context(), safepath.System())
	l.look = l.layer.Paths(func() { l.untold++ })
	t.Cleanup(func() {
		if err := l.layer.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// lay lays the effect of a resource.
func (l *layered) lay(kind, name string, params map[string]any, changes ...engine.Change) (seen bool) {
	l.Helper()
	return l.layer.Lay(resource(l.T, kind, name, params), nil, changes)
}

func (l *layered) holds(name, want string) {
	l.Helper()
	f, err := l.look.Open(filepath.Join(l.root, name))
	if err != nil {
		l.Error(err)
		return
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != want {
		l.Errorf("%s has %q, %v, want %q", name, text, err, want)
	}
}

func (l *layered) gone(name string) {
	l.Helper()
	if _, err := l.look.Behind(filepath.Join(l.root, name)); !errors.Is(err, os.ErrNotExist) {
		l.Errorf("%s: %v", name, err)
	}
}

func (l *layered) write(name, text string) {
	l.Helper()
	if err := os.WriteFile(filepath.Join(l.root, name), []byte(text), 0o600); err != nil {
		l.Fatal(err)
	}
}

// TestFindingL1Layer: what looks through a layer finds the machine as resources would leave it, and the machine stays as it is.
func TestFindingL1Layer(t *testing.T) {
	l := newLayered(t)
	l.write("is", "one\n")
	l.write("old", "old\n")
	if err := os.Symlink("new", filepath.Join(l.root, "link")); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(l.root, name) }
	if !l.lay("file", "folder", map[string]any{"path": at("new") + "/", "mode": "0700"}) ||
		!l.lay("file", "in it", map[string]any{"path": at("new/file"), "source": at("is"), "owner": "nobody there"}) ||
		!l.lay("line", "two", map[string]any{"file": at("is"), "content": "two"}) ||
		!l.lay("file", "old", map[string]any{"path": at("old"), "state": "absent"}) {
		t.Error("an effect is not seen whole")
	}
	l.holds("new/file", "one\n") // made before the line came
	l.holds("link/file", "one\n")
	l.holds("is", "one\ntwo\n")
	l.gone("old")
	l.gone("new/none")
	if l.lay("exec", "makes", map[string]any{"cmd": "make", "creates": at("made")}) {
		t.Error("all that a command does is seen")
	}
	if _, err := l.look.Stat(at("made")); err == nil || l.untold != 1 {
		t.Errorf("what a command makes is told: %v, %d", err, l.untold)
	}
	if list, err := os.ReadDir(l.root); err != nil || len(list) != 3 {
		t.Errorf("the machine has %v, %v", list, err)
	}
	if text, err := os.ReadFile(at("is")); string(text) != "one\n" {
		t.Errorf("the machine has %q, %v", text, err)
	}
	f, err := l.look.Folder(l.root) // all that is in a folder
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range []string{"new", "is", "link"} {
		if _, err := f.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.Stat("old"); err == nil {
		t.Error("a removed file is in its folder")
	}
}

// TestFindingL1LayerKnowsThings: what can't be seen by its path is known by its name.
func TestFindingL1LayerKnowsThings(t *testing.T) {
	l := newLayered(t)
	l.lay("user", "alice", nil)
	l.lay("user", "bob", map[string]any{"state": "absent"})
	for name, want := range map[string]bool{"alice": true, "bob": false, "carol": false} {
		if l.layer.Plans("user", name) != want {
			t.Errorf("%s is planned: %t", name, !want)
		}
	}
}

// TestFindingL1LayerKeepsToItsFolder: a kind that writes beside its path, or through a link, alters the copy of it.
func TestFindingL1LayerKeepsToItsFolder(t *testing.T) {
	l := newLayered(t)
	l.write("target", "kept\n")
	if err := os.Symlink(filepath.Join(l.root, "target"), filepath.Join(l.root, "link")); err != nil {
		t.Fatal(err)
	}
	l.lay("file", "by a link", map[string]any{"path": filepath.Join(l.root, "link"), "content": "new\n"})
	l.holds("link", "new\n")
	if text, err := os.ReadFile(filepath.Join(l.root, "target")); string(text) != "kept\n" {
		t.Errorf("the machine has %q, %v", text, err)
	}
}
