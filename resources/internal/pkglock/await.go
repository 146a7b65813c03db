package pkglock

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// freeEvents are the events of the file of a lock when its holder lets go: a descriptor that could
// write is closed, or the file goes. A process that only looks at a lock opens it for reading,
// which makes no event.
const freeEvents = unix.IN_CLOSE_WRITE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ATTRIB

// freeMoment is how long after such an event it is looked at again: the kernel tells of a descriptor that is closed just
// before it gives back the lock that belongs to the descriptor.
const freeMoment = 10 * time.Millisecond

// freePoll is the time between two looks at a lock without events.
const freePoll = 250 * time.Millisecond

// Await waits until the holder may have let go of the lock: it has closed the file, the file has
// gone, the process has ended, or so much time has gone by as most says. Whether the lock is free
// then, Held says. The error is why ctx has ended.
//
// most is for holders without events: they unlock and go on with the file open, or have another
// view of the file system.
func (h *Holder) Await(ctx context.Context, c clock.Clock, most time.Duration) error {
	w, err := h.watch()
	if err != nil {
		return clock.Sleep(ctx, c, min(most, freePoll))
	}
	defer w.Close()
	if pid, held := h.holder(); !held || pid != h.PID && h.PID > 0 {
		return ctx.Err() // between the look that has found it and the watch
	}
	if err := w.wait(ctx, c, most); err != nil {
		return clock.Sleep(ctx, c, min(most, freePoll))
	}
	return clock.Sleep(ctx, c, freeMoment)
}

// freeWatch is the events of a lock's file and the end of its holder, as one descriptor of epoll.
type freeWatch struct {
	*os.File
	parts []int
}

func (h *Holder) watch() (w *freeWatch, err error) {
	w = &freeWatch{}
	defer func() {
		if err != nil {
			w.closeParts()
			w = nil
		}
	}()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return w, err
	}
	w.parts = append(w.parts, fd)
	if _, err := unix.InotifyAddWatch(fd, h.Path, freeEvents|unix.IN_DONT_FOLLOW); err != nil {
		return w, err
	}
	if h.PID > 0 {
		if fd, err := unix.PidfdOpen(h.PID, unix.PIDFD_NONBLOCK); err == nil {
			w.parts = append(w.parts, fd) // else the file alone tells
		}
	}
	return w, w.join()
}

// join makes the one descriptor.
func (w *freeWatch) join() error {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	err = unix.SetNonblock(poll, true) // so that the runtime waits for it
	for _, fd := range w.parts {
		err = errors.Join(err, unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
	}
	if err != nil {
		return errors.Join(err, unix.Close(poll))
	}
	w.File = os.NewFile(uintptr(poll), "lock")
	return nil
}

// wait waits for one of the events, the time, or the end of ctx.
func (w *freeWatch) wait(ctx context.Context, clock clock.Clock, most time.Duration) error {
	raw, err := w.SyscallConn()
	if err != nil {
		return err
	}
	end := func() { _ = w.SetReadDeadline(time.Unix(1, 0)) } // a time that is over ends Read at once
	defer clock.AfterFunc(most, end)()
	defer context.AfterFunc(ctx, end)()
	err = raw.Read(func(fd uintptr) bool {
		n, err := unix.EpollWait(int(fd), make([]unix.EpollEvent, 1), 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// Close lets go of all.
func (w *freeWatch) Close() {
	_ = w.File.Close()
	w.closeParts()
}

func (w *freeWatch) closeParts() {
	for _, fd := range w.parts {
		_ = unix.Close(fd)
	}
}
