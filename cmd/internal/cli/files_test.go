package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWriteFileKeepsModeOwnerAndLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 { // who else may not give it away
		uid, gid = 4711, 4712
	}
	if err := os.Chown(file, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link: %q, %v", to, err)
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(file, &st); err != nil {
		t.Fatal(err)
	}
	if st.Mode&0o7777 != 0o600 || int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("mode %o, owner %d:%d", st.Mode, st.Uid, st.Gid)
	}
	if text, _ := os.ReadFile(file); string(text) != "new" {
		t.Errorf("it holds %q", text)
	}
}

func TestWriteFileMakesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nothing", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "new"), link} {
		if err := WriteFile(path, []byte("new")); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(path); string(text) != "new" {
			t.Errorf("%s holds %q", path, text)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A device such as /dev/null must not become a file.
func TestWriteFileGoesIntoAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new")); err == nil {
		t.Error("nobody reads it, and it was written")
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := WriteFile(path, []byte("new\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(f).ReadString('\n'); line != "new\n" {
		t.Errorf("read %q, %v", line, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("it is %v now, %v", info, err)
	}
}
