package atomicfile

import (
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFindingK1Settle: who has seen a name go, and has waited for who does that, finds the event in the queue.
func TestFindingK1Settle(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir)
	must(t, err)
	defer d.Close()
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	defer unix.Close(watch)
	_, err = unix.InotifyAddWatch(watch, dir, unix.IN_DELETE|unix.IN_CREATE)
	must(t, err)
	buf := make([]byte, 4096)
	has := func() bool { n, _ := unix.Read(watch, buf); return n > 0 }
	next := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for range next {
			_ = os.Remove(dir + "/f")
		}
	})
	defer others.Wait()
	defer close(next)
	for range 2000 {
		must(t, os.WriteFile(dir+"/f", nil, 0o600))
		for has() {
		}
		next <- struct{}{}
		for _, err := d.Lstat("f"); err == nil; _, err = d.Lstat("f") {
		}
		if d.Settle("f"); !has() {
			t.Fatal("there is no event of a file that is gone")
		}
	}
}
