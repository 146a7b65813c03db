package simulate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// The most that is copied from the machine for one effect.
const (
	maxCopied  = 64 << 20
	maxEntries = 5_000
)

// errTooMuch is in the error of a copy that is not made.
var errTooMuch = errors.New("too much is concerned")

// bounds count what is copied.
type bounds struct {
	bytes   int64
	entries int
	untold  bool // what can't be told is copied as it is
}

// copyUp copies what the machine has at a path to the folder, unless the layer has the path already; with whole, also what is in a
// folder. Links are followed, and copied with their targets.
func (l *Layer) copyUp(p string, whole bool, b *bounds) error {
	over, all, err := l.covered(p)
	if b.untold && awaited(err) != "" {
		err = nil
	}
	if all || over && !whole || err != nil || p == "/" && !whole {
		return err
	}
	if p != "/" {
		if err := l.copyUp(path.Dir(p), false, b); err != nil {
			return err
		}
	}
	f, name, err := l.base.Parent(p)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat(name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if b.entries++; b.entries > maxEntries {
		return fmt.Errorf("%w: more than %d files", errTooMuch, maxEntries)
	}
	to, toName, err := l.own().Parent(p)
	if err != nil {
		return err
	}
	defer to.Close()
	var above unix.Stat_t
	if err := unix.Fstat(to.FD(), &above); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err = l.copyDir(p, f, name, to, toName, &st, whole, b)
	case unix.S_IFLNK:
		err = l.copyLink(p, f, name, to, toName, b)
	case unix.S_IFREG:
		err = l.copyFile(p, f, name, to, toName, &st, b)
	default:
		err = fmt.Errorf("%s is neither a file, a folder nor a link", p)
	}
	return errors.Join(err, l.takeOver(to.FD(), &above)) // to copy something into a folder is not to alter it
}

// takeOver gives a copy the time of a thing, and its owner, which only root can: an archive has both.
func (l *Layer) takeOver(fd int, st *unix.Stat_t) error {
	at := fmt.Sprintf("/proc/self/fd/%d", fd)
	if l.base.Self().UID == 0 {
		if err := os.Chown(at, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return os.Chtimes(at, time.Time{}, time.Unix(0, st.Mtim.Nano()))
}

func missing(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// unlessThere drops the error of copying a thing that was copied before.
func unlessThere(err error) error {
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

func (l *Layer) copyDir(p string, f safepath.Folder, name string, to safepath.Folder, toName string, st *unix.Stat_t, whole bool, b *bounds) error {
	if p != "/" {
		err := unix.Mkdirat(to.FD(), toName, 0o700)
		if err == nil {
			err = l.takeOverDir(p, st)
		}
		if err = unlessThere(err); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	fd, err := f.Openat(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), p)
	defer d.Close()
	names, err := d.Readdirnames(maxEntries + 1)
	if err != nil && err != io.EOF {
		return err
	}
	for _, n := range names {
		if err := l.copyUp(path.Join(p, n), true, b); err != nil {
			return err
		}
	}
	if !b.untold {
		l.whole[p] = true
	}
	return nil
}

func (l *Layer) takeOverDir(p string, st *unix.Stat_t) error {
	d, err := l.own().Folder(p)
	if err != nil {
		return err
	}
	defer d.Close()
	mode := st.Mode & 0o7777
	if l.base.Self().UID != 0 {
		mode |= 0o700 // else nothing could be copied into it
	}
	return errors.Join(l.takeOver(d.FD(), st), unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", d.FD()), mode))
}

func (l *Layer) copyLink(p string, f safepath.Folder, name string, to safepath.Folder, toName string, b *bounds) error {
	target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d/%s", f.FD(), name))
	if err != nil {
		return err
	}
	if err := unix.Symlinkat(target, to.FD(), toName); err != nil {
		return unlessThere(err)
	}
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(p), target)
	}
	return l.copyUp(path.Clean(target), false, b)
}

func (l *Layer) copyFile(p string, f safepath.Folder, name string, to safepath.Folder, toName string, st *unix.Stat_t, b *bounds) error {
	if b.bytes += st.Size; b.bytes > maxCopied {
		return fmt.Errorf("%w: more than %d MiB", errTooMuch, maxCopied>>20)
	}
	out, err := to.Openat(toName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return unlessThere(err)
	}
	w := os.NewFile(uintptr(out), p)
	defer w.Close()
	in, err := f.Openat(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	r := os.NewFile(uintptr(in), p)
	defer r.Close()
	if _, err := io.Copy(w, io.LimitReader(r, maxCopied)); err != nil {
		return err
	}
	for _, by := range l.outdated(p, nil) {
		by.Moved()
	}
	return errors.Join(l.takeOver(out, st), unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", out), st.Mode&0o7777))
}
