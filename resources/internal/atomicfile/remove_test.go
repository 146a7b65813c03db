package atomicfile

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nest makes folders one in another, with a file in each hundredth.
func nest(t testing.TB, dir string, depth int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	must(t, err)
	for i := range depth {
		must(t, unix.Mkdirat(fd, "d", 0o755))
		next, err := unix.Openat(fd, "d", unix.O_PATH|unix.O_CLOEXEC, 0)
		must(t, err)
		must(t, unix.Close(fd))
		if fd = next; i%100 == 0 {
			must(t, unix.Symlinkat("/", fd, "l"))
		}
	}
	must(t, unix.Close(fd))
}

// TestFindingA10Remove: 10,000 folders one in another are removed with two descriptors, and little memory.
func TestFindingA10Remove(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/top", 0o755))
	nest(t, dir+"/top", 10_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	must(t, err)
	must(t, unix.Close(fd))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(fd + 4), Max: old.Max}))
	err = At(dir).Remove("top", true)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	must(t, err)
	runtime.ReadMemStats(&after)
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left are %v", got)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("it took %d MB", used>>20)
	}
}

// A folder that is moved meanwhile ends the removal: nothing of where it has gone is removed.
func TestRemoveOfWhatMoves(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/top/a/b/c", 0o755))
	must(t, os.MkdirAll(dir+"/other", 0o755))
	d, err := OpenDir(dir)
	must(t, err)
	defer d.Close()
	e := &emptier{top: dir + "/top"}
	for i, name := range []string{"/top", "/top/a", "/top/a/b"} {
		var st unix.Stat_t
		must(t, unix.Stat(dir+name, &st))
		e.levels = append(e.levels, level{dev: st.Dev, ino: st.Ino, name: []string{"top", "a", "b"}[i]})
	}
	e.cur, err = unix.Open(dir+"/top/a/b", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	must(t, os.Rename(dir+"/top/a/b", dir+"/other/b"))
	if err := e.up(); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), dir+"/top/a") {
		t.Errorf("going up: %v", err)
	}
	must(t, unix.Close(e.cur))
	if _, err := os.Stat(dir + "/other/b/c"); err != nil {
		t.Error(err)
	}
}
