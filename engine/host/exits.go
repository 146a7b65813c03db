package host

import (
	"errors"
	"os"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// exits are the processes whose end a name waits for. The hub's goroutine owns them; one other
// waits in the kernel.
type exits struct {
	poll *os.File // of epoll; nil before it is needed
	fd   int
	of   map[*actor]map[*transit]struct{}
}

// exitsAtOnce bounds the processes that are awaited. What is beyond rests for processTime.
const exitsAtOnce = 512

// await has t told of the end of the process that it waits for, which is that of its last step.
func (h *hub) await(t *transit, by *actor) {
	if t.by != nil && t.by.pid == t.pid {
		return
	}
	h.unawait(t)
	if by == nil || by.pid != t.pid || by.fd < 0 || len(h.exits.of) >= exitsAtOnce && h.exits.of[by] == nil {
		return
	}
	if err := h.exitsOpened(); err != nil {
		h.log.Debug("the end of processes is not seen", "error", err)
		return
	}
	all := h.exits.of[by]
	if all == nil {
		all = make(map[*transit]struct{})
		if unix.EpollCtl(h.exits.fd, unix.EPOLL_CTL_ADD, by.fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT}) != nil {
			return
		}
		h.exits.of[by] = all
	}
	all[t] = struct{}{}
	t.by = by.retain()
}

// unawait ends that.
func (h *hub) unawait(t *transit) {
	if t.by == nil {
		return
	}
	by, all := t.by, h.exits.of[t.by]
	t.by = nil
	delete(all, t)
	if len(all) == 0 {
		delete(h.exits.of, by)
		_ = unix.EpollCtl(h.exits.fd, unix.EPOLL_CTL_DEL, by.fd, nil)
	}
	by.release()
}

// exited looks which of the awaited processes have ended.
func (h *hub) exited() {
	for by, all := range h.exits.of {
		if !by.ended() {
			continue
		}
		for t := range all {
			h.unawait(t)
			if t.ended(by.pid) {
				h.arrive(t, false)
			}
		}
	}
}

// exitsOpened makes sure that somebody waits.
func (h *hub) exitsOpened() error {
	if h.exits.poll != nil {
		return nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that the runtime waits for it
		return errors.Join(err, unix.Close(fd))
	}
	f := os.NewFile(uintptr(fd), "exits")
	conn, err := f.SyscallConn()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	h.exits.poll, h.exits.fd = f, fd
	h.carriers.Go(func() {
		_ = conn.Read(func(fd uintptr) (done bool) {
			for events := make([]unix.EpollEvent, 16); ; {
				n, err := unix.EpollWait(int(fd), events, 0)
				if errors.Is(err, unix.EINTR) {
					continue
				}
				if n <= 0 {
					return err != nil
				}
				h.in.noteExit()
				h.wakeUp()
			}
		})
	})
	return nil
}

// noteExit notes that an awaited process has ended.
func (b *inbox) noteExit() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exits = true
}

// shut lets go of all of them.
func (x *exits) shut() {
	if x.poll != nil {
		_ = x.poll.Close()
	}
	for by, all := range x.of {
		for t := range all {
			t.by = nil
			by.release()
		}
	}
	x.of = nil
}
