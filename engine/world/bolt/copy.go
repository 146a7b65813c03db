package bolt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Copy is a World over a copy of a file, which Close removes. Changes of it are lost.
type Copy struct {
	*World
	dir string
}

// OpenCopy opens a copy of the store of a path. The file itself is read and not touched. The error is ErrLocked where another process has
// it open, since that one may be writing, or fs.ErrNotExist.
func OpenCopy(path string, o Options) (*Copy, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "mgmt-store-")
	if err != nil {
		return nil, err
	}
	c := &Copy{dir: dir}
	if c.World, err = c.open(f, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *Copy) open(f *os.File, o Options) (*World, error) {
	if err := idle(f); err != nil {
		return nil, err
	}
	to, err := os.OpenFile(filepath.Join(c.dir, "world.db"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(to, f)
	if err := errors.Join(err, to.Close()); err != nil {
		return nil, err
	}
	if err := idle(f); err != nil { // it has been opened meanwhile
		return nil, err
	}
	return Open(to.Name(), o)
}

// idle returns ErrLocked where a process has the file open. The lock is not kept: a daemon that starts must get it.
func idle(f *os.File) error {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrLocked
	case err != nil:
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return unix.Flock(int(f.Fd()), unix.LOCK_UN)
}

// Close closes the copy and removes it.
func (c *Copy) Close() error { return errors.Join(c.World.Close(), os.RemoveAll(c.dir)) }
