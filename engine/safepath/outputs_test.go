package safepath

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/nstest"
	"golang.org/x/sys/unix"
)

// modeOf returns the type and the bits of a name, which is not followed.
func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return info.Mode()
}

// leftovers fails where a file that was put together is left in a folder.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// masked sets the umask of the process for a test.
func masked(t *testing.T, mask int) {
	t.Helper()
	old := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(old) })
}

// TestWriteFile: what is written where, and with which mode.
func TestWriteFile(t *testing.T) {
	masked(t, 0o027)
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, dir string) // makes dir/f
		perm  uint32
		exact bool
		mode  fs.FileMode // of dir/f then
	}{
		{"a new one", func(*testing.T, string) {}, 0o666, false, 0o640},
		{"a new one, exactly", func(*testing.T, string) {}, 0o666, true, 0o666},
		{"a present one", func(t *testing.T, dir string) { put(t, dir+"/f", 0o604) }, 0o666, false, 0o604},
		{"a present one, exactly", func(t *testing.T, dir string) { put(t, dir+"/f", 0o604) }, 0o622, true, 0o622},
		{"a present one without rights", func(t *testing.T, dir string) { put(t, dir+"/f", 0) }, 0o666, false, 0},
		{"a link that leads nowhere", func(t *testing.T, dir string) { must(t, os.Symlink("none", dir+"/f")) }, 0o666, false, 0o640},
		{"a link into a missing folder", func(t *testing.T, dir string) { must(t, os.Symlink("no/ne", dir+"/f")) }, 0o666, false, 0o640},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.setup(t, dir)
			must(t, System().WriteFile(dir+"/f", []byte("new"), c.perm, c.exact))
			if got := modeOf(t, dir+"/f"); got != c.mode {
				t.Errorf("the mode is %v, want %v", got, c.mode)
			}
			must(t, os.Chmod(dir+"/f", 0o600))
			if text, err := os.ReadFile(dir + "/f"); err != nil || string(text) != "new" {
				t.Errorf("the file is %q: %v", text, err)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
				t.Errorf("the folder has %v: %v", list, err)
			}
		})
	}
}

func put(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	must(t, os.Chmod(path, mode))
}

// TestWriteBehindLink: a link of the daemon stays, and the file behind it is replaced in its own folder.
func TestWriteBehindLink(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/real", 0o700))
	put(t, dir+"/real/f", 0o600)
	must(t, os.Symlink("real/f", dir+"/f"))
	must(t, System().WriteFile(dir+"/f", []byte("new"), 0o600, false))
	if modeOf(t, dir+"/f")&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if text, err := os.ReadFile(dir + "/real/f"); err != nil || string(text) != "new" {
		t.Errorf("the file is %q: %v", text, err)
	}
	leftovers(t, dir)
	leftovers(t, dir+"/real")
}

// TestWriteFails: a write that can't be done says where, and leaves all as it was.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/d", 0o755))
	must(t, unix.Mkfifo(dir+"/pipe", 0o600))
	put(t, dir+"/f", 0o600)
	for path, want := range map[string]error{"d": unix.EISDIR, "none/f": unix.ENOENT, "f/x": unix.ENOTDIR, "pipe": unix.ENXIO, strings.Repeat("n", 300): unix.ENAMETOOLONG} {
		err := System().WriteFile(dir+"/"+path, []byte("new"), 0o600, false)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	leftovers(t, dir)
	if text, err := os.ReadFile(dir + "/f"); err != nil || string(text) != "old" {
		t.Errorf("the file is %q: %v", text, err)
	}
}

// TestWriteToPipe: a pipe with a reader gets the whole text, also where it is longer than the pipe has room.
func TestWriteToPipe(t *testing.T) {
	path := t.TempDir() + "/pipe"
	must(t, unix.Mkfifo(path, 0o600))
	r, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0) // as a writer, too: a reader who comes first must not see an end
	must(t, err)
	defer r.Close()
	text := bytes.Repeat([]byte("0123456789"), 20<<10)
	got := make(chan []byte)
	go func() {
		all := make([]byte, len(text))
		n, _ := io.ReadFull(r, all)
		got <- all[:n]
	}()
	must(t, System().WriteFile(path, text, 0o600, true))
	if all := <-got; !bytes.Equal(all, text) {
		t.Errorf("%d bytes of %d came", len(all), len(text))
	}
	if modeOf(t, path)&fs.ModeNamedPipe == 0 {
		t.Error("the pipe is replaced")
	}
}

