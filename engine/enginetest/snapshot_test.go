package enginetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSnapshot: nothing that can be done to a tree escapes it, and looking is not
// doing.
func TestSnapshot(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, do := range map[string]func(dir string){
		"content of the same size": func(dir string) { must(os.WriteFile(dir+"/f", []byte("B"), 0o600)) },
		"the same content again":   func(dir string) { must(os.WriteFile(dir+"/f", []byte("A"), 0o600)) },
		"another file in its place": func(dir string) {
			must(os.WriteFile(dir+"/g", []byte("A"), 0o600))
			must(os.Rename(dir+"/g", dir+"/f"))
		},
		"mode":         func(dir string) { must(os.Chmod(dir+"/f", 0o640)) },
		"setgid":       func(dir string) { must(unix.Chmod(dir+"/f", 0o2600)) },
		"mode of dir":  func(dir string) { must(os.Chmod(dir, 0o700)) },
		"mtime":        func(dir string) { must(os.Chtimes(dir+"/f", time.Time{}, time.Unix(1, 0))) },
		"hard link":    func(dir string) { must(os.Link(dir+"/f", dir+"/d/f")) },
		"link":         func(dir string) { must(os.Remove(dir + "/l")); must(os.Symlink("other", dir+"/l")) },
		"empty folder": func(dir string) { must(os.Mkdir(dir+"/d/e", 0o700)) },
		"deleted":      func(dir string) { must(os.Remove(dir + "/f")) },
		"fifo":         func(dir string) { must(unix.Mkfifo(dir+"/p", 0o600)) },
		"all gone":     func(dir string) { must(os.RemoveAll(dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "x")
			must(os.MkdirAll(dir+"/d", 0o755))
			must(os.WriteFile(dir+"/f", []byte("A"), 0o600))
			must(os.Symlink("f", dir+"/l"))
			before := Snapshot(t, dir)
			if err := before.same(Snapshot(t, dir)); err != nil {
				t.Fatalf("looking: %v", err)
			}
			do(dir)
			if err := before.same(Snapshot(t, dir)); err == nil {
				t.Error("it is not seen")
			}
		})
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	if tree := Snapshot(t, filepath.Join(t.TempDir(), "none")); len(tree) != 0 {
		t.Errorf("there is %v", tree)
	}
}
