// Package procfile waits for changes that the kernel announces by a file. Such are some files below
// /proc, whose readers are woken as poll(2) says (/proc/self/mountinfo, /proc/sys/kernel/hostname),
// and sockets. A wake-up only says that something has changed; its user looks at the state. So lost
// announcements do not matter.
//
// # Laws
//
//   - Each change after Follow has returned is told, also a change back to the state before: a user
//     that looks and repairs in between must hear of the same drift twice. So nothing is compared
//     here.
//   - Nothing queues: many changes are one wake-up.
//   - Each Follower has one goroutine, which has ended when Close returns.
package procfile

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// pause is the least time between two looks: the file may be long, and may change many times.
const pause = 20 * time.Millisecond

// Follower tells of changes. It is made by Follow.
type Follower struct {
	clock clock.Clock
	file  *os.File
	take  func(fd uintptr) // what announces the changes; nil for nothing
	wake  chan struct{}    // of capacity 1
	stop  chan struct{}
	done  chan struct{}
}

// Follow begins to follow a file. The pause between two looks is by the clock.
func Follow(clock clock.Clock, path string) (*Follower, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := file.SetReadDeadline(time.Time{}); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s does not tell of its changes: %w", path, err)
	}
	return FollowFile(clock, file, nil)
}

// FollowFile follows a file that is open, and closes it at the end, or when it fails.
// Before each wake-up take is called, which must not block: it takes all that makes the
// file readable.
func FollowFile(clock clock.Clock, file *os.File, take func(fd uintptr)) (*Follower, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	f := &Follower{clock: clock, file: file, take: take, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go f.run(conn)
	return f, nil
}

// C wakes up after changes.
func (f *Follower) C() <-chan struct{} { return f.wake }

// Close ends it. It is called once.
func (f *Follower) Close() {
	close(f.stop)
	_ = f.file.Close()
	<-f.done
}

// run waits for the kernel, again and again. At the start there may be a wake-up for
// nothing.
func (f *Follower) run(conn syscall.RawConn) {
	defer close(f.done)
	rest := clock.NewTimer(f.clock, pause)
	defer rest.Stop()
	_ = conn.Read(func(fd uintptr) (done bool) {
		if f.take != nil {
			f.take(fd)
		}
		select {
		case f.wake <- struct{}{}:
		default:
		}
		rest.Reset(pause)
		select {
		case <-f.stop:
			return true
		case <-rest.C:
			return false
		}
	})
}
