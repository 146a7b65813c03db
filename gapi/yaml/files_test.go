package yaml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// load reads a graph in which nothing is wrong.
func load(t testing.TB, path string) *gapi.Declared {
	t.Helper()
	d, err := yaml.Load(path, yaml.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Problems) > 0 {
		t.Fatal(d.Problems)
	}
	return d
}

func names(d *gapi.Declared) []string {
	var list []string
	for _, r := range d.Resources {
		list = append(list, r.Name)
	}
	return list
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site.d")
	write(t, dir, "20-b.yml", "graph: second\ncomment: two\nresources: {noop: [{name: b}]}\n")
	write(t, dir, "10-a.yaml", "resources: {noop: [{name: a}]}\n")
	write(t, dir, "30-c.yaml", "graph: third\nnoop: true\nresources: {noop: [{name: c}]}\nedges: [{from: \"noop[a]\", to: \"noop[c]\"}]\n")
	write(t, dir, "README.md", "{")
	d := load(t, dir)
	if diff := cmp.Diff([]string{"a", "b", "c"}, names(d)); diff != "" {
		t.Error(diff)
	}
	if d.Name != "second" || d.Comment != "two" || !d.Noop || len(d.Edges) != 1 {
		t.Errorf("%+v", d)
	}
	for _, name := range []string{"20-b.yml", "30-c.yaml"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if d := load(t, dir); d.Name != "site" {
		t.Errorf("the name is %q", d.Name)
	}
}

func TestIncludes(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "web.yaml", "include: [lib/base.yaml, parts]\nresources: {noop: [{name: web}]}\n")
	write(t, dir, "lib/base.yaml", "graph: base\ninclude: deeper/one.yaml\nresources: {noop: [{name: base}]}\n")
	write(t, dir, "lib/deeper/one.yaml", "include: [../two.yaml]\nresources: {noop: [{name: one}]}\n")
	write(t, dir, "lib/two.yaml", "resources: {noop: [{name: two, before: [\"noop[web]\"]}]}\n")
	write(t, dir, "parts/b.yaml", "resources: {noop: [{name: b}]}\n")
	write(t, dir, "parts/a.yaml", "include: ["+write(t, dir, "abs.yaml", "resources: {noop: [{name: abs}]}\n")+"]\nresources: {noop: [{name: a}]}\n")
	d := load(t, path)
	if diff := cmp.Diff([]string{"web", "base", "one", "two", "a", "abs", "b"}, names(d)); diff != "" {
		t.Error(diff)
	}
	if d.Name != "base" {
		t.Errorf("the name is %q", d.Name)
	}
	if pos := d.Resources[3].Before[0].Pos; pos != (schema.Pos{File: filepath.Join(dir, "lib/two.yaml"), Line: 1, Col: 41}) {
		t.Errorf("%v", pos)
	}
}

// A cycle by way of links between folders ends.
func TestIncludeLinkCycle(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yaml", "include: [sub/a.yaml]\n")
	if err := os.Symlink(".", filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	_, err := yaml.Load(path, yaml.Options{}, nil)
	if err == nil || !strings.Contains(err.Error(), "is read already, a file can be included once") {
		t.Error(err)
	}
}

func TestStdin(t *testing.T) {
	d, err := yaml.Load("-", yaml.Options{}, strings.NewReader("resources: {noop: [{name: a, b: c}]}\n"))
	if err != nil || d.Name != "stdin" {
		t.Fatal(d, err)
	}
	_, ds := gapi.Build(registry(t), d)
	if got := ds.Error(); got != `stdin:1:30: unknown key "b"` {
		t.Error(got)
	}
}

func TestPositions(t *testing.T) {
	path := write(t, t.TempDir(), "g.yaml", `resources:
  file:
  - owner: me
    name: /a
    meta: {retry: 1}
    recv:
      content: exec[é].output
    before: exec[é]
    listen:
    - "exec[é]"
edges:
- name: e
  from: {kind: file, name: /a}
  to: exec[é]
  notify: true
`)
	at := func(line, col int32) schema.Pos { return schema.Pos{File: path, Line: line, Col: col} }
	d := load(t, path)
	r, e := d.Resources[0], d.Edges[0]
	for name, c := range map[string]struct{ got, want schema.Pos }{
		"resource": {r.Pos, at(3, 5)},
		"kind":     {r.KindPos, at(2, 3)},
		"name":     {r.NamePos, at(4, 11)},
		"value":    {r.Value.Pos, at(3, 5)},
		"owner":    {r.Value.Get("owner").Pos, at(3, 12)},
		"key":      {r.Value.Pairs[0].Pos, at(3, 5)},
		"retry":    {r.Meta.Get("retry").Pos, at(5, 19)},
		"recv":     {r.Recv[0].Pos, at(7, 7)},
		"before":   {r.Before[0].Pos, at(8, 13)},
		"listen":   {r.Listen[0].Pos, at(10, 7)},
		"edge":     {e.Pos, at(12, 3)},
		"from":     {e.PosOf(e.From), at(13, 9)},
		"to":       {e.PosOf(e.To), at(14, 7)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if len(r.Value.Pairs) != 1 || !e.Notify || e.Name != "e" || e.To.Name != "é" {
		t.Errorf("%+v %+v", r, e)
	}
}
