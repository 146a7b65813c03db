//go:build unix

package scenario_test

import (
	"syscall"
	"time"
)

// used returns how long the processors have worked for this process so far.
func used() time.Duration {
	var of syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &of) != nil {
		return 0
	}
	return time.Duration(of.Utime.Nano() + of.Stime.Nano())
}
