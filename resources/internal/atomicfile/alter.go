package atomicfile

import (
	"errors"
	"path/filepath"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

func (d Dir) rename(from, to string) error {
	err := d.do(func() error { return unix.Renameat(d.fd, from, d.fd, to) })
	return d.failed("replace", to, err)
}

// swap gives a temporary file the place of the old one, which then has the temporary name, or none. ErrChanged says
// that the old one is not there any more: a rename would take the place of what somebody is about to put there. A file
// system that can't exchange replaces.
func (d Dir) swap(t *temp, n *New) error {
	exchange := func() error { return unix.Renameat2(d.fd, t.name, d.fd, n.Name, unix.RENAME_EXCHANGE) }
	err := d.do(exchange)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return d.replace(t, n)
	case errors.Is(err, unix.ENOENT):
		err = ErrChanged
	case err == nil:
		if st, lerr := d.Lstat(t.name); lerr != nil || st.IsDir() { // a rename would have refused to take its place
			err = errors.Join(ErrChanged, d.do(exchange))
		}
	}
	return d.failed("replace", n.Name, err)
}

func (d Dir) replace(t *temp, n *New) error {
	err := d.rename(t.name, n.Name)
	if err == nil {
		t.name = ""
	}
	return err
}

// give gives a temporary file a name that nothing has; ErrChanged says that something has it. A file system that can't
// tell replaces.
func (d Dir) give(t *temp, n *New) error {
	err := d.do(func() error { return unix.Renameat2(d.fd, t.name, d.fd, n.Name, unix.RENAME_NOREPLACE) })
	switch {
	case err == nil:
		t.name = ""
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return d.replace(t, n)
	case errors.Is(err, unix.EEXIST):
		err = ErrChanged
	}
	return d.failed("create", n.Name, err)
}

// Mkdir makes a folder. Its permissions are those, less the umask; SetAttrs makes
// them exact. The folder of a stranger gives it no group and no access list.
func (d Dir) Mkdir(name string, perm uint32) error {
	d, release, err := d.holdFor(name)
	if err != nil {
		return err
	}
	defer release()
	foreign, err := d.stranger(-1)
	if err != nil {
		return err
	}
	first := perm
	if foreign {
		first = closed
	}
	err = d.failed("mkdir", name, d.do(func() error { return unix.Mkdirat(d.fd, name, first) }))
	if err != nil || !foreign {
		return err
	}
	return d.ownFolder(name, perm)
}

// Symlink makes a link, or replaces a link or a file by one.
func (d Dir) Symlink(name, target string, uid, gid int) error {
	d, release, err := d.holdFor(name)
	if err != nil {
		return err
	}
	defer release()
	temp, err := d.makeTemp(name, func(at string) error {
		return d.do(func() error { return unix.Symlinkat(target, d.fd, at) })
	})
	if err != nil {
		return err
	}
	if uid >= 0 || gid >= 0 {
		err = d.failed("chown", name, d.do(func() error {
			return unix.Fchownat(d.fd, temp, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
		}))
	}
	if err == nil {
		err = d.rename(temp, name)
	}
	if err != nil {
		_ = d.unlink(temp, 0)
	}
	return err
}

// Flush writes everything that the file system of a folder holds in memory to its
// disk, and waits for it. For a folder that is gone by now, or that a link of another user leads to, the nearest one above
// it stands: that it has gone is what is to be on the disk.
func Flush(w safepath.Walker, path string) error {
	d, err := AtBy(w, path).Hold()
	for at := filepath.Clean(path); lost(err) && at != filepath.Dir(at); {
		at = filepath.Dir(at)
		d, err = AtBy(w, at).Hold()
	}
	if err != nil {
		return err
	}
	defer d.Close()
	fd, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return pathError("open", path, err)
	}
	defer unix.Close(fd)
	return pathError("flush the file system of", path, retry(func() error { return unix.Syncfs(fd) }))
}

func lost(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, safepath.ErrRefused)
}