// TestContentComesLast: a file has its owner and its mode before it has a content, so no other user reads what the mode forbids. The
// kernel tells of each step in order.
func TestContentComesLast(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", 0o600)
	for _, exact := range []bool{false, true} {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		must(t, err)
		_, err = unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_ATTRIB|unix.IN_MODIFY|unix.IN_MOVED_TO)
		must(t, err)
		must(t, System().WriteFile(dir+"/f", []byte("secret"), 0o644, exact))
		buf := make([]byte, 4096)
		n, err := unix.Read(fd, buf)
		must(t, err)
		must(t, unix.Close(fd))
		var steps strings.Builder
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			mask, size := uint32(b[4])|uint32(b[5])<<8, int(b[12])
			steps.WriteString(map[uint32]string{unix.IN_CREATE: "C", unix.IN_ATTRIB: "A", unix.IN_MODIFY: "M", unix.IN_MOVED_TO: "R"}[mask])
			b = b[unix.SizeofInotifyEvent+size:]
		}
		if !strings.HasPrefix(steps.String(), "CA") || !strings.HasSuffix(steps.String(), "MR") || strings.Count(steps.String(), "M") != 1 {
			t.Errorf("exact %t: the steps are %s", exact, steps.String())
		}
	}
}

// TestFirstPermissions: a file that is to get other permissions is open to no other user before.
func TestFirstPermissions(t *testing.T) {
	for _, perm := range []uint32{0o600, 0o640, 0o644, 0o666} {
		if closed, open := firstPerm(perm, true), firstPerm(perm, false); closed != 0o600 || open != perm {
			t.Errorf("%o: first %o, and %o if it stays", perm, closed, open)
		}
	}
}

// TestFullDisk: a text for which there is no room leaves the old file whole, and no part of the new one.
func TestFullDisk(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	must(t, unix.Mount("none", dir, "tmpfs", 0, "size=16k"))
	defer func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	put(t, dir+"/f", 0o600)
	for _, path := range []string{"f", "new"} {
		if err := System().WriteFile(dir+"/"+path, make([]byte, 64<<10), 0o600, false); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", path, err)
		}
	}
	leftovers(t, dir)
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the folder has %v: %v", list, err)
	}
	if text, err := os.ReadFile(dir + "/f"); err != nil || string(text) != "old" {
		t.Errorf("the file is %q: %v", text, err)
	}
	must(t, unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=16k"))
	if err := System().WriteFile(dir+"/f", []byte("new"), 0o600, false); !errors.Is(err, unix.EROFS) {
		t.Errorf("on a disk that is only read: %v", err)
	}
	if f, err := System().OpenAppend(dir+"/f", 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("appending on a disk that is only read: %v, %v", f, err)
	}
}

// TestAppend: a missing file is made with the mode less the umask, a present one keeps its mode, and each write goes to the end.
func TestAppend(t *testing.T) {
	masked(t, 0o027)
	dir := t.TempDir()
	put(t, dir+"/f", 0o604)
	must(t, os.Symlink("f", dir+"/link"))
	for _, path := range []string{"new", "f", "link"} {
		one, err := System().OpenAppend(dir+"/"+path, 0o666)
		must(t, err)
		two, err := System().OpenAppend(dir+"/"+path, 0o666)
		must(t, err)
		for _, f := range []*os.File{one, two, one} {
			_, err := f.WriteString(".")
			must(t, err)
		}
		must(t, errors.Join(one.Close(), two.Close()))
		if one.Name() != dir+"/"+path {
			t.Errorf("the file is called %s", one.Name())
		}
	}
	for path, want := range map[string]string{"new": "...", "f": "old......"} {
		if text, err := os.ReadFile(dir + "/" + path); err != nil || string(text) != want {
			t.Errorf("%s is %q: %v", path, text, err)
		}
	}
	if got := modeOf(t, dir+"/new"); got != 0o640 {
		t.Errorf("the mode of the new one is %v", got)
	}
	if got := modeOf(t, dir+"/f"); got != 0o604 {
		t.Errorf("the mode of the present one is %v", got)
	}
	must(t, os.Symlink("none", dir+"/nowhere"))
	for path, want := range map[string]error{".": unix.EISDIR, "none/f": unix.ENOENT, "f/x": unix.ENOTDIR} {
		if f, err := System().OpenAppend(dir+"/"+path, 0o600); !errors.Is(err, want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, %v, want %v", path, f, err, want)
		}
	}
}

