package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestStatePath: the first that is set counts, and asking makes nothing.
func TestStatePath(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("STATE_DIRECTORY", "")
	t.Setenv("MGMT_PREFIX", "")
	last := filepath.Join(home, ".local/state/mgmt")
	if os.Geteuid() == 0 {
		last = "/var/lib/mgmt"
	}
	expect := func(s Place, want string) {
		t.Helper()
		if got, err := s.Path(); err != nil || got != want {
			t.Errorf("the folder is %s, %v, want %s", got, err, want)
		}
	}
	expect(Place{}, last)
	t.Setenv("STATE_DIRECTORY", filepath.Join(home, "systemd"))
	expect(Place{}, filepath.Join(home, "systemd"))
	t.Setenv("MGMT_PREFIX", filepath.Join(home, "mine"))
	expect(Place{}, filepath.Join(home, "mine"))
	expect(Place{Prefix: filepath.Join(home, "flag")}, filepath.Join(home, "flag"))
	if entries, _ := os.ReadDir(home); len(entries) != 0 {
		t.Errorf("a folder was made: %v", entries)
	}
}

// opened opens a state folder, and closes it at the end of the test.
func opened(t *testing.T, s Place) *Folder {
	t.Helper()
	f, err := s.Open(gapi.Source{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// said returns what a folder has told.
func said(f *Folder) string {
	var buf bytes.Buffer
	f.Tell(slog.New(slog.NewTextHandler(&buf, nil)))
	return buf.String()
}

func TestStateFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a/b")
	f := opened(t, Place{Prefix: dir})
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 || f.Dir != dir || f.lock == nil || said(f) != "" {
		t.Errorf("%+v, %v, %v; said %q", f, info, err, said(f))
	}
	if f := opened(t, Place{Temporary: true}); f.Dir != "" || f.lock != nil || said(f) != "" {
		t.Errorf("a temporary one: %+v, said %q", f, said(f))
	}
}

// TestStateFolderRefused: a name that is wrong, and a folder that is open to
// everybody, are for people to mend.
func TestStateFolderRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"open": 0o777, "sticky": 0o777 | os.ModeSticky, "ours": 0o770} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"open":      "everybody can write to the state folder " + filepath.Join(dir, "open") + " (mode 0777)",
		"sticky":    "fix it with: chmod o-w " + filepath.Join(dir, "sticky"),
		"file":      "the state folder cannot be made, name another one with State.Prefix",
		"file/x":    "the state folder cannot be made, name another one with State.Prefix",
		"ours":      "",
		"new\x00er": "invalid argument",
	} {
		f, err := (&Place{Prefix: filepath.Join(dir, name)}).Open(gapi.Source{})
		if want == "" && err == nil {
			f.Close()
		} else if err == nil || want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "open")); len(entries) != 0 {
		t.Errorf("something was put into the open folder: %v", entries)
	}
}

// TestStateFolderOfOthers: root trusts no other user's folder without a word.
func TestStateFolderOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 4242, 4242); err != nil {
		t.Fatal(err)
	}
	f := opened(t, Place{Prefix: dir})
	if text := said(f); f.Dir != dir || !strings.Contains(text, "belongs to another user") || !strings.Contains(text, "uid=4242") {
		t.Errorf("%+v, said %q", f, text)
	}
}

// TestStateFolderNowhere: a file system that takes no folders at all is the machine's doing too.
func TestStateFolderNowhere(t *testing.T) {
	f := opened(t, Place{Prefix: "/proc/mgmt-no-such-folder"})
	if text := said(f); f.Dir != "" || f.lock != nil || strings.Count(text, "THERE IS NO STATE FOLDER") != 1 {
		t.Errorf("%+v, said %q", f, text)
	}
}

// TestDenied: what the machine does not let us do is no mistake in a name.
func TestDenied(t *testing.T) {
	for _, err := range []error{unix.EACCES, unix.EPERM, unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.ESTALE, unix.ENOTCONN} {
		if !Denied(&fs.PathError{Op: "mkdir", Path: "/x", Err: err}) {
			t.Errorf("%v is a mistake", err)
		}
	}
	for _, err := range []error{nil, unix.ENOTDIR, unix.ENAMETOOLONG, unix.EINVAL, unix.ELOOP, unix.ENOENT} {
		if Denied(err) {
			t.Errorf("%v is the machine's", err)
		}
	}
}

