package yaml

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFileThatComputesIsParsedOnce: a new fact has the graph computed anew, and the file not parsed again. A file that computes
// nothing is not kept in memory.
func TestFileThatComputesIsParsedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.yaml")
	write := func(comment string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("resources:\n  noop:\n  - {name: a, comment: \""+comment+"\"}\n  - {name: b, comment: plain}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	name := "w1"
	l := newFiles(path, Options{Facts: func() map[string]any { return map[string]any{"hostname": name} }}, nil)
	read := func(want string) *part {
		t.Helper()
		d, err := l.load(t.Context()).result()
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Resources) != 2 || d.Resources[0].Value.Get("comment").Text != want || d.Resources[1].Value.Get("comment").Text != "plain" {
			t.Fatalf("want %q, got %+v", want, d.Resources)
		}
		for _, c := range l.cache {
			return c.part
		}
		return nil
	}
	write("${{ facts.hostname }}")
	first := read("w1")
	name = "w2"
	if again := read("w2"); first == nil || again != first {
		t.Error("the file is parsed again for a new fact")
	}
	write("${{ facts.hostname }}!")
	if again := read("w2!"); again == first {
		t.Error("a changed file is not parsed again")
	}
	write("words")
	if read("words") != nil {
		t.Error("a file that computes nothing is kept")
	}
}
