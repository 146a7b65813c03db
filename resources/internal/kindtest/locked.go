package kindtest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
)

// LockedUntil returns a lock that another process holds, and a function that ends
// this process. The lock is of flock(2), as apk takes it. LockedUntil returns when the lock is held. Without a call of end the process ends with the test.
func LockedUntil(t *testing.T) (locks []pkglock.Lock, end func() error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command("flock", path, "sh", "-c", "echo held; read -r end")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return []pkglock.Lock{{Backend: "apk", Path: path, How: pkglock.ByFlock, Advice: "end it"}}, in.Close
}
