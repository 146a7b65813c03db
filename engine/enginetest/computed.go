package enginetest

import (
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Computed is how long this process has computed so far, in the program and in the
// kernel for it. Tests of costs take two of them: the load of other programs does not
// count. All threads of the process count, so such a test must not run in parallel with
// others.
func Computed(tb testing.TB) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
