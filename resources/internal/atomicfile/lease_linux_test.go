package atomicfile

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFindingBadLease: the error of a file on which a process has a lease says how to go on.
func TestFindingBadLease(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", nil, 0o644))
	leased, err := os.Open(dir + "/f")
	must(t, err)
	defer leased.Close()
	_, err = unix.FcntlInt(leased.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	must(t, err)
	if _, _, err := At(dir).Open("f"); err == nil || !strings.Contains(err.Error(), "fuser "+dir+"/f") {
		t.Error(err)
	}
}
