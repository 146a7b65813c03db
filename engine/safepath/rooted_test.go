package safepath

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// TestRootHolds: no look at a machine in a folder leaves the folder, by whatever link or path.
func TestRootHolds(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, "outside"), []byte("x"), 0o600))
	root := filepath.Join(dir, "root")
	must(os.Mkdir(root, 0o700))
	must(os.WriteFile(filepath.Join(root, "inside"), []byte("x"), 0o600))
	must(os.Symlink(dir, filepath.Join(root, "far")))
	must(os.Symlink("..", filepath.Join(root, "up")))
	must(os.Symlink("/", filepath.Join(root, "here")))
	f, err := os.Open(root)
	must(err)
	defer f.Close()
	w := In(int(f.Fd()), "", User{UID: os.Geteuid(), GID: os.Getegid()})
	for _, look := range []func(string) (unix.Stat_t, error){w.RawLstat, w.Behind, w.Stat} {
		for _, p := range []string{"/far/outside", "/up/outside", "/../outside", "/here/../outside"} {
			if st, err := look(p); err == nil {
				t.Errorf("%s leads out of the folder, to %v", p, st.Ino)
			}
		}
		for _, p := range []string{"/inside", "/here/inside", "/up/inside", "/../inside"} {
			if _, err := look(p); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
}
