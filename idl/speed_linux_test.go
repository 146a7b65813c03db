package idl_test

import (
	"syscall"
	"testing"
	"time"
)

// maxCompiled is how much CPU the compilation of all cases may take.
const maxCompiled = 70 * time.Millisecond

// spent is the CPU time that this process has taken.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCompilesInTime: all cases compile within their share of CPU. The mean of many rounds counts, since the kernel counts
// the time of a process in steps.
func TestCompilesInTime(t *testing.T) {
	groups, err := load(vectorsDir())
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 10
	cases, begin := 0, spent(t)
	for range rounds {
		for _, g := range groups {
			for _, v := range g.Cases {
				compile(v)
				cases++
			}
		}
	}
	mean := (spent(t) - begin) / rounds
	t.Logf("%d cases in %s of CPU", cases/rounds, mean)
	if cases < rounds*100 || mean > maxCompiled {
		t.Errorf("%d cases have taken %s of CPU, and may take %s", cases/rounds, mean, maxCompiled)
	}
}
