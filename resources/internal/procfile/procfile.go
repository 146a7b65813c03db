// Package procfile waits for changes of the files below /proc that tell of them: a
// reader of such a file is woken by the kernel whenever what is in it changes, as
// poll(2) says. /proc/self/mountinfo and /proc/sys/kernel/hostname are some.
//
// # Laws
//
//   - What differs from what Follow has seen is told. What has changed back before
//     anybody could look is not.
//   - Nothing queues: many changes are one wake-up.
//   - Each Follower has one goroutine, which has ended when Close returns.
package procfile

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// pause is how long after a look the next one comes at the earliest: what is looked at
// may be long, and may change many times.
const pause = 20 * time.Millisecond

// Follower tells of changes. It is made by Follow.
type Follower struct {
	file *os.File
	look func() (string, error)
	last string
	wake chan struct{} // of capacity 1
	stop chan struct{}
	done chan struct{}
}

// Follow begins to follow a file. After each change of it look is called, and returns
// a text that differs whenever that matters; an error matters too. It is called on the
// goroutine of Follow first, and then on that of the Follower.
func Follow(path string, look func() (string, error)) (*Follower, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := file.SetReadDeadline(time.Time{}); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s does not tell of its changes: %w", path, err)
	}
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	f := &Follower{file: file, look: look, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	if f.last, err = look(); err != nil {
		_ = file.Close()
		return nil, err
	}
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

// run looks, and then waits for the kernel.
func (f *Follower) run(conn syscall.RawConn) {
	defer close(f.done)
	_ = conn.Read(func(uintptr) (done bool) {
		if now, err := f.look(); err != nil || now != f.last {
			f.last = now
			select {
			case f.wake <- struct{}{}:
			default:
			}
		}
		select {
		case <-f.stop:
			return true
		case <-time.After(pause):
			return false
		}
	})
}
