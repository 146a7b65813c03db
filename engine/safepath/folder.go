package safepath

import (
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Folder is an open folder that a Walker has checked. Names below it are looked up by
// its descriptor, with no further walk. It is a value; one Close ends all its copies.
type Folder struct {
	fd   int // opened with O_PATH
	path string
	as   *User
}

// FD returns the descriptor. It can only be used to look names up. The folder keeps it.
func (f Folder) FD() int { return f.fd }

// Path returns the path of a name in the folder, for messages and for Watch.
func (f Folder) Path(name string) string {
	switch {
	case name == "":
		return f.path
	case f.path == "/":
		return "/" + name
	}
	return f.path + "/" + name
}

// As returns the user as whom the folder is used; nil for the daemon itself.
func (f Folder) As() *User { return f.as }

// Close releases the descriptor.
func (f Folder) Close() { _ = unix.Close(f.fd) }

// Do calls do as the user as whom the folder is used: in the calling goroutine if that is
// the daemon itself, else see User.Do. Every system call that reaches into the folder by
// its descriptor has to go through Do.
func (f Folder) Do(do func() error) error {
	if f.as == nil {
		return do()
	}
	return f.as.Do(do)
}

// Openat opens a name of the folder. flags should have O_NOFOLLOW; O_CLOEXEC is added.
// The descriptor is the caller's. The error is the bare number of the system.
func (f Folder) Openat(name string, flags int, perm uint32) (int, error) {
	fd := -1
	err := f.Do(func() error {
		return retry(func() (err error) {
			fd, err = unix.Openat(f.fd, name, flags|unix.O_CLOEXEC, perm)
			return err
		})
	})
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// Stat looks at a name of the folder and follows no link.
func (f Folder) Stat(name string) (st unix.Stat_t, err error) {
	st, err = f.stat(name)
	if err != nil {
		err = pathError("lstat", f.Path(name), err)
	}
	return st, err
}

// stat is Stat with the bare number of the system as the error.
func (f Folder) stat(name string) (st unix.Stat_t, err error) {
	if f.as == nil {
		err = statAt(f.fd, name, &st)
		return st, err
	}
	var his unix.Stat_t
	err = f.as.Do(func() error { return statAt(f.fd, name, &his) })
	return his, err
}

func statAt(dir int, name string, st *unix.Stat_t) error {
	return retry(func() error { return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

// Place is where a path leads: a name in an open folder.
type Place struct {
	Folder
	Name    string
	Missing bool        // nothing has the name
	Stat    unix.Stat_t // of the thing that has the name
}

func (f Folder) place(name string) (Place, error) {
	st, err := f.stat(name)
	p := Place{Folder: f, Name: name, Stat: st, Missing: err == unix.ENOENT}
	if err != nil && !p.Missing {
		return p, pathError("lstat", f.Path(name), err)
	}
	return p, nil
}
