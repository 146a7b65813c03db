package safepath

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFindingBadLease: a file on which a process has a lease is not waited for. The error says how to go on, and without the
// lease the file is opened.
func TestFindingBadLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	leased, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer leased.Close()
	if _, err := unix.FcntlInt(leased.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Fatal(err)
	}
	if f, err := System().Open(path); err == nil || !errors.Is(err, unix.EAGAIN) || !strings.Contains(err.Error(), "fuser "+path) {
		t.Errorf("%v, %v", f, err)
	}
	if err := leased.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := System().Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
