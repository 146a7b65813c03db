package yaml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("b.json", "{\n\t\"name\": \"b\"\n}\n")
	put("a.yaml", "name: a\n")
	put("c.yml", "- name: c\n")
	put(".hidden.yaml", "x: [")
	put("notes.txt", "x: [")
	nodes, ds := yaml.Documents(dir, yaml.Options{})
	if len(ds) > 0 || len(nodes) != 3 {
		t.Fatal(nodes, ds)
	}
	if nodes[0].Get("name").Text != "a" || nodes[1].Get("name").Text != "b" || nodes[2].Items[0].Get("name").Text != "c" {
		t.Error("another order")
	}
	if pos := nodes[1].Get("name").Pos; pos.File != filepath.Join(dir, "b.json") || pos.Line != 2 {
		t.Error(pos)
	}
	put("d.yaml", "x: [\n")
	put("e.yaml", "")
	put("f.yaml", "a: 1\na: 2\n")
	if err := os.Mkdir(filepath.Join(dir, "g.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	nodes, ds = yaml.Documents(dir, yaml.Options{})
	got := strings.ReplaceAll(ds.Error(), dir+"/", "")
	for _, want := range []string{"d.yaml:", "e.yaml: the file is empty\n", "f.yaml:2:1: ", "g.yaml: it is neither a file nor a folder"} {
		if !strings.Contains(got+"\n", want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if len(nodes) < 3 {
		t.Error("what can be read is not")
	}
	if _, ds := yaml.Documents(dir, yaml.Options{MaxBytes: 20}); ds.Err() == nil || !strings.Contains(ds.Error(), "too big") {
		t.Error(ds)
	}
	for path, want := range map[string]string{t.TempDir(): "has no *.yaml", filepath.Join(dir, "none"): "no such file", filepath.Join(dir, "a.yaml"): "not a directory"} {
		if _, ds := yaml.Documents(path, yaml.Options{}); ds.Err() == nil || !strings.Contains(ds.Error(), want) {
			t.Error(ds)
		}
	}
}
