package atomicfile

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Dir is a folder in which names are looked up. A name is one path element. No
// method follows a link that a name leads to.
type Dir struct {
	fd   int    // AT_FDCWD: names are looked up by path
	path string // without a slash at the end, empty for the root
}

// At returns a folder by its path, without looking at it: each use of a name
// goes by the whole path. It needs no Close.
func At(path string) Dir {
	for len(path) > 0 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return Dir{fd: unix.AT_FDCWD, path: path}
}

// OpenDir opens a folder. Links in the path are followed.
func OpenDir(path string) (Dir, error) {
	d := At(path)
	fd, err := open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	d.fd = fd
	return d, pathError("open", path, err)
}

// OpenDir opens a folder of this folder. A link is an error.
func (d Dir) OpenDir(name string) (Dir, error) {
	p := d.Path(name)
	fd, err := open(d.fd, d.at(name), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	return Dir{fd: fd, path: p}, pathError("open", p, err)
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
	fd, err := open(unix.AT_FDCWD, d.Path(""), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return d, nil, pathError("open", d.Path(""), err)
	}
	held = Dir{fd: fd, path: d.path}
	return held, held.Close, nil
}

// Path returns the path of a name of this folder, for people and for Watch.
func (d Dir) Path(name string) string { return d.path + "/" + name }

// at is what a system call gets to look name up in d.fd.
func (d Dir) at(name string) string {
	if d.fd == unix.AT_FDCWD {
		return d.Path(name)
	}
	return name
}

// Lstat looks at a name.
func (d Dir) Lstat(name string) (Stat, error) {
	var st unix.Stat_t
	p := d.at(name)
	err := retry(func() error { return unix.Fstatat(d.fd, p, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return Stat{}, pathError("lstat", d.Path(name), err)
	}
	return fromSys(&st), nil
}

// Self looks at the folder itself.
func (d Dir) Self() (Stat, error) {
	if d.fd >= 0 {
		st, err := fstat(d.fd)
		return st, pathError("stat", d.path, err)
	}
	return Follow(d.Path(""))
}

// Follow looks at what a path leads to, through links.
func Follow(path string) (Stat, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Stat(path, &st) }); err != nil {
		return Stat{}, pathError("stat", path, err)
	}
	return fromSys(&st), nil
}

// Names returns the names in the folder, sorted.
func (d Dir) Names() ([]string, error) {
	start := "."
	if d.fd == unix.AT_FDCWD {
		start = d.Path("")
	}
	fd, err := open(d.fd, start, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, pathError("open", d.Path(""), err)
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 16<<10)
	for {
		var n int
		err := retry(func() (err error) { n, err = unix.ReadDirent(fd, buf); return err })
		if err != nil {
			return nil, pathError("readdir", d.Path(""), err)
		}
		if n <= 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// Readlink returns what a link says.
func (d Dir) Readlink(name string) (string, error) {
	p := d.at(name)
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		var n int
		err := retry(func() (err error) { n, err = unix.Readlinkat(d.fd, p, buf); return err })
		if err != nil {
			return "", pathError("readlink", d.Path(name), err)
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// open opens relative to a folder, closed in child processes.
func open(dirfd int, path string, flags int, perm uint32) (fd int, err error) {
	err = retry(func() (err error) {
		fd, err = unix.Openat(dirfd, path, flags|unix.O_CLOEXEC, perm)
		return err
	})
	if err != nil {
		return -1, err
	}
	return fd, nil
}
