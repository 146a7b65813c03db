package host

import (
	"errors"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// A fileID tells files apart while they exist; its zero value stands for no file.
type fileID struct{ dev, ino uint64 }

// A sig changes when anything about a file does; its zero value stands for no file.
type sig struct {
	id           fileID
	size         int64
	mtime, ctime unix.Timespec
	mode         uint32
	uid, gid     uint32
}

func lstat(path string) (st unix.Stat_t, err error) {
	for {
		if err = unix.Lstat(path, &st); !errors.Is(err, unix.EINTR) {
			return st, err
		}
	}
}

func idOf(st *unix.Stat_t) fileID { return fileID{uint64(st.Dev), st.Ino} }
func isDir(st *unix.Stat_t) bool  { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
func isLink(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFLNK }

// identify says what is at path; links are not followed.
func identify(path string) fileID {
	st, err := lstat(path)
	if err != nil {
		return fileID{}
	}
	return idOf(&st)
}

// sigOf takes the signature of the file at path; links are not followed.
func sigOf(path string) sig {
	st, err := lstat(path)
	if err != nil {
		return sig{}
	}
	return sig{idOf(&st), st.Size, st.Mtim, st.Ctim, st.Mode, st.Uid, st.Gid}
}

// isGone reports whether err says that there is no such directory.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}
