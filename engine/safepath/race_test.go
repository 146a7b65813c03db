package safepath

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// exchange swaps pairs of names, as her and as fast as it can, until stop is called.
func exchange(t *testing.T, pairs ...[2]string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, p := range pairs {
		wg.Go(func() {
			must(t, (&User{UID: her, GID: her}).Do(func() error {
				for ctx.Err() == nil {
					_ = unix.Renameat2(unix.AT_FDCWD, p[0], unix.AT_FDCWD, p[1], unix.RENAME_EXCHANGE)
				}
				return nil
			}))
		})
	}
	return func() { cancel(); wg.Wait() }
}

// TestFindingA3Race: while another user swaps folders and links, what is read is never
// behind a link of that user.
func TestFindingA3Race(t *testing.T) {
	asRoot(t)
	dir := public(t)
	build(t, dir, "d victim 0 0700", "d victim/s 0 0700", "f victim/s/f 0 0600", "d h 12345 0755",
		"d h/d 12345 0755", "d h/d/s 12345 0755", "f h/d/s/f 12345 0644", "l h/l 12345 ../victim",
		"l h/d/t 12345 ../../victim/s", "l h/d/s/g 12345 ../../../victim/s/f")
	stop := exchange(t, [2]string{dir + "/h/d", dir + "/h/l"}, [2]string{dir + "/h/d/s", dir + "/h/d/t"}, [2]string{dir + "/h/d/s/f", dir + "/h/d/s/g"})
	defer stop()
	secret, err := os.Stat(dir + "/victim/s/f")
	must(t, err)
	opened, refused := 0, 0
	for i := range 4000 {
		w := System()
		w.slow = i%2 == 0
		if i%3 == 0 {
			w = w.For(User{UID: her, GID: her})
		}
		f, err := w.Open(dir + "/h/d/s/f")
		if err != nil {
			if errors.Is(err, ErrRefused) {
				refused++
			}
			continue
		}
		opened++
		now, err := f.Stat()
		must(t, err)
		if os.SameFile(now, secret) {
			t.Fatal("the file of root was opened")
		}
		must(t, f.Close())
	}
	if opened == 0 || refused == 0 {
		t.Errorf("opened %d times, refused %d times: it was no race", opened, refused)
	}
}

// Whatever becomes of the path, a name is looked up in the folder that was opened.
func TestFolderIsHeld(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/a", 0o755))
	f, err := System().Folder(dir + "/a")
	must(t, err)
	defer f.Close()
	must(t, os.Rename(dir+"/a", dir+"/b"))
	must(t, os.Mkdir(dir+"/a", 0o755))
	fd, err := f.Openat("x", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
	must(t, err)
	must(t, unix.Close(fd))
	if _, err := os.Stat(dir + "/b/x"); err != nil {
		t.Error(err)
	}
}
