package safepath

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// These calls change one thread; those of package syscall change all.

func fsuid(uid int) (was int, err error) { return unix.SetfsuidRetUid(uid) }

func fsgid(gid int) (was int, err error) { return unix.SetfsgidRetGid(gid) }

func setgroups(groups []int) error {
	list := make([]uint32, len(groups))
	for i, g := range groups {
		list[i] = uint32(g)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(list)), uintptr(unsafe.Pointer(unsafe.SliceData(list))), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
