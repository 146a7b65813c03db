package atomicfile

import (
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The flags of ioctl_iflags(2).
const (
	immutable  = 0x10
	appendOnly = 0x20
)

// lock sets a flag of a file until the test ends.
func lock(t *testing.T, path string, flag int) {
	t.Helper()
	set := func(flags int) error {
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
	}
	if err := set(flag); errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
		t.Skipf("no flags can be set here: %v", err)
	} else {
		must(t, err)
	}
	t.Cleanup(func() { must(t, set(0)) })
}

// What a flag forbids is told with the flag.
func TestLockedFileSaysWhy(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", []byte("old"), 0o644))
	d := At(dir)
	st, err := d.Lstat("f")
	must(t, err)
	lock(t, dir+"/f", immutable)
	n := &New{Dir: d, Name: "f", Old: &st, Mode: -1, UID: -1, GID: -1, Size: 3,
		Fill: func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }}
	why := "operation not permitted, since " + dir + "/f is immutable (chattr -i ends that)"
	if _, err := n.Write(); err == nil || err.Error() != "replace "+dir+"/f: "+why+" (and writing in place: operation not permitted)" {
		t.Errorf("writing: %v", err)
	}
	if _, err := d.SetAttrs("f", st, 0o600, -1, -1); err == nil || err.Error() != "chmod "+dir+"/f: "+why {
		t.Errorf("its mode: %v", err)
	}
	if err := d.Remove("f", false); !errors.Is(err, unix.EPERM) {
		t.Errorf("removing: %v", err)
	}
}

func TestLockedFolderSaysWhy(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/d", 0o755))
	must(t, os.WriteFile(dir+"/d/f", nil, 0o644))
	lock(t, dir+"/d", appendOnly)
	err := At(dir+"/d").Remove("f", false)
	if err == nil || err.Error() != "remove "+dir+"/d/f: operation not permitted, since "+dir+"/d is append-only (chattr -a ends that)" {
		t.Errorf("got %v", err)
	}
}

func TestLocked(t *testing.T) {
	for attrs, want := range map[uint64]string{0: "", unix.STATX_ATTR_IMMUTABLE: "i", unix.STATX_ATTR_APPEND: "a", unix.STATX_ATTR_COMPRESSED: ""} {
		if flag, _ := locked(attrs); flag != want {
			t.Errorf("%x: %q, want %q", attrs, flag, want)
		}
	}
}
