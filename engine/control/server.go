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
	maxConns   = 256 // connections at once; one more takes the place of a quiet one
	maxStreams = 64  // requests at once that last: events, waits, profiles

	headTimeout  = 2 * time.Second  // of the head of a request
	readTimeout  = 10 * time.Second // of a whole request
	writeTimeout = 30 * time.Second // of a whole answer, or of each event of a stream
	idleTimeout  = 5 * time.Second  // between two requests of a connection
	askTimeout   = 10 * time.Second // what the engine and the history may take for one answer
	endTimeout   = time.Second      // for the requests that go on when the context ends
)

// Options configure a Server. Engine, Recorder and History are required.
type Options struct {
	Engine   Engine
	Recorder *Recorder
	History  History      // that of the Recorder's Run
	Metrics  http.Handler // of GET /v1/metrics; without it the answer is 404
	Graphs   Graphs       // of POST /v1/reload and /v1/apply; without it the answer is 404
	Logger   *slog.Logger // discards when nil
	Version  string
	StateDir string
}

// Server answers the API. Make it with NewServer.
type Server struct {
	opt     Options
	routes  []route
	refused refusals
	streams chan struct{} // holds a token for each stream
	wait    time.Duration // between the signs of life of a stream
	slow    time.Duration // how long a client may take for an answer, or an event of a stream
	look    time.Duration // how often to look whether the socket is still there
}

// heartbeat is how often a stream on which nothing happens says that it lives.
const heartbeat = 15 * time.Second

// lookEvery is how often a Server looks whether its socket is still there.
const lookEvery = 3 * time.Second

// NewServer checks the options. It starts nothing.
func NewServer(o Options) (*Server, error) {
	if o.Engine == nil || o.Recorder == nil || o.History == nil {
		return nil, errors.New("control: Engine, Recorder and History are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opt: o, streams: make(chan struct{}, max(Connections(2*maxStreams)/2, 1)), wait: heartbeat, slow: writeTimeout, look: lookEvery}
	s.routes = s.table()
	return s, nil
}

// Serve answers on l until ctx ends, and then closes it. It returns when every
// request is over and every connection closed: nil, or why l could not go on.
// Only peers that l allows are answered, where l is from Listen; and a socket that
// somebody has removed meanwhile is made again.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var open conns
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.opt.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return withPeer(ctx, l, c) },
		ConnState:         open.note,
	}
	if sock, ok := l.(*Listener); ok {
		defer s.keep(ctx, sock)()
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = srv.Shutdown(ctx) // ctx is over: it waits for nothing
	})
	err := Serve(srv, l, Connections(maxConns))
	s.refused.end(s.opt.Logger)
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

// keep looks after the socket until the returned function is called.
func (s *Server) keep(ctx context.Context, l *Listener) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { l.keep(ctx, s.look, s.opt.Logger) })
	return func() {
		cancel()
		wg.Wait()
	}
}
