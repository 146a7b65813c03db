package backends

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
)

// The lock that all who edit the databases hold, as the C library defines it, how long
// it is waited for, and how often it is tried meanwhile.
const (
	lockName = ".pwd.lock"
	lockWait = 15 * time.Second
	lockTry  = 50 * time.Millisecond
)

// lock holds the lock of the databases in a folder until the returned function is
// called. It makes the file if that is missing, and never removes it, since others
// may wait for it. The wait ends after lockWait, or with ctx.
// An end of this process frees the lock, in each case.
func lock(ctx context.Context, clock clock.Clock, etc string) (unlock func(), err error) {
	path := filepath.Join(etc, lockName)
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := waitLock(ctx, clock, fd); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%s: %w", path, named(path, err))
	}
	return func() { unix.Close(fd) }, nil
}

// errHeld says that the lock was waited for in vain.
var errHeld = fmt.Errorf("another program has held the lock of the databases for %s", lockWait)

// named adds to errHeld which process that is, as far as the kernel tells it, and what to do. The lock
// may have become free meanwhile.
func named(path string, err error) error {
	if !errors.Is(err, errHeld) {
		return err
	}
	if h := pkglock.Held([]pkglock.Lock{{Path: path, How: pkglock.ByRecord, Advice: pkglock.EndIt}}); h != nil {
		return fmt.Errorf("%w: it is %s", err, h)
	}
	return err
}

// waitLock takes the lock. It belongs to the open file, so that it also keeps out
// other goroutines of this process. An open-file lock keeps out the tools too, which
// take the older kind of the same lock.
// It asks the kernel every lockTry, since no event tells of a free lock.
func waitLock(ctx context.Context, c clock.Clock, fd int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.AfterFunc(lockWait, func() {
		cancel(errHeld)
	})()
	for {
		err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err := clock.Sleep(ctx, c, lockTry); err != nil {
			return err
		}
	}
}
