package atomicfile

import (
	"io/fs"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// Stat is what a look at a file tells. Two equal ones are of the same file in
// the same state, if it has not changed within the grain of its clock; see
// Settled. The zero Stat is of no file.
type Stat safepath.State

// FromSys returns what a call of the system has told.
func FromSys(st *unix.Stat_t) Stat { return Stat(safepath.StateOf(st)) }

// PermBits are the bits of a mode that chmod sets.
const PermBits = 0o7777

// Perm returns the permissions with the setuid, setgid and sticky bits.
func (s Stat) Perm() uint32 { return s.Mode & PermBits }

// IsRegular reports whether it is a plain file.
func (s Stat) IsRegular() bool { return s.Mode&unix.S_IFMT == unix.S_IFREG }

// IsDir reports whether it is a folder.
func (s Stat) IsDir() bool { return s.Mode&unix.S_IFMT == unix.S_IFDIR }

// IsLink reports whether it is a symbolic link.
func (s Stat) IsLink() bool { return s.Mode&unix.S_IFMT == unix.S_IFLNK }

// Kind returns a word for the type of the file.
func (s Stat) Kind() string {
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "folder"
	case unix.S_IFLNK:
		return "link"
	case unix.S_IFIFO:
		return "pipe"
	case unix.S_IFSOCK:
		return "socket"
	default:
		return "device"
	}
}

// Same reports whether both are of one file, whatever has happened to it.
func (s Stat) Same(o Stat) bool { return s.Dev == o.Dev && s.Ino == o.Ino }

// moved is s without what a rename changes.
func (s Stat) moved() Stat {
	s.Ctime, s.Links = 0, 0
	return s
}

// retry repeats a system call for as long as a signal interrupts it.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// failed is pathError for a name of the folder: most calls go well, and make no path.
func (d Dir) failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return pathError(op, d.Path(name), err)
}

func (n *New) failed(op string, err error) error { return n.Dir.failed(op, n.Name, err) }

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: safepath.Short(path), Err: whyNot(path, err)}
}

func lstatAt(dir int, name string) (Stat, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return Stat{}, err
	}
	return FromSys(&st), nil
}

func fstat(fd int) (Stat, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return Stat{}, err
	}
	return FromSys(&st), nil
}
