package httpd

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// conns waits for the goroutines of connections.
type conns struct{ sync.WaitGroup }

func (c *conns) note(_ net.Conn, st http.ConnState) {
	switch st {
	case http.StateNew:
		c.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.Done()
	default:
	}
}

// limited accepts only so many connections at once. When all places are taken, a new connection
// takes the place of the connection that has been silent for longest. So silent clients, even a
// thousand, keep no other client out.
type limited struct {
	net.Listener
	free  chan struct{} // holds a token for each connection
	done  chan struct{} // closed with the listener
	clock clock.Clock
	once  sync.Once

	mu    sync.Mutex
	quiet list.List // the *limitedConn that ask nothing, the longest quiet first
}

func newLimited(l net.Listener, most int, clock clock.Clock) *limited {
	return &limited{Listener: l, free: make(chan struct{}, most), done: make(chan struct{}), clock: clock}
}

// quietGrace is how long a connection may ask nothing before another one takes its place.
const quietGrace = 150 * time.Millisecond

// Accept implements net.Listener. It holds at most one connection beyond the limit,
// until it has a place.
func (l *limited) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	for {
		select {
		case l.free <- struct{}{}:
			return l.admit(c), nil
		default:
		}
		again, stop := clock.After(l.clock, l.makeRoom())
		select {
		case l.free <- struct{}{}:
			stop()
			return l.admit(c), nil
		case <-again:
		case <-l.done:
			stop()
			return nil, errors.Join(net.ErrClosed, c.Close())
		}
	}
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

func (l *limited) admit(c net.Conn) *limitedConn {
	lc := &limitedConn{Conn: c, of: l}
	lc.rest()
	return lc
}

// makeRoom cuts the connection that has been quiet for longest, or returns how long that
// one has left.
func (l *limited) makeRoom() time.Duration {
	l.mu.Lock()
	first := l.quiet.Front()
	if first == nil {
		l.mu.Unlock()
		return quietGrace
	}
	c := first.Value.(*limitedConn)
	left := quietGrace - l.clock.Now().Sub(c.since)
	heard := left <= 0 && c.unheard()
	if heard {
		c.since = l.clock.Now()
		l.quiet.MoveToBack(first)
	}
	l.mu.Unlock()
	if left <= 0 && !heard {
		_ = c.Close()
	}
	return max(left, 0)
}

// unheard reports whether the peer has sent bytes that are unread, and has taken all that was written: we are slow
// then, and not the peer. A peer that asks on and reads no answer holds us up.
func (c *limitedConn) unheard() bool {
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	unread, untaken := 0, 0
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			unread, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
			untaken, _ = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
		})
	}
	return err == nil && unread > 0 && untaken == 0
}

// limitedConn is a connection that has a place.
type limitedConn struct {
	net.Conn
	of   *limited
	once sync.Once

	// With mu of limited:
	since time.Time     // of its silence
	quiet *list.Element // nil while it is asking
	gone  bool
}

// rest notes that nothing is asked any more.
func (c *limitedConn) rest() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.gone && c.quiet == nil {
		c.since, c.quiet = c.of.clock.Now(), c.of.quiet.PushBack(c)
	}
}

// ask notes that a request has come.
func (c *limitedConn) ask() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.leave()
}

// leave takes it from the quiet ones, with mu held.
func (c *limitedConn) leave() {
	if c.quiet != nil {
		c.of.quiet.Remove(c.quiet)
		c.quiet = nil
	}
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.once.Do(func() {
		c.of.mu.Lock()
		c.leave()
		c.gone = true
		c.of.mu.Unlock()
		<-c.of.free
	})
	return c.Conn.Close()
}

// holders are the open connections of callers with a certificate that have asked something.
type holders struct {
	mu   sync.Mutex
	list map[net.Conn]Peer
}

// note notes who asks over the connection of a request.
func (h *holders) note(ctx context.Context, p Peer) {
	c, ok := ctx.Value(connKey{}).(net.Conn)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == nil {
		h.list = map[net.Conn]Peer{}
	}
	h.list[c] = p
}

func (h *holders) forget(c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.list, c)
}

func (h *holders) all() map[net.Conn]Peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.list)
}

type connKey struct{}

// withConn notes over which connection requests come.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// markBusy notes that the connection of a request asks, until the returned function is called.
func markBusy(ctx context.Context) (done func()) {
	conn := ctx.Value(connKey{})
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	c, ok := conn.(*limitedConn)
	if !ok {
		return func() {}
	}
	c.ask()
	return c.rest
}