// TestStateFolderUnwritable: where a folder can't be made, a temporary one has to
// do; one that is there but can't be written is used as far as that goes.
func TestStateFolderUnwritable(t *testing.T) {
	parent := nstest.OpenFolder(t)
	there := filepath.Join(parent, "there")
	if err := errors.Join(os.Mkdir(there, 0o555), os.Chmod(parent, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(parent, 0o700) })
	nstest.AsUser(t, func() {
		f, err := (&Place{Prefix: filepath.Join(parent, "missing/deep")}).Open(gapi.Source{})
		if err != nil {
			t.Error(err)
		} else if text := said(f); f.Dir != "" || strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "THERE IS NO STATE FOLDER") ||
			!strings.Contains(text, "permission denied") {
			t.Errorf("%+v, said %q", f, text)
		}
		f, err = (&Place{Prefix: there}).Open(gapi.Source{})
		if err != nil || f.Dir != there || f.lock != nil || f.lost != nil {
			t.Errorf("%+v, %v", f, err)
		}
	})
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	f, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockState(dir)
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("locked twice: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
	if _, err := lockState(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "State.Prefix") {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestLockOfTheDead: a command that a killed process was just starting has the lock
// for a moment more; who has noted a pid that lives, or none, is not waited for.
func TestLockOfTheDead(t *testing.T) {
	dir := t.TempDir()
	const nobody = 1<<22 + 1 // above all pids
	for _, pid := range []int{nobody, os.Getpid(), 0} {
		held, err := lockState(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := held.WriteAt(fmt.Appendf(nil, "%-10d\n", pid), 0); err != nil {
			t.Fatal(err)
		}
		gone := make(chan error, 1)
		if pid == nobody {
			time.AfterFunc(10*orphanEvery, func() { gone <- held.Close() })
		}
		f, err := lockState(dir)
		if pid == nobody && err != nil || pid != nobody && err == nil {
			t.Errorf("pid %d: %v", pid, err)
		}
		if err == nil {
			_ = f.Close()
		}
		if pid != nobody {
			gone <- held.Close()
		}
		if err := <-gone; err != nil {
			t.Error(err)
		}
	}
}

// TestLockWithoutWriting: a lock that can only be read keeps others out too.
func TestLockWithoutWriting(t *testing.T) {
	dir := nstest.OpenFolder(t)
	held, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := errors.Join(held.Chmod(0o444), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	nstest.AsUser(t, func() {
		if f, err := lockState(dir); err == nil || !strings.Contains(err.Error(), "another mgmt") {
			t.Errorf("locked twice: %v, %v", f, err)
		}
		_ = held.Close()
		f, err := lockState(dir)
		if err != nil || f == nil {
			t.Errorf("not locked: %v, %v", f, err)
			return
		}
		_ = f.Close()
	})
}

// TestLockOnAFullDisk: that the pid can't be noted does not stop the start.
func TestLockOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread() // its view of the file system ends with the thread
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			done <- false
			return
		}
		err := errors.Join(
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("small", dir, "tmpfs", 0, "size=4k,mode=0700"),
			os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 4096), 0o600),
		)
		if err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "more"), []byte("x"), 0o600); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("the disk is not full: %v", err)
		}
		f, err := (&Place{Prefix: dir}).Open(gapi.Source{})
		if err != nil || f.lock == nil || f.Dir != dir {
			t.Errorf("%+v, %v", f, err)
			return
		}
		if _, err := lockState(dir); err == nil || !strings.Contains(err.Error(), "another mgmt runs with") {
			t.Errorf("locked twice: %v", err)
		}
		f.Close()
	}()
	if may, ok := <-done; ok && !may {
		if os.Getenv("CI") == "true" {
			t.Fatal("a file system can't be mounted here")
		}
		t.Skip("a file system can't be mounted here")
	}
}

// TestStateFolderThatLeadsNowhere: the error says what is wrong, and nothing is made.
func TestStateFolderThatLeadsNowhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(filepath.Dir(dir), "nowhere"), dir); err != nil {
		t.Fatal(err)
	}
	_, err := (&Place{Prefix: dir}).Open(gapi.Source{})
	if err == nil || !strings.Contains(err.Error(), dir+" is a link that leads nowhere") {
		t.Errorf("the error is %v", err)
	}
}
