package yaml_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
)

// On a real file system, every way to edit is seen.
func TestFollowRealEdits(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), await.Left())
	defer stop()
	h, err := host.New(ctx, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	dir := t.TempDir()
	path := write(t, dir, "etc/g.yaml", "include: [lib]\n"+graphSource("one"))
	write(t, dir, "v1/lib.yaml", "graph: v1\n")
	write(t, dir, "v2/lib.yaml", "graph: v2\n")
	must(t, os.Symlink(filepath.Join(dir, "v1"), filepath.Join(dir, "etc/lib")))

	steps := []struct {
		want string // graph and comment
		edit func()
	}{
		{"v1 one", func() { write(t, dir, "etc/g.yaml", "include: [lib]\n"+graphSource("in place")) }},
		{"v1 in place", func() {
			tmp := write(t, dir, "etc/g.yaml~", "include: [lib]\n"+graphSource("renamed"))
			must(t, os.Rename(tmp, path))
		}},
		{"v1 renamed", func() {
			must(t, os.Symlink(filepath.Join(dir, "v2"), filepath.Join(dir, "etc/new")))
			must(t, os.Rename(filepath.Join(dir, "etc/new"), filepath.Join(dir, "etc/lib")))
		}},
		{"v2 renamed", func() { write(t, dir, "v2/lib.yaml", "graph: v3\n") }},
		{"v3 renamed", func() { write(t, dir, "v2/added.yaml", "graph: v0\n") }},
		{"v0 renamed", func() { must(t, os.Remove(filepath.Join(dir, "v2/added.yaml"))) }},
		{"v3 renamed", func() {
			must(t, os.Rename(filepath.Join(dir, "etc"), filepath.Join(dir, "old")))
			must(t, os.Symlink(filepath.Join(dir, "v1"), filepath.Join(dir, "old/new")))
			must(t, os.Rename(filepath.Join(dir, "old/new"), filepath.Join(dir, "old/lib")))
			must(t, os.Rename(filepath.Join(dir, "old"), filepath.Join(dir, "etc")))
		}},
		{"v1 renamed", nil},
	}
	at := 0
	for d, err := range yaml.New(path, yaml.Options{}).Graphs(ctx, gapi.Env{Host: h}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Name + " " + d.Comment; got != steps[at].want {
			t.Fatalf("step %d: %q, want %q", at, got, steps[at].want)
		}
		if steps[at].edit == nil {
			return
		}
		steps[at].edit()
		at++
	}
	t.Fatalf("the sequence ended at step %d", at)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
