package safepath

import (
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Steady returns the path without links of the thing to which p leads, if no other user can
// make that path lead elsewhere. It is for programs that take a path and no descriptor,
// such as mount: they act on the thing that was looked at. The thing may belong to anyone. It
// may be missing, with folders above it too, if no other user can make it. Steady is of no use
// on a Walker of another root than "/".
func (w Walker) Steady(p string) (string, error) {
	at, err := w.Place(p)
	if errors.Is(err, unix.ENOENT) && path.Clean(p) != "/" {
		return w.steadyMissing(p, err)
	}
	if err != nil {
		return "", err
	}
	defer at.Close()
	dir, err := readPath(at.FD())
	if err != nil {
		return "", pathError("readlink", at.Path(""), err)
	}
	if at.Name == "." {
		return dir, w.steadyAbove(dir)
	}
	if err := w.steadyName(at.Folder, dir, at.Name, at.Missing); err != nil {
		return "", err
	}
	return path.Join(dir, at.Name), w.steadyAbove(dir)
}

// SteadyName is Steady for a name that is not looked at: the folder of the last element
// has to be steady, and a link in the last place is not followed. Nothing asks the file
// system that may be mounted there, unless the folder has the sticky bit.
func (w Walker) SteadyName(p string) (string, error) {
	f, name, err := w.Parent(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	dir, err := readPath(f.FD())
	if err != nil {
		return "", pathError("readlink", f.Path(""), err)
	}
	if name == "." {
		return dir, w.steadyAbove(dir)
	}
	if err := w.steadyName(f, dir, name, false); err != nil {
		return "", err
	}
	return path.Join(dir, name), w.steadyAbove(dir)
}

// steadyMissing is Steady for a path whose folder is missing.
func (w Walker) steadyMissing(p string, missing error) (string, error) {
	dir, name := path.Split(path.Clean(p))
	real, err := w.Steady(dir)
	if err != nil {
		return "", err
	}
	f, err := w.Folder(real)
	switch {
	case errors.Is(err, unix.ENOENT): // who makes its folder was judged
		return path.Join(real, name), nil
	case err != nil:
		return "", err
	}
	f.Close()
	return "", missing // it was made meanwhile
}

// steadyAbove judges all folders above one, whose path has no links.
func (w Walker) steadyAbove(dir string) error {
	for dir != "/" {
		above, name := path.Dir(dir), path.Base(dir)
		f, err := w.Folder(above)
		if err != nil {
			return err
		}
		err = w.steadyName(f, above, name, false)
		f.Close()
		if err != nil {
			return err
		}
		dir = above
	}
	return nil
}

// steadyName refuses a name that another user can put something else behind. In a folder
// with the sticky bit those of root's and our own things are out of reach of others.
func (w Walker) steadyName(f Folder, dir, name string, missing bool) error {
	st, err := fstat(f.FD())
	if err != nil {
		return pathError("stat", dir, err)
	}
	who := w.othersWrite(f.FD(), &st)
	if who == "" {
		return nil
	}
	if !missing && st.Mode&unix.S_ISVTX != 0 && w.Trusts(st.Uid) {
		at, err := f.Stat(name)
		if err != nil || w.Trusts(at.Uid) {
			return err
		}
	}
	return &RefusedError{Element: path.Join(dir, name), UID: int(st.Uid), text: fmt.Sprintf(
		"%s can be replaced, because %s can write to %s: take a path that only root can alter, or shut others out of that folder",
		short(path.Join(dir, name)), who, short(dir))}
}

// readPath returns the path of an open folder, without links.
func readPath(fd int) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	return string(buf[:max(n, 0)]), err
}
