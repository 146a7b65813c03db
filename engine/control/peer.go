package control

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// peer is who is at the other end of a connection.
type peer struct {
	uid     uint32
	pid     int32
	allowed bool
	err     error // why it is not known
}

func (p peer) String() string {
	if p.err != nil {
		return fmt.Sprintf("somebody unknown (%v)", p.err)
	}
	return fmt.Sprintf("uid %d (pid %d)", p.uid, p.pid)
}

type peerKey struct{}

// peerOf returns who asks, where that came over a socket of Listen.
func peerOf(ctx context.Context) (peer, bool) {
	p, ok := ctx.Value(peerKey{}).(peer)
	return p, ok
}

// withPeer notes who is at the other end of c, if l is from Listen.
func withPeer(ctx context.Context, l net.Listener, c net.Conn) context.Context {
	sock, ok := l.(*Listener)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, sock.examine(c))
}

// examine asks the kernel who is at the other end, and decides. A member of the
// group that the socket has now may use it.
func (l *Listener) examine(c net.Conn) peer {
	if lc, ok := c.(*limitedConn); ok {
		c = lc.Conn
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return peer{err: fmt.Errorf("no unix socket but %T", c)}
	}
	var p peer
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { p = l.decide(int(fd)) })
	}
	if err != nil {
		return peer{err: err}
	}
	return p
}

func (l *Listener) decide(fd int) peer {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{err: err}
	}
	group, err := l.group()
	groups := append(unix.PeerGroups(fd), cred.Gid)
	return peer{
		uid: cred.Uid, pid: cred.Pid,
		allowed: cred.Uid == 0 || cred.Uid == uint32(os.Geteuid()) || err == nil && slices.Contains(groups, group),
	}
}

// group returns the group of the socket, which somebody may have changed since
// it was made.
func (l *Listener) group() (uint32, error) {
	var st unix.Stat_t
	if err := unix.Lstat(l.path, &st); err != nil {
		return 0, err
	}
	return st.Gid, nil
}
