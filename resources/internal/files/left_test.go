package files

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// leftOf makes what a killed process leaves of the file with that name.
func leftOf(t *testing.T, dir, name string) (path string) {
	t.Helper()
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	path = filepath.Join(dir, fmt.Sprintf(".mgmt-%x~", h.Sum64()))
	if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLeftOfManyFiles: what a killed process has left of a file is removed also when the file
// is one of many that are made, of which not each is looked for.
func TestLeftOfManyFiles(t *testing.T) {
	dir, s := t.TempDir(), New(nil)
	var left []string
	s.Begin()
	defer func() { s.End(); _ = s.Close() }()
	for i := range 2 * ManyMade {
		name := fmt.Sprint(i)
		left = append(left, leftOf(t, dir, name))
		if i%4 != 0 { // of most nothing is left
			if err := os.Remove(left[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 2 * ManyMade {
		d, err := atomicfile.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(i)
		f := atomicfile.New{Dir: d, Name: name, Mode: -1, UID: -1, GID: -1, NoneLeft: s.NoneLeft(d, name)}
		if f.NoneLeft != (i >= ManyMade-1 && i%4 != 0) {
			t.Errorf("of %d NoneLeft is %t", i, f.NoneLeft)
		}
		if _, err := f.Write(); err != nil {
			t.Error(err)
		}
		d.Close()
	}
	for _, path := range left {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// TestLeftIsReadAnew: what was read of a folder counts until End, and what can't be read or
// has too many names is not known.
func TestLeftIsReadAnew(t *testing.T) {
	s, dir := New(nil), t.TempDir()
	many := func(dir string) (known bool) {
		for range ManyMade + 1 {
			known = s.NoneLeft(atomicfile.At(dir), "f")
		}
		return known
	}
	s.Begin()
	if !many(dir) {
		t.Error("an empty folder was not read")
	}
	leftOf(t, dir, "f")
	s.End()
	s.Begin()
	if s.NoneLeft(atomicfile.At(dir), "f") || many(dir) {
		t.Error("the folder was not read anew")
	}
	if many(filepath.Join(dir, "missing")) {
		t.Error("a missing folder was read")
	}
	for i := range ManyNames {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.End()
	s.Begin()
	if s.NoneLeft(atomicfile.At(dir), "g") || many(dir) {
		t.Error("a folder of too many names was read")
	}
	var none *Shared
	if none.NoneLeft(atomicfile.At(dir), "f") {
		t.Error("without what files share nothing is known")
	}
}
