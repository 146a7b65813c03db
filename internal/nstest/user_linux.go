package nstest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// AsUser runs f on a thread that has no more rights to files than any user. The test of f reports by Error, as it is on another goroutine.
func AsUser(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		if os.Geteuid() == 0 {
			_ = unix.Setfsuid(4242)
			if uid, err := unix.SetfsuidRetUid(-1); err != nil || uid != 4242 {
				done <- fmt.Errorf("the user for files is %d: %w", uid, err)
				return
			}
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// OpenFolder returns a folder for a test that every user may look into.
func OpenFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
