package boltfile_test

import (
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/internal/await"
)

// ends fails where a function does not return: bbolt panics with locks in its hands, and the next caller would wait for ever.
func ends(t *testing.T, what string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(await.Left()):
		t.Fatal(what, "does not end")
		return nil
	}
}

// openSealed opens a file that is whole.
func openSealed(t *testing.T) (path string, file *boltfile.File) {
	t.Helper()
	path, _ = sealed(t)
	f, err := boltfile.OpenLocked(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if file, err = boltfile.Open(f, maxSize); err != nil {
		t.Fatal(err)
	}
	return path, file
}

// TestClosedIsNoDamage: who reads or writes while the file is closed is told that, and not that the file is spoilt.
func TestClosedIsNoDamage(t *testing.T) {
	_, file := openSealed(t)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	read := file.View(func(*bbolt.Tx) error { return nil })
	write := file.Update(func(*bbolt.Tx) (bool, error) { return true, nil })
	if !errors.Is(read, berrors.ErrDatabaseNotOpen) || !errors.Is(write, berrors.ErrDatabaseNotOpen) {
		t.Errorf("%v, %v", read, write)
	}
}

// TestDamagedWhileOpen: another program cuts or overwrites a file that is open. Each later call says so, and none waits for ever, also not Close and those
// that come at the same time.
func TestDamagedWhileOpen(t *testing.T) {
	garbage := make([]byte, 2*pageSize)
	if _, err := rand.Read(garbage); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*os.File) error{
		"emptied":           func(f *os.File) error { return f.Truncate(0) },
		"cut":               func(f *os.File) error { return f.Truncate(2 * pageSize) },
		"first pages":       func(f *os.File) error { _, err := f.WriteAt(garbage, 0); return err },
		"all but the first": func(f *os.File) error { _, err := f.WriteAt(make([]byte, 40*pageSize), 2*pageSize); return err },
	} {
		t.Run(name, func(t *testing.T) {
			path, file := openSealed(t)
			other, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(spoil(other), other.Close()); err != nil {
				t.Fatal(err)
			}
			write := func() error {
				return file.Update(func(tx *bbolt.Tx) (bool, error) {
					return true, tx.Bucket([]byte("large")).Put([]byte("key"), []byte("value"))
				})
			}
			read := func() error {
				return file.View(func(tx *bbolt.Tx) error {
					return tx.Bucket([]byte("large")).ForEach(func(_, _ []byte) error { return nil })
				})
			}
			for range 3 {
				var all sync.WaitGroup
				for range 4 {
					for what, do := range map[string]func() error{"Update": write, "View": read} {
						all.Go(func() {
							if err := do(); !boltfile.IsDamage(err) {
								t.Errorf("%s: %v", what, err)
							}
						})
					}
				}
				_ = ends(t, "a call", func() error { all.Wait(); return nil })
			}
			_ = ends(t, "Close", file.Close)
		})
	}
}
