package cmd

import (
	"math"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// keepInherited keeps what the program was started with, beside its standard streams,
// from the commands that it runs: a file that somebody left open (a lock, the end of a
// pipe) would stay so for as long as what such a command starts. A path such as
// /dev/fd/63 goes on to work. Linux before 5.9 can't, and then nothing changes.
func keepInherited() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }
