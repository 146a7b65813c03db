package all_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

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

	awaited string
	moved   int
}

// Moved implements simulate.Looker.
func (l *layered) Moved() { l.moved++ }

// Awaits implements simulate.Looker.
func (l *layered) Awaits(resource string) { l.untold, l.awaited = l.untold+1, resource }

func newLayered(t *testing.T) *layered {
	l := &layered{T: t, root: t.TempDir()}
	l.layer = simulate.NewLayer(t.Context(), safepath.System())
	l.look = l.layer.Paths(l)
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
	seen, _ = l.layer.Lay(resource(l.T, kind, name, params), nil, changes)
	return seen
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
	if _, err := l.look.Stat(at("made")); err == nil || l.untold != 1 || l.awaited != "exec[makes]" {
		t.Errorf("what a command makes is told: %v, %d, by %s", err, l.untold, l.awaited)
	}
	if list, err := os.ReadDir(l.root); err != nil || len(list) != 3 {
		t.Errorf("the machine has %v, %v", list, err)
	}
	if text, err := os.ReadFile(at("is")); string(text) != "one\n" {
		t.Errorf("the machine has %q, %v", text, err)
	}
	if _, err := l.look.Folder(l.root); err == nil || l.untold != 2 || l.awaited != "exec[makes]" {
		t.Errorf("a folder in which a command makes something is told: %v, %d, by %s", err, l.untold, l.awaited)
	}
	f, err := l.look.WithAll().Place(l.root) // all that can be told
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range []string{"new", "is", "link"} {
		if _, err := f.Folder.Stat(f.Name + "/" + name); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.Folder.Stat(f.Name + "/old"); err == nil {
		t.Error("a removed file is in its folder")
	}
}

// TestFindingL1LayerTellsOfCopies: who has looked at a file hears when it is copied, since it is another one in the layer.
func TestFindingL1LayerTellsOfCopies(t *testing.T) {
	l := newLayered(t)
	l.write("is", "one\n")
	l.write("other", "one\n")
	l.holds("is", "one\n")
	l.lay("line", "two", map[string]any{"file": filepath.Join(l.root, "other"), "content": "two"})
	if l.holds("other", "one\ntwo\n"); l.moved != 1 {
		t.Errorf("it heard %d times of what was copied as it looked", l.moved)
	}
	l.lay("line", "three", map[string]any{"file": filepath.Join(l.root, "is"), "content": "three"})
	if l.holds("is", "one\nthree\n"); l.moved != 2 {
		t.Errorf("it heard %d times when what it has looked at was copied, too", l.moved)
	}
}

// TestFindingL1LayerKeepsTimes: what is copied beside an effect, and what the effect leaves alone, has its time and its owner.
func TestFindingL1LayerKeepsTimes(t *testing.T) {
	l := newLayered(t)
	if err := os.Mkdir(filepath.Join(l.root, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	l.write("folder/is", "one\n")
	l.write("folder/line", "one\n")
	then := time.Unix(1_000_000_000, 0)
	names := []string{"folder/is", "folder/line", "folder"}
	for _, name := range names {
		if os.Geteuid() == 0 {
			if err := os.Chown(filepath.Join(l.root, name), 12, 34); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(filepath.Join(l.root, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	l.lay("line", "two", map[string]any{"file": filepath.Join(l.root, "folder/line"), "content": "two"})
	l.lay("file", "mode", map[string]any{"path": filepath.Join(l.root, "folder") + "/", "recurse": true, "mode": "0750"}, engine.Change{Field: "entries"})
	l.holds("folder/line", "one\ntwo\n")
	f, err := l.look.Folder(l.root)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range names {
		st, err := l.look.Stat(filepath.Join(l.root, name))
		if err != nil {
			t.Fatal(err)
		}
		if kept := st.Mtim.Nano() == then.UnixNano(); kept != (name == "folder/is") { // a line is replaced, which alters its folder too
			t.Errorf("%s has its time: %t", name, kept)
		}
		if os.Geteuid() == 0 && (st.Uid != 12 || st.Gid != 34) {
			t.Errorf("%s belongs to %d, %d", name, st.Uid, st.Gid)
		}
	}
}

// TestFindingL1LayerKnowsWhoLooked: an effect names those who have looked at what it alters before it came, and nobody else.
func TestFindingL1LayerKnowsWhoLooked(t *testing.T) {
	l := newLayered(t)
	l.write("is", "one\n")
	if err := os.Mkdir(filepath.Join(l.root, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(l.root, name) }
	outdated := func(name string) bool {
		_, before := l.layer.Lay(resource(t, "file", "over "+name, map[string]any{"path": at(name), "content": "two\n"}), nil, nil)
		return slices.Contains(before, simulate.Looker(l))
	}
	if outdated("is") {
		t.Error("nobody has looked")
	}
	l.holds("is", "two\n")
	l.gone("folder/none")
	if !outdated("is") || !outdated("folder/none") || outdated("folder/other") || outdated("others") {
		t.Error("who has looked at one path is not who is named")
	}
	f, err := l.look.Folder(at("folder")) // all that is in it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !outdated("folder/other") {
		t.Error("who has looked at a folder as a whole is not named")
	}
	_, before := l.layer.Lay(resource(t, "file", "gone", map[string]any{"path": at("folder") + "/", "state": "absent", "force": true}), nil, nil)
	if !slices.Contains(before, simulate.Looker(l)) {
		t.Error("who has looked below a folder that goes is not named")
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
	l.lay("group", "team", map[string]any{"gid": int64(950)})
	l.lay("group", "image", map[string]any{"gid": int64(951), "root": "/image"})
	if !l.layer.Plans("group", "950") || l.layer.Plans("group", "951") || l.layer.Plans("user", "950") {
		t.Error("a group is not known by its number, or one of another system is")
	}
}

// TestFindingL1LayerCopiesModes: a folder that is copied for a file in it keeps its rights.
func TestFindingL1LayerCopiesModes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root writes into a folder that it may not write into")
	}
	l := newLayered(t)
	if err := errors.Join(os.Mkdir(l.root+"/dir", 0o755), os.Mkdir(l.root+"/dir/sub", 0o755)); err != nil {
		t.Fatal(err)
	}
	l.write("dir/sub/b", "b\n")
	if err := errors.Join(os.Chmod(l.root+"/dir/sub", 0o500), os.Chmod(l.root+"/dir", 0o555)); err != nil {
		t.Fatal(err)
	}
	l.lay("file", l.root+"/dir/a", map[string]any{"content": "a\n"})
	l.holds("dir/a", "a\n")
	for name, mode := range map[string]uint32{"dir": 0o555, "dir/sub": 0o500} {
		st, err := l.look.WithAll().Stat(l.root + "/" + name)
		if err != nil || st.Mode&0o7777 != mode {
			t.Errorf("%s has the mode %o, %v", name, st.Mode&0o7777, err)
		}
	}
	l.holds("dir/sub/b", "b\n")
}

// TestFindingL1LayerLeadsThroughLinks: what is written behind a link that another resource makes is found where the link leads.
func TestFindingL1LayerLeadsThroughLinks(t *testing.T) {
	l := newLayered(t)
	if err := os.Mkdir(l.root+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	l.write("dir/b", "old\n")
	l.lay("file", l.root+"/link", map[string]any{"symlink": true, "source": "dir"})
	for _, name := range []string{"a", "b"} {
		if _, err := l.look.Stat(l.root + "/link/" + name); (err == nil) != (name == "b") { // as its check does
			t.Error(name, err)
		}
		l.lay("file", l.root+"/link/"+name, map[string]any{"content": "new\n"})
	}
	l.holds("dir/a", "new\n")
	l.holds("dir/b", "new\n")
	l.holds("link/b", "new\n")
	l.write("dir/c", "c\n") // nobody writes it, and a part of its folder is in the layer
	l.holds("link/c", "c\n")
	l.lay("file", l.root+"/second", map[string]any{"symlink": true, "source": "dir"})
	l.holds("second/c", "c\n")
	l.holds("second/b", "new\n")
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