// within fails where a call has not returned after a minute, and lets it go by unblock.
func within(t *testing.T, what string, call, unblock func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	select {
	case <-done:
	case <-time.After(await.Left()):
		t.Errorf("%s blocks", what)
		unblock()
		<-done
	}
}

// TestNothingBlocksOnPipes: no way to open a path waits for the other end of a pipe.
func TestNothingBlocksOnPipes(t *testing.T) {
	path := t.TempDir() + "/pipe"
	must(t, unix.Mkfifo(path, 0o600))
	unblock := func() {
		if fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			time.AfterFunc(time.Second, func() { _ = unix.Close(fd) })
		}
	}
	w := System()
	for name, c := range map[string]struct {
		call func() error
		want error
	}{
		"Open":      {func() error { return closed(w.Open(path)) }, ErrNotRegular},
		"Append":    {func() error { return closed(w.OpenAppend(path, 0o600)) }, unix.ENXIO},
		"WriteFile": {func() error { return w.WriteFile(path, nil, 0o600, false) }, unix.ENXIO},
		"Guarded":   {func() error { return closed(w.OpenGuarded(path, nil)) }, nil},
		"Stat":      {func() error { _, err := w.Stat(path); return err }, nil},
		"Folder":    {func() error { _, err := w.Folder(path); return err }, unix.ENOTDIR},
	} {
		within(t, name, func() {
			if err := c.call(); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}, unblock)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	defer r.Close()
	f, err := w.OpenAppend(path, 0o600)
	must(t, err)
	_, err = f.WriteString("text")
	must(t, errors.Join(err, f.Close()))
	if text, err := io.ReadAll(r); err != nil || string(text) != "text" {
		t.Errorf("the reader gets %q: %v", text, err)
	}
}

func closed(f *os.File, err error) error {
	if err == nil {
		err = f.Close()
	}
	return err
}

// TestRemove: a missing name is no error, a folder is one, and a link goes in place of its target.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", 0o600)
	must(t, os.Symlink("f", dir+"/link"))
	must(t, os.Mkdir(dir+"/d", 0o700))
	f, err := System().Folder(dir)
	must(t, err)
	defer f.Close()
	must(t, f.Remove("link"))
	must(t, f.Remove("none"))
	if _, err := os.Stat(dir + "/f"); err != nil {
		t.Error("the target of the link is gone")
	}
	must(t, f.Remove("f"))
	if err := f.Remove("d"); !errors.Is(err, unix.EISDIR) || !strings.Contains(err.Error(), dir+"/d") {
		t.Errorf("a folder: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("there are %v: %v", list, err)
	}
}

// TestPlain: a program for another system replaces and appends without the rules of this package, and leaves no part of a file either.
func TestPlain(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", 0o640)
	must(t, os.Symlink("f", dir+"/link"))
	must(t, os.Mkdir(dir+"/d", 0o700))
	must(t, plainWrite(dir+"/new", []byte("new"), 0o604))
	must(t, plainWrite(dir+"/link", []byte("linked"), 0o604))
	must(t, plainWrite("/dev/null", []byte("text"), 0o604))
	for path, want := range map[string]string{"new": "new -rw----r--", "f": "linked -rw-r-----"} {
		text, err := os.ReadFile(dir + "/" + path)
		must(t, err)
		if got := string(text) + " " + modeOf(t, dir+"/"+path).String(); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if modeOf(t, dir+"/link")&fs.ModeSymlink == 0 {
		t.Error("the link is replaced")
	}
	for _, path := range []string{"d", "none/f", "f/x"} {
		if err := plainWrite(filepath.Join(dir, path), []byte("x"), 0o600); err == nil {
			t.Errorf("%s is written", path)
		}
	}
	f, err := plainAppend(dir+"/f", 0o600)
	must(t, err)
	_, err = f.WriteString("er")
	must(t, errors.Join(err, f.Close()))
	if text, err := os.ReadFile(dir + "/f"); err != nil || string(text) != "linkeder" {
		t.Errorf("the file is %q: %v", text, err)
	}
	leftovers(t, dir)
}
