package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/events"
)

// TestFindingBadPathsChain: links that lead to a folder above them, such as /proc/self/root, one behind
// another, are watched like others, and keep nobody else from being watched.
func TestFindingBadPathsChain(t *testing.T) {
	h := newHost(t, Options{})
	dir := t.TempDir()
	up := filepath.Join(dir, "a", "up")
	must(t, os.Mkdir(filepath.Join(dir, "a"), 0o755))
	must(t, os.Symlink(dir, up))
	for _, root := range []string{up + "/a/up", up + "/a/up/a/up", "/proc/self/root/proc/self/root" + dir, "/proc/self/root/proc/thread-self/root" + dir} {
		s := watch(t, h, events.Options{}, filepath.Join(root, "x"))
		write(t, filepath.Join(dir, "x"), root)
		woken(t, s)
		s.Close()
	}
}
