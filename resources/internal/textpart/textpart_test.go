package textpart_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/textpart"
)

func file(dir string) textpart.File {
	return textpart.File{Dir: atomicfile.At(dir), Name: "f", Max: 1 << 20, Mode: 0o640, UID: -1, GID: -1}
}

func lay(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	st, serr := os.Stat(path)
	if err != nil || serr != nil || string(got) != text || st.Mode() != mode {
		t.Fatalf("%q, %v, %v, want %q, %v", got, st.Mode(), err, text, mode)
	}
}

func to(text string) func(string) (string, error) {
	return func(string) (string, error) { return text, nil }
}

// TestEdit: what becomes of a file, its mode and its text.
func TestEdit(t *testing.T) {
	no := errors.New("no")
	for name, c := range map[string]struct {
		old    string
		mode   fs.FileMode
		set    func(*textpart.File)
		change func(string) (string, error)
		text   string
		then   fs.FileMode // 0 for gone
		err    error
	}{
		"made":        {"", 0, nil, to("a"), "a", 0o640, nil},
		"not made":    {"", 0, nil, to(""), "", 0, nil},
		"replaced":    {"a", 0o604, nil, to("b"), "b", 0o604, nil},
		"refused":     {"a", 0o604, nil, func(string) (string, error) { return "b", no }, "a", 0o604, no},
		"not allowed": {"a", 0o604, func(f *textpart.File) { f.Allow = func(atomicfile.Stat) error { return no } }, to("b"), "a", 0o604, no},
		"checked": {"a", 0o604, func(f *textpart.File) {
			f.Check = func(string, []uint32) func(string) error { return func(string) error { return no } }
		}, to("b"), "a", 0o604, no},
		"private":         {"a", 0o644, func(f *textpart.File) { f.Private = true }, to("b"), "b", 0o600, nil},
		"private already": {"a", 0o644, func(f *textpart.File) { f.Private = true }, to("a"), "a", 0o600, nil},
		"dropped":         {"a", 0o644, func(f *textpart.File) { f.Drop = true }, to(" \n"), "", 0, nil},
		"blank":           {"a", 0o644, nil, to(" \n"), " \n", 0o644, nil},
		"too long":        {"a", 0o644, func(f *textpart.File) { f.Max = 3 }, to("long"), "a", 0o644, &textpart.TooLargeError{Max: 3}},
		"too long before": {"long", 0o644, func(f *textpart.File) { f.Max = 3 }, to("a"), "long", 0o644, &textpart.TooLargeError{Max: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if c.mode != 0 {
				lay(t, path, c.old, c.mode)
			}
			f := file(dir)
			if c.set != nil {
				c.set(&f)
			}
			err := f.Edit(c.change)
			var large *textpart.TooLargeError
			if _, is := c.err.(*textpart.TooLargeError); is && !errors.As(err, &large) || !is && !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if c.then == 0 {
				if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Fatal("it is there")
				}
				return
			}
			want(t, path, c.text, c.then)
		})
	}
}

// TestNothingIsWritten: a text that stays the same is not written.
func TestNothingIsWritten(t *testing.T) {
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "f"), "a", 0o600)
	before, _ := os.Stat(filepath.Join(dir, "f"))
	if err := file(dir).Edit(to("a")); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(filepath.Join(dir, "f")); !os.SameFile(before, after) {
		t.Error("it is another file")
	}
}

// TestNoChangeIsLost: whenever another program writes, its text is in the end below ours.
func TestNoChangeIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		path, text, edits := filepath.Join(dir, "f"), "", 0
		meddles := rapid.SliceOfN(rapid.StringN(1, 5, 20), 0, 6).Draw(rt, "meddles")
		err = atomicfile.Retry(func() error {
			return file(dir).Edit(func(old string) (string, error) {
				if old != text {
					rt.Fatalf("read %q, want %q", old, text)
				}
				if edits < len(meddles) {
					text = strings.Repeat("x", edits) + meddles[edits]
					if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
						return "", err
					}
				}
				edits++
				return old + "ours", nil
			})
		})
		if len(meddles) >= 5 {
			if !errors.Is(err, atomicfile.ErrChanged) || edits != 5 {
				rt.Fatalf("%v after %d edits", err, edits)
			}
			return
		}
		got, rerr := os.ReadFile(path)
		if err != nil || rerr != nil || string(got) != text+"ours" {
			rt.Fatalf("%q, want %q; %v", got, text+"ours", errors.Join(err, rerr))
		}
	})
}
