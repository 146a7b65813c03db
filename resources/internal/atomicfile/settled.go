package atomicfile

import (
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// grain is how far apart two changes may be and still get one timestamp, on the
// coarsest local file systems.
const grain = 3 * time.Second

// Clock says how far the timestamps of a file system tell changes apart.
type Clock uint8

// The clocks, from the worst to the best.
const (
	ClockUntold Clock = iota // another machine's: equal timestamps prove nothing
	ClockCoarse              // equal ones prove something once they are old
	ClockFine                // a change after a look always gets a new one
)

// Settled reports whether a file that is found with an equal Stat at any later time has not been
// changed since this one was taken, at the time now. On a coarse clock a change in the same tick
// would go unseen, so a recent Stat is not settled. ctime counts and not mtime, which can be set at
// will.
func (s Stat) Settled(c Clock, now time.Time) bool {
	switch c {
	case ClockFine:
		if s.Ctime%int64(time.Second) != 0 { // else the file system keeps only seconds
			return true
		}
		fallthrough
	case ClockCoarse:
		return now.Sub(time.Unix(0, s.Ctime)) > grain
	default:
		return false
	}
}

// ClockOf returns the clock of the file system that path is on.
func ClockOf(path string) Clock {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Statfs(path, &st) }); err != nil {
		return ClockUntold
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		if multigrain() {
			return ClockFine
		}
		return ClockCoarse
	case unix.OVERLAYFS_SUPER_MAGIC, unix.RAMFS_MAGIC, unix.F2FS_SUPER_MAGIC, unix.SQUASHFS_MAGIC,
		unix.MSDOS_SUPER_MAGIC, unix.ISOFS_SUPER_MAGIC:
		return ClockCoarse
	default:
		return ClockUntold
	}
}

// multigrain reports whether the kernel gives a file that has been looked at a
// timestamp of its own at the next change: since 6.13.
func multigrain() bool { return unix.KernelSince(6, 13) }
