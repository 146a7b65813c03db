package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func newFile(dir, text string, fill func(io.Writer) error) *New {
	if fill == nil {
		fill = func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	return &New{Dir: At(dir), Name: "f", Mode: 0o640, UID: -1, GID: -1, Size: int64(len(text)), Fill: fill}
}

// TestCreateShowsNothingBeforeItsEnd: a new file has no name, not even a
// temporary one, before it is complete; and a failure leaves nothing.
func TestCreateShowsNothingBeforeItsEnd(t *testing.T) {
	dir := t.TempDir()
	res, err := newFile(dir, "new", func(w io.Writer) error {
		if _, err := io.WriteString(w, "new"); err != nil {
			return err
		}
		if list := names(t, dir); len(list) != 0 {
			t.Errorf("while it is written there is %v", list)
		}
		return nil
	}).create()
	if errors.Is(err, errNamed) {
		t.Log("this file system has no files without a name")
		return
	}
	if err != nil || !res.Sure {
		t.Fatalf("%+v, %v", res, err)
	}
	st, err := os.Stat(filepath.Join(dir, "f"))
	if err != nil || st.Mode().Perm() != 0o640 || st.Size() != 3 {
		t.Errorf("%v, %v", st, err)
	}
	failed := t.TempDir()
	if _, err := newFile(failed, "", func(io.Writer) error { return errors.New("no content") }).Write(); err == nil {
		t.Error("the failure of Fill was lost")
	}
	if list := names(t, failed); len(list) != 0 {
		t.Errorf("a failure has left %v", list)
	}
}

// TestCreateRemovesWhatAKilledProcessLeft.
func TestCreateRemovesWhatAKilledProcessLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, tempName("f")), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newFile(dir, "whole", nil).Write(); err != nil {
		t.Fatal(err)
	}
	if list := names(t, dir); len(list) != 1 || list[0] != "f" {
		t.Errorf("there is %v", list)
	}
}

// TestCreateIsSureOfWhatItWrote: what comes right after the file has its name
// is not taken for what was written.
func TestCreateIsSureOfWhatItWrote(t *testing.T) {
	for name, c := range map[string]struct {
		then func(t *testing.T, path string)
		sure bool // of its own file, which need not be the one that is there
	}{
		"nothing":      {func(*testing.T, string) {}, true},
		"longer":       {func(t *testing.T, p string) { must(t, os.WriteFile(p, []byte("longer"), 0o640)) }, false},
		"another mode": {func(t *testing.T, p string) { must(t, os.Chmod(p, 0o600)) }, false},
		"replaced": {func(t *testing.T, p string) {
			must(t, os.WriteFile(p+".other", []byte("new"), 0o640))
			must(t, os.Rename(p+".other", p))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n := newFile(dir, "new", nil)
			n.reached = func(step string) {
				if step == "named" {
					c.then(t, n.path())
				}
			}
			res, err := n.create()
			if errors.Is(err, errNamed) {
				t.Skip("this file system has no files without a name")
			}
			now, serr := n.Dir.Lstat("f")
			if err != nil || serr != nil || res.Sure != c.sure {
				t.Fatalf("%+v, %v, %v", res, err, serr)
			}
			if same := now == res.Stat; same != (name != "replaced") {
				t.Errorf("%+v was returned, there is %+v", res.Stat, now)
			}
		})
	}
}

// TestLinkWays: a file without a name gets one by each of the ways, and takes
// none that something has.
func TestLinkWays(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir)
	must(t, err)
	defer d.Close()
	n := newFile(dir, "", nil)
	n.Dir = d
	fd, err := unix.Open(dir, unix.O_WRONLY|unix.O_TMPFILE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Skip("this file system has no files without a name")
	}
	defer unix.Close(fd)
	must(t, d.linkByProc(fd, "f"))
	if err := n.link(fd); !errors.Is(err, ErrChanged) {
		t.Errorf("over another file: %v", err)
	}
	n.Name = "g"
	must(t, n.link(fd))
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("there is %v", got)
	}
}
