package control

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

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

// limited accepts only so many connections at once. When all places are taken, a new
// connection takes that of the one that has asked nothing for longest, so that whoever
// connects and keeps silent, a thousand times even, keeps nobody else out.
type limited struct {
	net.Listener
	free chan struct{} // holds a token for each connection
	done chan struct{} // closed with the listener
	once sync.Once

	mu    sync.Mutex
	quiet list.List // the *limitedConn that ask nothing, the longest quiet first
}

func newLimited(l net.Listener, most int) *limited {
	return &limited{Listener: l, free: make(chan struct{}, most), done: make(chan struct{})}
}

// Serve has srv serve on l with at most so many connections at once. One more takes the place
// of the one that has asked nothing for longest. It sets Handler and ConnContext of srv, and
// returns as srv.Serve does; who ends srv closes the connections.
func Serve(srv *http.Server, l net.Listener, most int) error {
	handler, conn := srv.Handler, srv.ConnContext
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer asking(r.Context())()
		handler.ServeHTTP(w, r)
	})
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if conn != nil {
			ctx = conn(ctx, c)
		}
		return withConn(ctx, c)
	}
	return srv.Serve(newLimited(l, most))
}

// Connections returns how many connections a listener should take at once: at most so many, and
// no more than an eighth of the files that the process may open. The rest is for resources, whose
// files and commands must not fail because somebody connects.
func Connections(most int) int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur/8 >= uint64(most) {
		return most
	}
	return max(int(l.Cur/8), 2)
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
		again := time.NewTimer(l.makeRoom())
		select {
		case l.free <- struct{}{}:
			again.Stop()
			return l.admit(c), nil
		case <-again.C:
		case <-l.done:
			again.Stop()
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
	left := quietGrace - time.Since(c.since)
	heard := left <= 0 && c.pending()
	if heard {
		c.since = time.Now()
		l.quiet.MoveToBack(first)
	}
	l.mu.Unlock()
	if left <= 0 && !heard {
		_ = c.Close()
	}
	return max(left, 0)
}

// pending reports whether something was sent that nobody has read yet: we are slow then,
// and not the peer.
func (c *limitedConn) pending() bool {
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	n := 0
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return err == nil && n > 0
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
		c.since, c.quiet = time.Now(), c.of.quiet.PushBack(c)
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

type connKey struct{}

// withConn notes over which connection requests come.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// asking notes that the connection of a request asks, until the returned function is called.
func asking(ctx context.Context) (done func()) {
	c, ok := ctx.Value(connKey{}).(*limitedConn)
	if !ok {
		return func() {}
	}
	c.ask()
	return c.rest
}
