package atomicfile

import (
	"errors"
	"io"
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

// TestFindingJ1CheckedInPlace: a file that can't be replaced is written in place with the bytes that its check has seen, and is
// left alone where the check refuses.
func TestFindingJ1CheckedInPlace(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/behind", []byte("old"), 0o644))
	must(t, os.WriteFile(dir+"/f", nil, 0o644))
	must(t, unix.Mount(dir+"/behind", dir+"/f", "", unix.MS_BIND, ""))
	defer unix.Unmount(dir+"/f", unix.MNT_DETACH)
	for _, no := range []error{errors.New("no"), nil} {
		st, err := At(dir).Lstat("f")
		must(t, err)
		n, fills, seen := text(dir, "f", "new"), 0, ""
		n.Old, n.Mode = &st, -1
		fill := n.Fill
		n.Fill = func(w io.Writer) error { fills++; return fill(w) }
		n.Check = func(path string) error { seen = read(t, path); return no }
		res, err := n.Write()
		if !errors.Is(err, no) || res.InPlace != (no == nil) || fills != 1 || seen != "new" {
			t.Errorf("%v, %+v, filled %d times, checked %q", err, res, fills, seen)
		}
		want := "old"
		if no == nil {
			want = "new"
		}
		if got := read(t, dir+"/behind"); got != want {
			t.Errorf("it has %q, not %q", got, want)
		}
	}
}
