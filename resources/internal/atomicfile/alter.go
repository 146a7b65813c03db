package atomicfile

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func (d Dir) rename(from, to string) error {
	a, b := d.at(from), d.at(to)
	err := retry(func() error { return unix.Renameat(d.fd, a, d.fd, b) })
	return pathError("replace", d.Path(to), err)
}

// give renames to a name that nothing has; ErrChanged says that something has
// it. A file system that can't tell replaces.
func (d Dir) give(from, to string) error {
	a, b := d.at(from), d.at(to)
	err := retry(func() error { return unix.Renameat2(d.fd, a, d.fd, b, unix.RENAME_NOREPLACE) })
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return d.rename(from, to)
	case errors.Is(err, unix.EEXIST):
		err = ErrChanged
	}
	return pathError("create", d.Path(to), err)
}

// SetAttrs sets the owner and the mode of a thing that old is a look at; -1
// leaves one alone. The owner comes first, because a change of it takes setuid
// bits away; they are put back. Something else found in its place is an error.
func (d Dir) SetAttrs(name string, old Stat, mode, uid, gid int) (Stat, error) {
	p := d.Path(name)
	fd, err := open(d.fd, d.at(name), unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Stat{}, pathError("open", p, err)
	}
	defer unix.Close(fd)
	st, err := fstat(fd)
	if err == nil && !st.Same(old) {
		err = ErrChanged
	}
	if err != nil {
		return Stat{}, pathError("chmod", p, err)
	}
	if uid >= 0 || gid >= 0 {
		if err := unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH); err != nil {
			return Stat{}, pathError("chown", p, err)
		}
		if mode < 0 && st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 && !st.IsLink() {
			mode = int(st.Perm())
		}
	}
	if mode >= 0 {
		// A descriptor of this sort can be changed only by its name in /proc.
		if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), uint32(mode)); err != nil {
			return Stat{}, pathError("chmod", p, err)
		}
	}
	st, err = fstat(fd)
	return st, pathError("stat", p, err)
}

// Mkdir makes a folder. Its permissions are those, less the umask; SetAttrs makes
// them exact.
func (d Dir) Mkdir(name string, perm uint32) error {
	p := d.at(name)
	return pathError("mkdir", d.Path(name), retry(func() error { return unix.Mkdirat(d.fd, p, perm) }))
}

// Symlink makes a link, or replaces a link or a file by one.
func (d Dir) Symlink(name, target string, uid, gid int) error {
	d, release, err := d.hold()
	if err != nil {
		return err
	}
	defer release()
	temp, err := d.makeTemp(name, func(at string) error { return unix.Symlinkat(target, d.fd, at) })
	if err != nil {
		return err
	}
	if uid >= 0 || gid >= 0 {
		err = pathError("chown", d.Path(name), unix.Fchownat(d.fd, d.at(temp), uid, gid, unix.AT_SYMLINK_NOFOLLOW))
	}
	if err == nil {
		err = d.rename(temp, name)
	}
	if err != nil {
		_ = d.unlink(temp, 0)
	}
	return err
}

// ErrMountPoint says that something is not removed because another file system
// is mounted there.
var ErrMountPoint = errors.New("another file system is mounted there")

// Remove removes a name, and if all is set, a folder with everything below it.
// Links are removed and never followed, and mounted file systems are left alone.
// What is gone already is no error.
func (d Dir) Remove(name string, all bool) error {
	d, release, err := d.hold()
	if err != nil {
		return gone(err)
	}
	defer release()
	st, err := d.Lstat(name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return err
	case st.IsDir():
		return d.removeDir(name, st, all)
	}
	return gone(d.unlink(name, 0))
}

func (d Dir) removeDir(name string, st Stat, all bool) error {
	err := d.unlink(name, unix.AT_REMOVEDIR)
	full := errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)
	if err == nil || !full || !all {
		return gone(err)
	}
	sub, err := d.OpenDir(name)
	if err != nil {
		return gone(err)
	}
	defer sub.Close()
	now, err := sub.Self()
	if err != nil {
		return err
	}
	if parent, err := d.Self(); err != nil || parent.Dev != now.Dev || !now.Same(st) {
		return pathError("remove", d.Path(name), errors.Join(err, ErrMountPoint))
	}
	names, err := sub.Names()
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := sub.Remove(n, true); err != nil {
			return err
		}
	}
	return gone(d.unlink(name, unix.AT_REMOVEDIR))
}

// gone turns "it is not there" into success.
func gone(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// Flush writes everything that the file system of a folder holds in memory to its
// disk, and waits for it. For a folder that is gone by now the nearest one above it stands: that it has gone is what is to be
// on the disk.
func Flush(path string) error {
	fd, err := open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for at := filepath.Clean(path); errors.Is(err, unix.ENOENT) && at != filepath.Dir(at); {
		at = filepath.Dir(at)
		fd, err = open(unix.AT_FDCWD, at, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		return pathError("open", path, err)
	}
	defer unix.Close(fd)
	return pathError("flush the file system of", path, retry(func() error { return unix.Syncfs(fd) }))
}
