package host

import (
	"errors"
	"os"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// kernelFacts is a file that becomes readable when the kernel has another hostname or
// its links have other addresses: an epoll of both, which the runtime can wait for
// without a thread. (It cannot wait for the hostname itself, whose file is always readable and
// tells of a change by an error.)
type kernelFacts struct {
	file             *os.File
	hostname, routes int // the descriptors in it
}

// openKernelFacts opens the two sources and the epoll over them. The caller closes the result. On an error nothing stays open.
func openKernelFacts() (k *kernelFacts, err error) {
	k = &kernelFacts{hostname: -1, routes: -1}
	epoll := -1
	defer func() {
		if err != nil {
			closeAll(k.hostname, k.routes, epoll)
		}
	}()
	if k.hostname, err = unix.Open("/proc/sys/kernel/hostname", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	if k.routes, err = openAddressEvents(); err != nil {
		return nil, err
	}
	if epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	for fd, events := range map[int]uint32{k.hostname: unix.EPOLLPRI, k.routes: unix.EPOLLIN} {
		e := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: int32(fd)}
		if err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
			return nil, os.NewSyscallError("epoll_ctl", err)
		}
	}
	if err = unix.SetNonblock(epoll, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	k.file = os.NewFile(uintptr(epoll), "epoll of facts")
	return k, nil
}

// openAddressEvents opens a socket on which the kernel tells of each address that comes
// or goes.
func openAddressEvents() (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR}); err != nil {
		closeAll(fd)
		return -1, os.NewSyscallError("bind", err)
	}
	return fd, nil
}

func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// follow calls tell at once and after each change, until close is called. The contents of events,
// and the loss of some, do not matter: the receiver looks at everything. The first reader takes a
// change of the hostname, and that may be the runtime; so only the wake-up counts.
func (k *kernelFacts) follow(tell func()) {
	defer closeAll(k.hostname, k.routes)
	conn, err := k.file.SyscallConn()
	if err != nil {
		return // closed already
	}
	_ = conn.Read(func(epoll uintptr) (done bool) {
		k.drain(int(epoll))
		tell()
		return false
	})
}

// drain takes all that there is, so that the next event wakes again.
func (k *kernelFacts) drain(epoll int) {
	var events [2]unix.EpollEvent
	for {
		n, err := unix.EpollWait(epoll, events[:], 0)
		if err == nil && n == 0 || err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	k.empty()
}

// empty takes the messages of the socket, which else would stand in the way of new ones.
func (k *kernelFacts) empty() {
	var buf [4096]byte
	for {
		_, _, err := unix.Recvfrom(k.routes, buf[:], 0)
		if err != nil && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (k *kernelFacts) close() { _ = k.file.Close() }
