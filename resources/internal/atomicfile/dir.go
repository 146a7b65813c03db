package atomicfile

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// Dir is a folder in which names are looked up. A name is one path element. No
// method follows a link that a name leads to. Every way to one goes by a Walker of
// package safepath.
type Dir struct {
	fd   int    // -1: the folder is opened anew for each use
	path string // without a slash at the end, empty for the root
	as   *safepath.User
	way  *safepath.Walker // of a folder that is not open; nil for that of the system
}

// At returns a folder by its path, without looking at it: each use of a name walks to it
// anew. It needs no Close.
func At(path string) Dir { return Dir{fd: -1, path: strings.TrimRight(path, "/")} }

// AtBy is At by another Walker.
func AtBy(w safepath.Walker, path string) Dir {
	d := At(path)
	d.way = &w
	return d
}

// In returns an open folder, which Close closes.
func In(f safepath.Folder) Dir {
	return Dir{fd: f.FD(), path: strings.TrimRight(f.Path(""), "/"), as: f.As()}
}

// OpenDir opens a folder.
func OpenDir(path string) (Dir, error) { return At(path).Hold() }

// Hold opens the folder itself, if it is not open; the caller closes the result.
func (d Dir) Hold() (Dir, error) {
	f, err := d.walker().Folder(d.Path(""))
	if err != nil {
		return Dir{fd: -1, path: d.path}, err
	}
	held := In(f)
	held.path = d.path
	return held, nil
}

func (d Dir) walker() safepath.Walker {
	if d.way != nil {
		return *d.way
	}
	return safepath.System()
}

// OpenDir opens a folder of this folder. A link is an error.
func (d Dir) OpenDir(name string) (Dir, error) {
	p := d.Path(name)
	d, release, err := d.hold()
	if err != nil {
		return Dir{fd: -1, path: p}, err
	}
	defer release()
	fd, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	return Dir{fd: fd, path: p, as: d.as}, pathError("open", p, err)
}

// Close releases the folder's descriptor, if it has one.
func (d Dir) Close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
	}
}

// hold returns the folder by a descriptor: whatever becomes of its path, names
// are looked up in this one folder until release is called.
func (d Dir) hold() (held Dir, release func(), err error) {
	if d.fd >= 0 {
		return d, func() {}, nil
	}
	held, err = d.Hold()
	if err != nil {
		return d, nil, err
	}
	return held, held.Close, nil
}

// holdFor is hold for a look at one name: what else is in the folder may not be known, as in a plan.
func (d Dir) holdFor(name string) (held Dir, release func(), err error) {
	if d.fd >= 0 || d.way == nil || strings.Contains(name, "/") {
		return d.hold()
	}
	f, _, err := d.way.Parent(d.Path(name))
	if err != nil {
		return d, nil, err
	}
	held = In(f)
	held.path = d.path
	return held, held.Close, nil
}

// do calls a function that reaches into the folder, as the user of the Dir.
func (d Dir) do(call func() error) error {
	if d.as == nil {
		return retry(call)
	}
	return d.as.Do(func() error { return retry(call) })
}

// alter is do for what tells whether it has altered something.
func (d Dir) alter(call func() (bool, error)) (altered bool, err error) {
	err = d.do(func() (err error) { altered, err = call(); return err })
	return altered, err
}

// Path returns the path of a name of this folder, for people and for Watch; of no name, that of the folder.
func (d Dir) Path(name string) string {
	if name == "" && d.path != "" {
		return d.path
	}
	return d.path + "/" + name
}

// Settle waits for who is making or removing a name of the folder, after which the kernel tells of it: others see what becomes of the name before that,
// and he may wait for a processor in between. He holds the lock of the folder. A rename of a name to itself takes it, too, and does nothing.
func (d Dir) Settle(name string) {
	d, release, err := d.hold()
	if err != nil {
		return
	}
	defer release()
	if d.as == nil {
		_ = settleAt(d.fd, name)
		return
	}
	_ = d.as.Do(func() error { return settleAt(d.fd, name) })
}

func settleAt(dir int, name string) error {
	return retry(func() error { return unix.Renameat(dir, name, dir, name) })
}

// Lstat looks at a name.
func (d Dir) Lstat(name string) (Stat, error) {
	d, release, err := d.holdFor(name)
	if err != nil {
		return Stat{}, err
	}
	defer release()
	st, err := d.lstat(name)
	return st, d.failed("lstat", name, err)
}

// lstat looks at a name of a folder that is held.
func (d Dir) lstat(name string) (Stat, error) {
	if d.as == nil {
		return lstatAt(d.fd, name)
	}
	var his Stat
	err := d.as.Do(func() (err error) { his, err = lstatAt(d.fd, name); return err })
	return his, err
}

// Self looks at the folder itself.
func (d Dir) Self() (Stat, error) {
	if d.fd < 0 && d.way != nil { // what is in it does not matter
		st, err := FollowBy(*d.way, d.Path(""))
		if err == nil && !st.IsDir() {
			err = pathError("open", d.Path(""), unix.ENOTDIR)
		}
		return st, err
	}
	d, release, err := d.hold()
	if err != nil {
		return Stat{}, err
	}
	defer release()
	st, err := fstat(d.fd)
	return st, pathError("stat", d.path, err)
}

// Follow looks at the target of a path, through the links that may be followed.
func Follow(path string) (Stat, error) { return FollowBy(safepath.System(), path) }

// FollowBy is Follow by another Walker.
func FollowBy(w safepath.Walker, path string) (Stat, error) {
	st, err := w.Stat(path)
	return FromSys(&st), err
}

// RawLstat looks at a path by whatever links are in it. It tells whether a file that was
// reached by a Walker before is still there, by an equal Stat, and nothing else.
func RawLstat(w safepath.Walker, path string) (Stat, error) {
	st, err := w.RawLstat(path)
	return FromSys(&st), err
}

// Names returns the names in the folder, sorted.
func (d Dir) Names() ([]string, error) {
	d, release, err := d.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	fd, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, d.failed("open", "", err)
	}
	defer unix.Close(fd)
	names, err := namesIn(fd, make([]byte, 16<<10))
	slices.Sort(names)
	return names, d.failed("readdir", "", err)
}

// namesIn returns the names in an open folder, read by a buffer.
func namesIn(fd int, buf []byte) (names []string, err error) {
	for {
		var n int
		err := retry(func() (err error) { n, err = unix.ReadDirent(fd, buf); return err })
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// Readlink returns what a link says.
func (d Dir) Readlink(name string) (string, error) {
	d, release, err := d.holdFor(name)
	if err != nil {
		return "", err
	}
	defer release()
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		var n int
		err := d.do(func() (err error) { n, err = unix.Readlinkat(d.fd, name, buf); return err })
		if err != nil {
			return "", d.failed("readlink", name, err)
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// open opens a name of a folder that is held, closed in child processes.
func (d Dir) open(name string, flags int, perm uint32) (int, error) {
	if d.as == nil {
		return openAt(d.fd, name, flags, perm)
	}
	fd := -1
	err := d.as.Do(func() (err error) { fd, err = openAt(d.fd, name, flags, perm); return err })
	if err != nil {
		return -1, err
	}
	return fd, nil
}

func openAt(dir int, name string, flags int, perm uint32) (fd int, err error) {
	err = retry(func() error { fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, perm); return err })
	if err != nil {
		return -1, err
	}
	return fd, nil
}
