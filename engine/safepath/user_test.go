package safepath

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// As another user the kernel refuses what that user could not do, and the process stays
// root.
func TestActing(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, "d u 12345 0700", "d r 0 0755", "d g 0 0770")
	must(t, os.Chown(dir+"/g", 0, 777))
	u := User{UID: her, GID: her, Groups: []int{777}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				must(t, u.Do(func() error {
					if err := os.WriteFile(dir+"/r/x", nil, 0o600); !errors.Is(err, os.ErrPermission) {
						t.Errorf("in root's folder: %v", err)
					}
					return errors.Join(os.WriteFile(dir+"/u/x", nil, 0o600), os.WriteFile(dir+"/g/x", nil, 0o644))
				}))
				if uid, _ := fsuid(-1); uid != 0 {
					t.Errorf("another thread is %d", uid)
				}
			}
		})
	}
	wg.Wait()
	var st unix.Stat_t
	must(t, unix.Stat(dir+"/u/x", &st))
	if st.Uid != her || st.Gid != her {
		t.Errorf("it belongs to %d:%d", st.Uid, st.Gid)
	}
	must(t, os.WriteFile(dir+"/r/root", nil, 0o600))
}

func TestActingEnds(t *testing.T) {
	asRoot(t)
	u := User{UID: her, GID: her}
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("the panic is %v", v)
			}
		}()
		_ = u.Do(func() error { panic("boom") })
	}()
	if err := u.Do(func() error { runtime.Goexit(); return nil }); err == nil {
		t.Error("a goroutine that ended is a success")
	}
	if err := (&User{UID: 0}).Do(func() error { return nil }); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("as root: %v", err)
	}
	// A thread that does not come back is not used again.
	var lost int
	err := u.Do(func() error {
		lost = unix.Gettid()
		return dropSetgid()
	})
	if err == nil || !strings.Contains(err.Error(), "coming back") {
		t.Fatalf("coming back: %v", err)
	}
	for range 1000 {
		must(t, u.Do(func() error {
			if unix.Gettid() == lost {
				t.Fatal("the lost thread is used")
			}
			return nil
		}))
	}
}

// dropSetgid makes this thread unable to set its groups.
func dropSetgid() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	data[0].Effective &^= 1 << unix.CAP_SETGID
	data[0].Permitted &^= 1 << unix.CAP_SETGID
	return unix.Capset(&head, &data[0])
}

// A full table of descriptors is an error, and nothing is left open.
func TestTableFull(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/a/b", 0o755))
	must(t, os.Symlink("a", dir+"/l"))
	before := open(t)
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	highest := 0
	for free := range 4 {
		fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
		must(t, err)
		must(t, unix.Close(fd))
		highest = fd + free
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(highest), Max: old.Max}))
		f, err := System().Folder(dir + "/l/b")
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
		if err == nil {
			f.Close()
		} else if !errors.Is(err, unix.EMFILE) {
			t.Errorf("%d free: %v", free, err)
		}
	}
	if after := open(t); after != before {
		t.Errorf("%d descriptors are left open", after-before)
	}
}
