package safepath

import "github.com/reactivegraph/mgmt/internal/unix"

// These calls change one thread; those of package syscall change all.

func fsuid(uid int) (was int, err error) { return unix.SetfsuidRetUid(uid) }

func fsgid(gid int) (was int, err error) { return unix.SetfsgidRetGid(gid) }

func setgroups(groups []int) error { return unix.SetThreadGroups(groups) }
