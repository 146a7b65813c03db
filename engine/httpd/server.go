package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// Server answers the requests of a Table. Its exported fields are not altered after
// its first use, and all of them but Table may stay empty. It may serve several
// listeners at once, and be an http.Handler too.
type Server struct {
	Table  *Table
	Limits Limits
	Admit  func(Peer, *Route) error // refuses a known caller that may not use a route; nil for none. Recheck asks without a route
	// Before looks at each request before its route is looked up, and returns it, perhaps with another context; its error is the answer. It may
	// set headers of the answer. nil lets all requests through.
	Before func(http.ResponseWriter, *http.Request) (*http.Request, error)
	Errors func(error) *Problem // makes the answer to a client from an error; AsProblem where it is nil
	Logger *slog.Logger         // discards when nil
	Clock  clock.Clock          // of time spans; nil for that of the machine

	once    sync.Once
	slots   chan struct{} // holds a token for each request that lasts
	refused refusals

	holders holders
}

// Recheck asks Admit again about the holder of each certificate that has asked something over an open connection, and cuts the
// connections of those that it refuses, with all that lasts on them. A caller says when the answer may be another one.
func (s *Server) Recheck() {
	if s.Admit == nil {
		return
	}
	for c, p := range s.holders.all() {
		if s.Admit(p, nil) != nil {
			_ = c.Close()
		}
	}
}

// init sets the defaults of empty fields.
func (s *Server) init() {
	s.once.Do(func() {
		s.Limits = s.Limits.or()
		s.Clock = clock.Or(s.Clock)
		s.slots = make(chan struct{}, lasting(s.Limits.Lasting))
		if s.Logger == nil {
			s.Logger = slog.New(slog.DiscardHandler)
		}
		if s.Errors == nil {
			s.Errors = AsProblem
		}
	})
}

// Lasting returns how many requests last at this moment.
func (s *Server) Lasting() int {
	s.init()
	return len(s.slots)
}

// Serve answers on l until ctx ends, and then closes it. It returns when every request is over and
// every connection closed: nil, or why l could not go on. A listener of ListenTLS is encrypted
// here; a socket of Listen that was removed meanwhile is made again.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.init()
	var open conns
	srv := s.server(ctx, l, &open)
	if sock, ok := l.(*Socket); ok {
		defer s.keep(ctx, sock)()
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = srv.Shutdown(ctx) // ctx is over: it waits for nothing
	})
	err := srv.Serve(s.encrypted(l))
	s.refused.end(s.Logger)
	if stop() { // it ended by itself
		_ = srv.Close()
	} else {
		<-ended
	}
	late := s.Clock.AfterFunc(s.Limits.End, func() { _ = srv.Close() })
	defer late()
	open.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// server returns the http.Server that answers on l.
func (s *Server) server(ctx context.Context, l net.Listener, open *conns) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer markBusy(r.Context())()
			s.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: s.Limits.Head,
		ReadTimeout:       s.Limits.Read,
		IdleTimeout:       s.Limits.Idle,
		MaxHeaderBytes:    s.Limits.Header,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return withConn(withPeer(ctx, l, c), c)
		},
		ConnState: func(c net.Conn, st http.ConnState) {
			if st == http.StateClosed || st == http.StateHijacked {
				s.holders.forget(c)
			}
			open.note(c, st)
		},
		DisableGeneralOptionsHandler: true,
	}
}

// encrypted limits the connections of l, and encrypts those of a TLS listener. It knows
// that one by its method, so that a program without it links no server of TLS.
func (s *Server) encrypted(l net.Listener) net.Listener {
	limited := newLimited(l, Connections(s.Limits.Connections), s.Clock)
	type encrypting interface {
		encrypt(net.Listener) net.Listener
	}
	if t, ok := l.(encrypting); ok {
		return t.encrypt(limited)
	}
	return limited
}

// keep looks after the socket until the returned function is called.
func (s *Server) keep(ctx context.Context, l *Socket) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { l.keep(ctx, s.Limits.Look, s.Logger) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// ServeHTTP implements http.Handler. A request that comes over no connection of Serve
// is asked by a program that has its reasons: it is admitted.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.init()
	w := &writer{ResponseWriter: rw}
	s.Patience(w) // a refusal is an answer, too
	defer s.guard(w, r)
	if p, ok := PeerOf(r.Context()); ok && r.TLS != nil {
		p = p.certified(r.TLS)
		s.holders.note(r.Context(), p)
		r = r.WithContext(context.WithValue(r.Context(), peerKey{}, p))
	}
	var err error
	if s.Before != nil {
		r, err = s.Before(w, r)
	}
	var answer any
	if err == nil {
		answer, err = s.answer(w, r)
	}
	if err == nil {
		err = s.reply(w, r, answer)
	}
	if err != nil {
		s.fail(w, err)
	}
}

// answer finds the route, and has it answer.
func (s *Server) answer(w *writer, r *http.Request) (any, error) {
	rt, err := s.Table.route(r)
	if refused := s.admit(r, rt); refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	if rt.Lasting != nil && rt.Lasting(r.URL.Query()) {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			return nil, NewProblem(http.StatusServiceUnavailable, "too many requests wait for something").WithHint("end some of them")
		}
	} else {
		ctx, cancel := clock.WithTimeout(r.Context(), s.Clock, s.Limits.Answer, nil)
		defer cancel()
		r = r.WithContext(ctx)
	}
	if err := rt.checkBody(r); err != nil {
		return nil, err
	}
	most := rt.most(s.Limits.Body)
	if r.ContentLength > most { // a caller that waits for 100 need not send it
		return nil, tooLarge(most)
	}
	r.Body = http.MaxBytesReader(w.ResponseWriter, r.Body, most)
	return rt.Serve(w, r)
}

// Patience gives a client the time of Limits.Slow from now on to take the written bytes. A handler
// that has waited calls it before it writes.
func (s *Server) Patience(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(s.Clock.Now().Add(s.Limits.Slow)) // a recorder of tests has none
}

// admit refuses a caller that may not ask. The route is nil where there is none.
func (s *Server) admit(r *http.Request, rt *Route) error {
	p, ok := PeerOf(r.Context())
	if !ok || rt != nil && rt.Public || rt == nil && s.Table.public {
		return nil
	}
	if p.allowed && (s.Admit == nil || rt == nil) {
		return nil
	}
	if p.allowed {
		return s.Admit(p, rt)
	}
	if n, tell := s.refused.add(s.Clock.Now()); tell {
		s.Logger.Warn("a request over the socket was refused", slog.String("peer", p.String()), slog.String("path", r.URL.Path), slog.Int("others", n))
	}
	if !p.Local {
		return NewProblem(http.StatusForbidden, "%s may not ask this here", p).WithHint("ask over the socket, or with a certificate")
	}
	return NewProblem(http.StatusForbidden, "%s may not use this socket", p).
		WithHint("ask as root, as the user that mgmt runs as, or as a member of the group of the socket")
}

// guard turns a panic of a handler into an answer.
func (s *Server) guard(w *writer, r *http.Request) {
	switch x := recover(); x {
	case nil:
	case http.ErrAbortHandler:
		panic(x)
	default:
		s.Logger.Error("a request has caused a panic", slog.String("path", r.URL.Path), slog.Any("panic", x), slog.String("stack", string(debug.Stack())))
		s.fail(w, NewProblem(http.StatusInternalServerError, "this request has met a fault of the program").WithHint("the log says more"))
	}
}
