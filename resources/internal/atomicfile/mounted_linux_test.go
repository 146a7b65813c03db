package atomicfile

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingBadMount: nothing that is mounted below a folder is removed with it, also where it is another part of the same
// file system. The error says how to go on, and after that the folder is removed.
func TestFindingBadMount(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/victim/sub", 0o755))
	must(t, os.WriteFile(dir+"/victim/f", []byte("keep"), 0o644))
	for _, at := range []string{"top", "top/sub/deep", "top/file"} {
		must(t, os.MkdirAll(dir+"/top/sub/deep", 0o755))
		must(t, os.WriteFile(dir+"/top/file", nil, 0o644))
		from, kind, flags := dir+"/victim", "", uintptr(unix.MS_BIND)
		if at == "top/file" {
			from += "/f"
		}
		must(t, unix.Mount(from, dir+"/"+at, kind, flags, ""))
		err := At(dir).Remove("top", true)
		if err == nil || !strings.Contains(err.Error(), dir+"/"+at+": ") || !strings.Contains(err.Error(), "umount") {
			t.Errorf("%s is mounted: %v", at, err)
		}
		if got := read(t, dir+"/victim/f"); got != "keep" {
			t.Errorf("%s: the victim is %q", at, got)
		}
		must(t, unix.Unmount(dir+"/"+at, unix.MNT_DETACH))
		if err := At(dir).Remove("top", true); err != nil {
			t.Errorf("%s is no longer mounted: %v", at, err)
		}
	}
	must(t, os.Mkdir(dir+"/top", 0o755))
	must(t, unix.Mount("tmpfs", dir+"/top", "tmpfs", 0, ""))
	must(t, os.WriteFile(dir+"/top/f", []byte("keep"), 0o644))
	if err := At(dir).Remove("top", true); err == nil || !strings.Contains(err.Error(), "umount") || read(t, dir+"/top/f") != "keep" {
		t.Errorf("a file system is mounted: %v", err)
	}
	must(t, unix.Unmount(dir+"/top", unix.MNT_DETACH))
}
