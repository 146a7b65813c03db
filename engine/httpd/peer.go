package httpd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Peer is the caller of a request: a process of this machine, the holder of a certificate, or
// unknown.
type Peer struct {
	UID, GID uint32 // of a process, as it was when it connected
	PID      int32  // of a process; 0 for none
	Local    bool   // it came over a unix socket

	Cert *x509.Certificate // which the CA of the listener has signed; nil for none
	Addr string            // from where, over TCP
	Name string            // by which a server in front has identified a person; see As

	groups  []uint32 // of a process, besides GID
	allowed bool
	err     error // why it is not known
}

// String names the caller for a log or an error.
func (p Peer) String() string {
	switch {
	case p.err != nil:
		return fmt.Sprintf("an unknown caller (%v)", p.err)
	case p.Name != "":
		return p.Name
	case p.Cert != nil:
		return fmt.Sprintf("%q (%s)", p.Cert.Subject.String(), p.Addr)
	case p.Local:
		return fmt.Sprintf("uid %d (pid %d)", p.UID, p.PID)
	default:
		return "a caller at " + p.Addr
	}
}

// Owner reports whether the caller is root, or the user of this process.
func (p Peer) Owner() bool {
	return p.Local && p.err == nil && (p.UID == 0 || p.UID == uint32(os.Geteuid()))
}

// In reports whether the caller was in a group when it connected.
func (p Peer) In(gid uint32) bool {
	return p.Local && p.err == nil && (p.GID == gid || slices.Contains(p.groups, gid))
}

type peerKey struct{}

// PeerOf returns the caller of a request that Server.Serve has accepted. The second
// value is false for a request that came over no connection, as in a test.
func PeerOf(ctx context.Context) (Peer, bool) {
	p, ok := ctx.Value(peerKey{}).(Peer)
	return p, ok
}

// As returns the context of a request that a server in front has admitted, for a Server behind it in the same process: its Peer is the person
// with a name, who holds nothing of this machine. The server in front answers for what that person may ask.
func As(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, peerKey{}, Peer{Name: name, allowed: true})
}

// withPeer notes the other end of c, a connection of l, if l was made here. A
// certificate is known only after the handshake: see certified.
func withPeer(ctx context.Context, l net.Listener, c net.Conn) context.Context {
	switch l := l.(type) {
	case *Socket:
		return context.WithValue(ctx, peerKey{}, l.examine(c))
	case interface{ remote() }:
		return context.WithValue(ctx, peerKey{}, Peer{Addr: c.RemoteAddr().String()})
	default:
		return ctx
	}
}

// certified returns the peer with the certificate that the handshake has verified.
func (p Peer) certified(state *tls.ConnectionState) Peer {
	if state != nil && len(state.VerifiedChains) > 0 {
		p.Cert, p.allowed = state.PeerCertificates[0], true
	}
	return p
}

// examine asks the kernel for the other end, and decides. A member of the group that
// the socket has now may use it.
func (s *Socket) examine(c net.Conn) Peer {
	if lc, ok := c.(*limitedConn); ok {
		c = lc.Conn
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return Peer{Local: true, err: fmt.Errorf("no unix socket but %T", c)}
	}
	var p Peer
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { p = s.decide(int(fd)) })
	}
	if err != nil {
		return Peer{Local: true, err: err}
	}
	return p
}

func (s *Socket) decide(fd int) Peer {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{Local: true, err: err}
	}
	group, err := s.group()
	p := Peer{Local: true, UID: cred.Uid, GID: cred.Gid, PID: cred.Pid, groups: unix.PeerGroups(fd)}
	p.allowed = p.Owner() || err == nil && p.In(group)
	return p
}

// group returns the group of the socket, which may have changed since it was made.
func (s *Socket) group() (uint32, error) {
	var st unix.Stat_t
	if err := unix.Lstat(s.path, &st); err != nil {
		return 0, err
	}
	return st.Gid, nil
}
