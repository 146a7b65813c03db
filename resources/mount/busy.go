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

// holding is what could not be unmounted.
type holding struct {
	mounttab.Mount
	copies []mounttab.Mount // in shared subtrees, which are unmounted with it
}

// busy names the users of a mount that could not be unmounted, and has Watch wait until there are
// none.
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

// shortened names the first of many.
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

// inUse reports whether it, or one of its copies, is in use. It asks the kernel to unmount
// it if it is not used until it is asked for the second time.
func (h holding) inUse() bool {
	if errors.Is(unix.Unmount(h.Point, unix.MNT_EXPIRE|unix.UMOUNT_NOFOLLOW), unix.EBUSY) {
		return true
	}
	return len(h.copies) > 0 && len(mounttab.Holders("/proc", h.Mount, h.copies...)) > 0 // of copies the kernel says nothing
}
