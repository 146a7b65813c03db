package atomicfile

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// errNamed says that a file can't be made without a name first.
var errNamed = errors.New("needs a temporary name")

// create makes a file where there is none: it is written without a name and then
// given its own. So nothing is left of it when the process is killed, and who
// watches the folder hears of it once. It goes by the path, which may lead to
// another folder in the end than at first: that is where the file is wanted, and
// it gets the name only if nothing has it there. It returns errNamed where the
// file system has no such files.
func (n *New) create() (res Result, err error) {
	here := "."
	if n.Dir.fd == unix.AT_FDCWD {
		here = n.Dir.Path("")
	}
	fd, err := open(n.Dir.fd, here, unix.O_WRONLY|unix.O_TMPFILE, n.firstPerm(false))
	if err != nil {
		return res, errNamed // and with a name it says why
	}
	n.reach("temp")
	res, err = n.fillAndName(fd)
	if e := unix.Close(fd); err == nil {
		err = pathError("close", n.path(), e)
	}
	if err != nil {
		return Result{}, err
	}
	if temp := tempName(n.Name); n.Dir.Stale(temp) {
		_ = n.Dir.unlink(temp, 0) // left by a killed process
	}
	return res, nil
}

// fillAndName writes an open file that has no name, and gives it its own. It
// looks at this file and not at what has the name by then.
func (n *New) fillAndName(fd int) (res Result, err error) {
	before, err := n.fillTemp(fd, nil)
	n.reach("filled")
	if err == nil {
		err = n.link(fd)
	}
	if err != nil {
		return res, err
	}
	n.reach("named")
	after, err := fstat(fd)
	return resultOf(before, after), pathError("stat", n.path(), err)
}

// link gives the open file its name, if nothing has it.
func (n *New) link(fd int) error {
	err := n.linkFrom(fd, "", unix.AT_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) { // or it takes a privilege, before Linux 6.10
		err = n.linkFrom(unix.AT_FDCWD, procPath(fd), unix.AT_SYMLINK_FOLLOW)
	}
	switch {
	case errors.Is(err, unix.EEXIST):
		return pathError("create", n.path(), ErrChanged)
	case err != nil:
		return errNamed
	}
	return nil
}

// procPath is the name that an open file without one has in the process.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (n *New) linkFrom(dirfd int, from string, flags int) error {
	to := n.Dir.at(n.Name)
	return retry(func() error { return unix.Linkat(dirfd, from, n.Dir.fd, to, flags) })
}

// look compares what is there now with what was written.
func (n *New) look(before Stat) Result {
	st, err := n.Dir.Lstat(n.Name)
	if err != nil {
		return Result{}
	}
	return resultOf(before, st)
}

// resultOf compares two looks at a file, from before and after it got its name:
// somebody may have changed it already.
func resultOf(before, after Stat) Result {
	return Result{Stat: after, Sure: after.moved() == before.moved()}
}
