package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// lockName is the file in a state folder whose lock keeps a second daemon away.
const lockName = "lock"

// lockState takes a state folder for this process, until the file is closed or the
// process ends, however it ends. Where nothing can be written, an existing lock is
// taken all the same. The file is nil where there is none: no other process can
// make one either. That the pid can't be noted, as on a full disk, does no harm.
func lockState(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	// O_NOFOLLOW: another user may have put a link in a folder that others can write.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if Denied(err) {
		// flock(2) needs no right to write, so the lock holds on a read-only file system, too.
		f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
		if Denied(err) || errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, setting.Errorf("the state folder cannot be locked, name another one with %v: %w", setting.StatePrefix, err)
	}
	if err := takeLock(f); err != nil {
		defer f.Close()
		return nil, lockError(dir, f, err)
	}
	_ = writePID(f)
	return f, nil
}

// How long a lock is waited for whose owner is dead, and how often it is tried.
const (
	// Real time: the lock belongs to another process.
	orphanWait  = 5 * time.Second
	orphanEvery = 5 * time.Millisecond
)

// takeLock takes the lock, at once or not at all. Only where the process that it
// belongs to is dead, it waits a little. A process that was killed while it started a
// command has left the lock to that command. The command lets go of it as soon as it runs.
// flock(2) belongs to the open file, which a child inherits at fork. At exec the child closes its
// copy.
func takeLock(f *os.File) error {
	for end := time.Now().Add(orphanWait); ; time.Sleep(orphanEvery) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || !isDead(readPID(f)) || time.Now().After(end) {
			return err
		}
	}
}

// isDead reports whether there is no such process.
func isDead(pid string) bool {
	n, err := strconv.Atoi(pid)
	// Signal 0 only asks, see kill(2). A process of another user gives EPERM, and so counts as alive.
	return err == nil && n > 0 && errors.Is(unix.Kill(n, 0), unix.ESRCH)
}

// lockError says who holds the lock of the state folder. The number is only a hint: the
// holder may have ended meanwhile.
func lockError(dir string, f *os.File, err error) error {
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("the state folder %s cannot be locked: %w", dir, err)
	}
	who := "another mgmt"
	if pid := readPID(f); pid != "" {
		who += " (pid " + pid + ")"
	}
	return &lockedError{setting.Errorf("%s runs with the state folder %s, name another one with %v", who, dir, setting.StatePrefix)}
}

// lockedError says that another process has the lock.
type lockedError struct{ named *setting.Error }

func (e *lockedError) Error() string   { return e.named.Error() }
func (e *lockedError) Unwrap() []error { return []error{e.named, unix.EWOULDBLOCK} }

// writePID notes the holder in the locked file.
func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// readPID returns the noted holder, empty where the file holds no number.
func readPID(f *os.File) string {
	buf, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid := strings.TrimSpace(string(buf))
	if err != nil || pid == "" || strings.Trim(pid, "0123456789") != "" {
		return ""
	}
	return pid
}
