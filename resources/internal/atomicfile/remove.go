package atomicfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// ErrMountPoint says that something is not removed because another file system
// is mounted there.
var ErrMountPoint = errors.New("another file system is mounted there: umount it, or leave it out of what the graph removes")

// maxDepth is how many folders, one in another, Remove goes down.
const maxDepth = 100_000

// Remove removes a name, and if all is set, a folder with everything below it. Links are removed
// and never followed, and mounted file systems are left alone. A missing name is not an error.
// However deep it goes, it has two descriptors open, and keeps the names and the numbers of the
// folders that it came through: a folder that is moved meanwhile is an error (ErrChanged).
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
	if err == nil || !isFull(err) || !all {
		return gone(err)
	}
	if err := d.do(func() error { return d.empty(name, st) }); err != nil {
		return gone(err)
	}
	return gone(d.unlink(name, unix.AT_REMOVEDIR))
}

func isFull(err error) bool {
	return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)
}

// emptier removes all that is below a folder.
type emptier struct {
	top    string // the path of the folder, for messages
	cur    int    // the folder that it is in
	levels []level
	buf    []byte // to read folders
}

// level is a folder on the way down, and its remaining entries.
type level struct {
	dev, ino uint64
	name     string
	names    []string
}

// empty removes all that is in a folder that st is a look at.
func (d Dir) empty(name string, st Stat) error {
	e := &emptier{top: d.Path(name), cur: d.fd, buf: make([]byte, 16<<10)}
	parent, err := fstat(d.fd)
	if err != nil {
		return pathError("stat", e.top, err)
	}
	defer func() {
		if e.cur != d.fd {
			_ = unix.Close(e.cur)
		}
	}()
	fd, now, err := e.into(name, parent.Dev)
	if err != nil {
		return err
	}
	e.cur = fd
	if !now.Same(st) {
		return pathError("remove", e.top, ErrChanged)
	}
	if err := e.down(name, now); err != nil {
		return err
	}
	for {
		l := &e.levels[len(e.levels)-1]
		switch {
		case len(l.names) > 0:
			next := l.names[0]
			l.names = l.names[1:]
			err = e.remove(next, l.dev)
		case len(e.levels) == 1:
			return nil
		default:
			err = e.up()
		}
		if err != nil {
			return err
		}
	}
}

// remove removes a name of the folder that it is in, or goes down into it.
func (e *emptier) remove(name string, dev uint64) error {
	err := unlinkat(e.cur, name, 0)
	if err != unix.EISDIR && err != unix.EPERM { // EPERM is what POSIX says of a folder
		return e.failed(name, err)
	}
	if err = unlinkat(e.cur, name, unix.AT_REMOVEDIR); err == unix.ENOTDIR {
		err = unlinkat(e.cur, name, 0)
	}
	if !isFull(err) {
		return e.failed(name, err)
	}
	fd, st, err := e.into(name, dev)
	if err != nil {
		return gone(err)
	}
	_ = unix.Close(e.cur)
	e.cur = fd
	return e.down(name, st)
}

// into opens a folder of the one that it is in.
func (e *emptier) into(name string, dev uint64) (int, Stat, error) {
	fd, err := openat(e.cur, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return -1, Stat{}, pathError("open", e.path(name), err)
	}
	st, err := fstat(fd)
	if err == nil && st.Dev != dev {
		err = ErrMountPoint
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, st, pathError("remove", e.path(name), err)
	}
	return fd, st, nil
}

// down notes that it is in another folder now, and the entries of that.
func (e *emptier) down(name string, st Stat) error {
	if len(e.levels) == maxDepth {
		return fmt.Errorf("%s has more than %d folders one in another: remove it by hand", safepath.Short(e.top), maxDepth)
	}
	names, err := namesIn(e.cur, e.buf)
	e.levels = append(e.levels, level{dev: st.Dev, ino: st.Ino, name: name, names: names})
	return e.failed("", err)
}

// up goes back to the folder that it came from, and removes the folder that is empty now.
func (e *emptier) up() error {
	last := e.levels[len(e.levels)-1]
	e.levels = e.levels[:len(e.levels)-1]
	from := e.levels[len(e.levels)-1]
	fd, err := openat(e.cur, "..", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return e.failed(last.name, err)
	}
	_ = unix.Close(e.cur)
	e.cur = fd
	st, err := fstat(fd)
	if err == nil && (st.Dev != from.dev || st.Ino != from.ino) {
		err = ErrChanged
	}
	if err == nil {
		err = unlinkat(fd, last.name, unix.AT_REMOVEDIR)
	}
	return e.failed(last.name, err)
}

// failed makes of an error one with the place; it keeps none that says that something is
// gone.
func (e *emptier) failed(name string, err error) error {
	if err == nil || err == unix.ENOENT {
		return nil
	}
	return pathError("remove", e.path(name), err)
}

// path names a place below the folder; folders deeper than 20 are counted.
func (e *emptier) path(name string) string {
	var path strings.Builder
	path.WriteString(e.top)
	for _, l := range e.levels[min(1, len(e.levels)):min(20, len(e.levels))] {
		path.WriteString("/" + l.name)
	}
	if len(e.levels) > 20 {
		path.WriteString(fmt.Sprintf("/(%d folders)", len(e.levels)-20))
	}
	if name != "" && len(e.levels) > 0 {
		path.WriteString("/" + name)
	}
	return path.String()
}

func unlinkat(fd int, name string, flags int) error {
	return retry(func() error { return unix.Unlinkat(fd, name, flags) })
}

func openat(dir int, name string, flags int) (fd int, err error) {
	err = retry(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// gone turns "it is not there" into success.
func gone(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
