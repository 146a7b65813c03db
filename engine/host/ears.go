package host

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// writesPause is how long modifications gather before they are told of.
const writesPause = 250 * time.Millisecond

// ears wait for modifications. When they have heard one they are deaf for writesPause, or until listen: then a program
// that writes for ever wakes nobody in this process, and not the runtime either.
type ears struct {
	clock clock.Clock
	group int      // what has the modifications
	poll  *os.File // of epoll
	conn  syscall.RawConn

	mu   sync.Mutex
	deaf bool        // it has heard one, and the kernel tells of no more
	stop func() bool // the timer of the pause; nil for none
	shut bool
}

func newEars(clock clock.Clock, group int) (*ears, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		unix.SetNonblock(fd, true), // so that the runtime waits for it
		unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, group, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT}),
	)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	e := &ears{clock: clock, group: group, poll: os.NewFile(uintptr(fd), "modifications")}
	if e.conn, err = e.poll.SyscallConn(); err != nil {
		return nil, errors.Join(err, e.poll.Close())
	}
	return e, nil
}

// hear waits for a modification. It reports false after close.
func (e *ears) hear() bool {
	return e.conn.Read(func(fd uintptr) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		var one [1]unix.EpollEvent
		n, err := unix.EpollWait(int(fd), one[:], 0)
		e.deaf = e.deaf || n > 0
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	}) == nil
}

// rest begins the pause. It comes after what was heard is served: until then a writer may have ended.
func (e *ears) rest() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shut {
		return
	}
	if e.stop != nil {
		e.stop()
	}
	e.stop = e.clock.AfterFunc(writesPause, e.listen)
}

// listen ends the pause.
func (e *ears) listen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shut || !e.deaf {
		return
	}
	e.deaf = false
	_ = control(e.conn, func(fd int) {
		_ = unix.EpollCtl(fd, unix.EPOLL_CTL_MOD, e.group, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT})
	})
}

// close ends the waiting.
func (e *ears) close() error {
	e.mu.Lock()
	e.shut = true
	if e.stop != nil {
		e.stop()
	}
	e.mu.Unlock()
	return e.poll.Close() // which waits for hear
}
