package safepath

import (
	"sync/atomic"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// State is what a look at a file tells. Two equal ones are of the same file in the same state, if it has not changed within the
// grain of its clock. The zero State is of no file.
type State struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64  // nanoseconds since 1970
	Mode         uint32 // type and permissions, as the system has them
	UID, GID     uint32
	Links        uint32
}

// StateOf returns what a call of the system has told.
func StateOf(st *unix.Stat_t) State {
	return State{
		Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
		Mode: st.Mode, UID: st.Uid, GID: st.Gid, Links: uint32(st.Nlink),
	}
}

// Left is how somebody has left what is at a path. It is an events.Owner. Many goroutines may use it.
type Left struct {
	Machine any // see Of
	Path    string
	State   *atomic.Pointer[State] // nil inside while he is at it
}

// AsLeft reports whether it still is so. It costs one look at the path, and none where he is at it.
func (l *Left) AsLeft() bool {
	left := l.State.Load()
	if left == nil {
		return false
	}
	now, err := Of(l.Machine).RawLstat(l.Path)
	return err == nil && StateOf(&now) == *left
}
