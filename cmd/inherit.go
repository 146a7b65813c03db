package cmd

import (
	"math"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// keepInherited keeps inherited descriptors, apart from the standard streams, from the
// commands of the program. The caller may have left a file open, such as a lock or
// the end of a pipe. It would otherwise stay open as long as the descendants of such a command.
// A path such as /dev/fd/63 goes on to work. Linux before 5.9 can't, and then nothing changes.
func keepInherited() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }
