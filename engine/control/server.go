package control

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of a Server.
const (
	maxBody    = 64 << 10
	maxHeader  = 16 << 10
	maxConns   = 256 // connections at once; more wait in the kernel
	maxStreams = 64  // requests at once that last: events, waits, profiles

	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second // of a whole answer, or of each event of a stream
	idleTimeout  = time.Minute
	askTimeout   = 10 * time.Second // what the engine and the history may take for one answer
	endTimeout   = time.Second      // for the requests that go on when the context ends
)

// Options configure a Server. Engine, Recorder and History are required.
type Options struct {
	Engine   Engine
	Recorder *Recorder
	History  History      // that of the Recorder's Run
	Metrics  http.Handler // of GET /v1/metrics; without it the answer is 404
	Logger   *slog.Logger // discards when nil
	Version  string
	StateDir string
}

// Server answers the API. Make it with NewServer.
type Server struct {
	opt     Options
	routes  []route
	streams chan struct{} // holds a token for each stream
	wait    time.Duration // between the signs of life of a stream
	slow    time.Duration // how long a client may take for an answer, or an event of a stream
}

// heartbeat is how often a stream on which nothing happens says that it lives.
const heartbeat = 15 * time.Second

// NewServer checks the options. It starts nothing.
func NewServer(o Options) (*Server, error) {
	if o.Engine == nil || o.Recorder == nil || o.History == nil {
		return nil, errors.New("control: Engine, Recorder and History are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opt: o, streams: make(chan struct{}, maxStreams), wait: heartbeat, slow: writeTimeout}
	s.routes = s.table()
	return s, nil
}

// Serve answers on l until ctx ends, and then closes it. It returns when every
// request is over and every connection closed: nil, or why l could not go on.
// Only peers that l allows are answered, where l is from Listen.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var open conns
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.opt.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return withPeer(ctx, l, c) },
		ConnState:         open.note,
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = srv.Shutdown(ctx) // ctx is over: it waits for nothing
	})
	err := srv.Serve(&limited{Listener: l, free: make(chan struct{}, maxConns)})
	if stop() { // it ended by itself
		_ = srv.Close()
	} else {
		<-ended
	}
	late := time.AfterFunc(endTimeout, func() { _ = srv.Close() })
	defer late.Stop()
	open.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

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

// limited accepts only so many connections at once.
type limited struct {
	net.Listener
	free chan struct{} // holds a token for each connection
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, free: l.free}, nil
}

type limitedConn struct {
	net.Conn
	once sync.Once
	free chan struct{}
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.once.Do(func() { <-c.free })
	return c.Conn.Close()
}
