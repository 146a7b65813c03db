package nstest

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Silent mounts a file system that never answers: nobody reads what the kernel asks of it. wake unmounts it, which lets go of all who
// wait for it. It is called in a namespace, see InNamespace. Without FUSE the test is skipped, but in CI that is a failure.
func Silent(t *testing.T) (dir string, wake func()) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("/dev/fuse: ", err)
	case err != nil:
		t.Skip("this needs FUSE, by /dev/fuse: ", err)
	}
	dir = t.TempDir()
	must(t, unix.Mount("fuse", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)))
	wake = func() {
		_ = unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH)
		_ = unix.Close(fd)
	}
	return dir, wake
}
