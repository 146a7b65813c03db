package integration_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackendInTheDocs: the backend of the page on virtual modules, as it stands there,
// answers what the page says, in a folder of its own instead of /tmp/mgmt-box.
func TestBackendInTheDocs(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	moved := strings.NewReplacer("/tmp/mgmt-box", dir)
	put := func(path, text string, mode os.FileMode) {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(moved.Replace(text)), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("packages/git", "2.39.5", 0o644)
	put("packages/vim", "9.0", 0o644)
	n := 0
	for _, b := range blocks(t, "../docs/virtual-modules.md") {
		switch {
		case b.lang == "yaml":
			put("backends/box.yaml", b.text, 0o644)
		case b.lang == "sh" && strings.HasPrefix(b.text, "#!"):
			put("boxed", b.text, 0o755)
		case b.lang == "text" && strings.HasPrefix(b.text, "$ "):
			for _, session := range strings.Split("\n"+b.text, "\n$ ")[1:] {
				n++
				command, want, _ := strings.Cut(strings.TrimSuffix(session, "\n"), "\n")
				if got := runSession(t, bin, dir, moved.Replace(command)); got != strings.TrimSuffix(moved.Replace(want), "\n") {
					t.Errorf("$ %s\n got:\n%s\n the page says:\n%s", command, got, want)
				}
			}
		}
	}
	if n < 6 {
		t.Errorf("%d commands found", n)
	}
}
