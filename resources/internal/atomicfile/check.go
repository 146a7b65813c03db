package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// ErrTouched says that the check of a file has changed the file.
var ErrTouched = errors.New("the check has changed the file that it was asked about, so that file is not used")

// check asks Check about a copy that no other user can alter or replace. From then on Fill
// gives the bytes of that copy. done removes it.
func (n *New) check() (done func(), err error) {
	c, err := newCopy(n.Name)
	if err != nil {
		return nil, n.failed("check", err)
	}
	err = c.fill(n)
	var before Stat
	if err == nil {
		before, err = c.lstat()
	}
	if err == nil {
		if err = n.Check(c.path()); err == nil {
			if after, gone := c.lstat(); gone != nil || after != before {
				err = n.failed("write", ErrTouched)
			}
		}
	}
	if err != nil {
		c.drop()
		return nil, err
	}
	n.Fill = func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(c.file, 0, before.Size))
		return err
	}
	return c.drop, nil
}

// checkPrefix begins the names of the folders of copies.
const checkPrefix = "mgmt-check-"

// copied is a copy of a new file, under the same name, in a folder of its own. A lock on the
// folder tells sweepCopies that it is in use.
type copied struct {
	dir, name string
	lock      *os.File
	file      *os.File
}

// newCopy makes the folder. Other users may pass it, for a check that is run as one of them, and
// can neither list nor alter it.
func newCopy(name string) (*copied, error) {
	for range 4 { // a sweep may take a folder that is not locked yet
		dir, err := os.MkdirTemp("", checkPrefix)
		if err != nil {
			return nil, err
		}
		c := &copied{dir: dir, name: name}
		c.lock, err = lockFolder(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EWOULDBLOCK) {
			continue
		}
		if err == nil {
			_, err = safepath.System().Steady(dir)
		}
		if err == nil {
			err = os.Chmod(dir, 0o711)
		}
		if err == nil {
			sweepCopies(dir)
			return c, nil
		}
		c.drop()
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the folder for temporary files (TMPDIR): %w", err)
		}
	}
	return nil, fmt.Errorf("the folder for temporary files (TMPDIR): what is made in %s does not stay there", os.TempDir())
}

func (c *copied) path() string { return filepath.Join(c.dir, c.name) }

func (c *copied) lstat() (Stat, error) { return At(c.dir).Lstat(c.name) }

// fill writes the copy. It belongs to this process's user, and others may read it as far as
// they may read the file that it is for. It is not open for writing when it is checked, so that
// a check can run it.
func (c *copied) fill(n *New) error {
	out, err := os.OpenFile(c.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(n.fillCopy(out), out.Close()); err != nil {
		return err
	}
	c.file, err = os.Open(c.path())
	return err
}

// fillCopy writes the content and sets the permissions. Only this process's user may write.
func (n *New) fillCopy(out *os.File) error {
	if n.Fill != nil {
		if err := n.Fill(out); err != nil {
			return err
		}
	}
	mode := uint32(n.wantMode())
	if n.wantMode() < 0 {
		mode = 0o666 &^ umask()
	}
	if _, gid := n.wantOwner(); gid >= 0 && mode&0o040 != 0 {
		if err := out.Chown(-1, gid); err != nil {
			return err
		}
	}
	return out.Chmod(os.FileMode(mode&0o755 | 0o400))
}

func (c *copied) drop() {
	_ = c.file.Close()
	_ = os.RemoveAll(c.dir)
	_ = c.lock.Close()
}

// lockFolder opens a folder and locks it. It fails at once where it is locked. The lock ends
// with the process, however that ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweepCopies removes the copies beside one that killed processes have left. Only what belongs to
// this process's user is removed, which no other user can replace there.
func sweepCopies(mine string) {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(mine), checkPrefix+"*"))
	for _, dir := range found {
		if dir == mine {
			continue
		}
		lock, err := lockFolder(dir)
		if err != nil {
			continue
		}
		if st, err := fstat(int(lock.Fd())); err == nil && int(st.UID) == os.Geteuid() {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}
