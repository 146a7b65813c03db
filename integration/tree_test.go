package integration_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxTracked is how many bytes a file of the repository may have.
const maxTracked = 1 << 20

// TestNoProgramInTheTree: the repository has texts, and no program that somebody has built in it. A clone of it is small, and a
// reviewer can read each file.
func TestNoProgramInTheTree(t *testing.T) {
	out, err := exec.Command("git", "-C", "..", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("this is no checkout of git: ", err)
	}
	files := strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
	if len(files) < 1000 {
		t.Fatalf("git lists %d files alone", len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("..", name))
		switch {
		case os.IsNotExist(err): // it is removed, and that is not committed yet
		case err != nil:
			t.Error(err)
		case len(text) > maxTracked:
			t.Errorf("%s has %d bytes, and %d are allowed: does it belong into the repository?", name, len(text), maxTracked)
		case bytes.HasPrefix(text, []byte("\x7fELF")), bytes.HasPrefix(text, []byte("MZ\x90")):
			t.Errorf("%s is a program: build it where it is needed", name)
		}
	}
}
