package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The name of a process may hold anything, even what looks like the rest of the
// line.
func TestReadProc(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	must(t, err)
	odd := filepath.Join(t.TempDir(), "a) Z 1 (b c")
	must(t, os.Symlink(sleep, odd))
	c := exec.Command(odd, "1000")
	must(t, c.Start())
	x, ok := readProc(c.Process.Pid)
	if !ok || !x.alive || x.parent != os.Getpid() || x.start == 0 {
		t.Errorf("%+v", x)
	}
	if _, ok := processes()[c.Process.Pid]; !ok {
		t.Error("it is not listed")
	}
	later := x
	later.start++ // another process, of the same number
	later.signal(9)
	if x, ok := readProc(c.Process.Pid); !ok || !x.alive {
		t.Error("the wrong process was killed")
	}
	x.signal(9)
	if err := c.Wait(); err == nil {
		t.Error("it was not killed")
	}
	if _, ok := readProc(c.Process.Pid); ok {
		t.Error("it is still there")
	}
	x.signal(9) // gone: nothing happens
}
