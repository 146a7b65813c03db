package resources

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

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

// busy says who uses what could not be unmounted, and has Watch wait until nobody does.
func (r *MountRes) busy(l mountLook, by []mounttab.Holder, err error) error {
	select {
	case r.held <- l.real:
	default:
	}
	var why []string
	if len(by) > 0 {
		why = append(why, "used by "+shortened(by, mounttab.Holder.String))
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

// inUse reports whether what is mounted at a point, which should be no more, is in use. It
// asks the kernel to unmount it if it is not used until it is asked for the second time.
func inUse(point string) bool {
	return errors.Is(unix.Unmount(point, unix.MNT_EXPIRE|unix.UMOUNT_NOFOLLOW), unix.EBUSY)
}
