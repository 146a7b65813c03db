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
	before, err := n.fillTemp(fd, nil)
	n.reach("filled")
	if err == nil {
		err = n.link(fd)
	}
	if e := unix.Close(fd); err == nil {
		err = pathError("close", n.path(), e)
	}
	if err != nil {
		return res, err
	}
	if temp := tempName(n.Name); n.Dir.Stale(temp) {
		_ = n.Dir.unlink(temp, 0) // left by a killed process
	}
	return n.look(before), nil
}

// link gives the open file its name, if nothing has it.
func (n *New) link(fd int) error {
	from, to := "/proc/self/fd/"+strconv.Itoa(fd), n.Dir.at(n.Name)
	err := retry(func() error { return unix.Linkat(unix.AT_FDCWD, from, n.Dir.fd, to, unix.AT_SYMLINK_FOLLOW) })
	switch {
	case errors.Is(err, unix.EEXIST):
		return pathError("create", n.path(), ErrChanged)
	case err != nil:
		return errNamed
	}
	return nil
}

// look compares what is there now with what was written: somebody may have
// changed it already.
func (n *New) look(before Stat) (res Result) {
	st, err := n.Dir.Lstat(n.Name)
	return Result{Stat: st, Sure: err == nil && st.moved() == before.moved()}
}
