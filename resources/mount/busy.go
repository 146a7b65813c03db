package mount

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/resources/internal/mounttab"
)

// holdersShown is how many of those who use a mount an error names, and busyTries how often
// it is tried again if there are none.
const (
	holdersShown = 5
	busyTries    = 6
)

// busyLook is how often it is looked whether a mount is still in use.
const busyLook = time.Second

// holding is a mount that could not be unmounted, since it is in use. CheckApply
// hands it to Watch, which polls it: the kernel has no event for the last user's
// leaving.
type holding struct {
	mounttab.Mount
	copies []mounttab.Mount // in shared subtrees, which are unmounted with it
}

// busy names the users of a mount that could not be unmounted, and has Watch wait
// until there are none. err is the failure of umount, which the returned error
// wraps. Hints that could not be found out are left out. It never blocks: if Watch
// has not taken the last holding yet, that one stays, and it is of the same mount
// point.
func (r *Res) busy(l found, err error) error {
	held := holding{*l.now, mounttab.Copies("/proc", l.all, *l.now)}
	select {
	case r.held <- held:
	default:
	}
	var why []string
	if by := mounttab.Holders("/proc", held.Mount, held.copies...); len(by) > 0 {
		why = append(why, "used by "+shortened(by, mounttab.Holder.String))
	} else if len(held.copies) > 0 {
		why = append(why, "it is mounted and perhaps used at "+shortened(held.copies, func(m mounttab.Mount) string { return m.Point })+", too")
	}
	if len(l.below) > 0 {
		why = append(why, "mounted below it: "+shortened(l.below, func(s string) string { return s }))
	}
	why = append(why, "lazy: true takes it away nevertheless")
	return fmt.Errorf("%w (%s)", err, strings.Join(why, "; "))
}

// shortened names the first of many. An error has to fit into one line of a log, so
// the rest is counted only.
func shortened[T any](all []T, name func(T) string) string {
	var names []string
	for _, one := range all[:min(len(all), holdersShown)] {
		names = append(names, name(one))
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// inUse reports whether the mount, or one of its copies, is in use. Watch calls it
// once a busyLook. MNT_EXPIRE marks an unused mount at the first call and unmounts
// it at the second one. That is harmless here, since the graph wants it gone. Any
// other error than EBUSY counts as not in use: then CheckApply tries again and
// reports it.
func (h holding) inUse() bool {
	if errors.Is(unix.Unmount(h.Point, unix.MNT_EXPIRE|unix.UMOUNT_NOFOLLOW), unix.EBUSY) {
		return true
	}
	return len(h.copies) > 0 && len(mounttab.Holders("/proc", h.Mount, h.copies...)) > 0 // of copies the kernel says nothing
}
