package private_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/private"
)

// inFolder returns the Init of a resource whose VarDir is a folder.
func inFolder(dir string) *engine.Init {
	return &engine.Init{VarDir: func(string) (string, error) { return dir, nil }}
}

// TestWriteRead: a content comes back as it was written, with mode 0600 whatever was there, and
// no other file is left.
func TestWriteRead(t *testing.T) {
	dir := t.TempDir()
	init := inFolder(dir)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.new"), []byte("of a crash"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, sync := range []bool{false, true} {
		for _, want := range []string{"secret\x00\xff", ""} {
			if err := private.Write(init, "a", []byte(want), sync); err != nil {
				t.Fatal(err)
			}
			got, info, err := private.ReadInfo(init, "a")
			if err != nil || string(got) != want || info.Mode() != private.Mode {
				t.Errorf("%q, %v, %v; want %q", got, info, err, want)
			}
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the folder has %v, %v", list, err)
	}
}

// TestReadMissing: a file or a folder that is not there is nothing, and no error.
func TestReadMissing(t *testing.T) {
	dir := t.TempDir()
	for _, init := range []*engine.Init{inFolder(dir), inFolder(filepath.Join(dir, "none"))} {
		if got, err := private.Read(init, "a"); got != nil || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := private.Write(inFolder(filepath.Join(dir, "none")), "a", nil, false); err == nil {
		t.Error("a folder that is not there is written to")
	}
}

// TestLinks: neither a read nor a write follows a link, and a folder in the place of the file is
// replaced.
func TestLinks(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	init := inFolder(dir)
	if err := os.WriteFile(other, []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "a.new"} {
		if err := os.Symlink(other, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "c"), nil, 0o600), os.Symlink("c", filepath.Join(dir, "d"))); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"a", "d"} {
		if got, err := private.Read(init, link); err == nil {
			t.Errorf("the link %s is read: %q", link, got)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "b", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := private.Write(init, name, []byte("ours"), false); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeType != 0 {
			t.Errorf("%s is %v, %v", name, info, err)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "not ours" {
		t.Errorf("the file behind the link is %q, %v", text, err)
	}
}
