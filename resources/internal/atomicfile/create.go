package atomicfile

import (
	"errors"
	"strconv"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// errNamed says that a file can't be made without a name first.
var errNamed = errors.New("needs a temporary name")

// create makes a file where there is none: it is written without a name and then
// given its own. So nothing is left of it when the process is killed, and who
// watches the folder hears of it once. It gets the name only if nothing has it. It
// returns errNamed where the file system has no such files.
func (n *New) create() (res Result, err error) {
	t := &temp{dir: n.Dir}
	if t.fd, err = n.openUnnamed(); err != nil {
		return res, err // and with a name it says why
	}
	defer t.drop()
	res, err = n.fillAndName(t)
	if e := t.close(); err == nil {
		err = n.failed("close", e)
	}
	if err != nil {
		return Result{}, err
	}
	if !n.NoneLeft {
		n.removeLeft()
	}
	return res, nil
}

// removeLeft removes the temporary file that a killed process has left for the name.
func (n *New) removeLeft() {
	if temp := tempName(n.Name); n.Dir.Stale(temp) {
		_ = n.Dir.unlink(temp, 0)
	}
}

// fillAndName writes a file that has no name, and gives it its own. It looks at this file and not
// at the present holder of the name.
func (n *New) fillAndName(t *temp) (res Result, err error) {
	before, err := n.filled(t, nil)
	if err == nil {
		err = n.link(t.fd)
	}
	if err != nil {
		return res, err
	}
	n.reach("named")
	after, err := fstat(t.fd)
	return resultOf(before, after), n.failed("stat", err)
}

// openUnnamed makes a file without a name. It has the final permissions at once: no other user can
// open it.
func (n *New) openUnnamed() (int, error) {
	if n.nameFirst {
		return -1, errNamed
	}
	perm := uint32(0o666)
	if m := n.wantMode(); m >= 0 {
		perm = uint32(m) & 0o777
	}
	fd, err := n.Dir.open(".", unix.O_WRONLY|unix.O_TMPFILE, perm)
	if err != nil {
		return -1, errNamed
	}
	return fd, nil
}

// link gives the open file its name, if nothing has it.
func (n *New) link(fd int) error {
	err := n.Dir.linkFile(fd, n.Name)
	switch {
	case errors.Is(err, unix.EEXIST):
		return n.failed("create", ErrChanged)
	case err != nil:
		return errNamed
	}
	return nil
}

// linkFile gives a name to an open file that has none.
func (d Dir) linkFile(fd int, name string) error {
	err := d.linkFrom(fd, "", name, unix.AT_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) { // or it takes a privilege, before Linux 6.10
		return d.linkByProc(fd, name)
	}
	return err
}

// linkByProc is linkFile for everybody, where /proc is mounted.
func (d Dir) linkByProc(fd int, name string) error {
	return d.linkFrom(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), name, unix.AT_SYMLINK_FOLLOW)
}

func (d Dir) linkFrom(fromfd int, from, name string, flags int) error {
	if d.as == nil {
		return linkAt(fromfd, from, d.fd, name, flags)
	}
	return d.as.Do(func() error { return linkAt(fromfd, from, d.fd, name, flags) })
}

func linkAt(fromfd int, from string, dir int, name string, flags int) error {
	return retry(func() error { return unix.Linkat(fromfd, from, dir, name, flags) })
}

// look compares what is there now with what was written.
func (n *New) look(before Stat) Result {
	st, err := n.Dir.Lstat(n.Name)
	if err != nil {
		return Result{}
	}
	return resultOf(before, st)
}

// resultOf compares two looks at a file, from before and after it got its name: it may have changed
// already.
func resultOf(before, after Stat) Result {
	return Result{Stat: after, Sure: after.moved() == before.moved()}
}
