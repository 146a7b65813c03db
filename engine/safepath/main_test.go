package safepath

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const her, other = 12345, 12346

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asRoot skips what needs root; under CI that is an error.
func asRoot(t *testing.T) {
	t.Helper()
	switch {
	case os.Geteuid() == 0:
	case os.Getenv("CI") == "true":
		t.Fatal("this test needs root")
	default:
		t.Skip("this test needs root")
	}
}

// public makes a folder that every user can pass.
func public(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, unix.Chmod(dir, 0o755))
	must(t, unix.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

// build a tree below dir from lines: "d PATH UID MODE", "f PATH UID MODE",
// "l PATH UID TARGET", "p PATH UID MODE" for a pipe. DIR in a target is dir.
func build(t testing.TB, dir string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		w := strings.Fields(line)
		path, uid := dir+"/"+w[1], number(t, w[2], 10)
		switch w[0] {
		case "d":
			must(t, os.Mkdir(path, 0o700))
		case "f":
			must(t, os.WriteFile(path, []byte(w[1]), 0o600))
		case "p":
			must(t, unix.Mkfifo(path, 0o600))
		case "l":
			must(t, os.Symlink(strings.ReplaceAll(w[3], "DIR", dir), path))
		}
		must(t, os.Lchown(path, uid, uid))
		if w[0] != "l" {
			must(t, unix.Chmod(path, uint32(number(t, w[3], 8))))
		}
	}
}

func number(t testing.TB, s string, base int) (n int) {
	t.Helper()
	for _, c := range s {
		n = n*base + int(c-'0')
	}
	return n
}

// open counts the descriptors of this process.
func open(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(names)
}
