package provider

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/reactivegraph/mgmt/provider/protocol"
)

// The variables of the environment that tell a provider how it was started.
const (
	// EnvListen names a socket, unix:PATH, on which the provider waits for mgmt. An author sets it to run the provider in
	// a debugger, and gives mgmt MGMT_ATTACH_PROVIDERS=NAME=unix:PATH.
	EnvListen = "MGMT_PLUGIN_LISTEN"
	// EnvToken has the text by which mgmt shows that it has started the provider.
	EnvToken = "MGMT_PLUGIN_TOKEN"
	// EnvSocket has the path of the socket on which a provider of the transport grpc listens; see package overgrpc.
	EnvSocket = "MGMT_PLUGIN_SOCKET"
	// EnvProtocols has the versions of the protocol that mgmt speaks, as 1-1.
	EnvProtocols = "MGMT_PLUGIN_PROTOCOLS"
)

// lineDescriptor is the number of the descriptor on which mgmt speaks.
const lineDescriptor = 3

// Serve answers mgmt until the standard input ends, the connection does, or ctx does. The error names the faults of the
// Provider, or of the way in which it was started. It is called once, in main.
func Serve(ctx context.Context, p *Provider) error {
	s, err := newServer(p)
	if err != nil {
		return err
	}
	if at := os.Getenv(EnvListen); at != "" {
		return s.listen(ctx, at)
	}
	if os.Getenv(EnvSocket) != "" {
		return errors.New("the descriptor of this provider has transport: grpc, and the program speaks lines; " +
			"it speaks both where its main calls overgrpc.Serve")
	}
	conn, err := inherited()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	return s.serve(ctx, conn)
}

// inherited returns the connection that mgmt has made.
func inherited() (net.Conn, error) {
	f := os.NewFile(lineDescriptor, "mgmt")
	if f == nil {
		return nil, errNotStarted
	}
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, errNotStarted
	}
	return conn, nil
}

var errNotStarted = errors.New("this program is a provider, which mgmt starts: put a descriptor of it into the folder of " +
	"--plugins, or try it with: mgmt plugin test PROGRAM")

// listen serves each connection to a socket.
func (s *server) listen(ctx context.Context, at string) error {
	if len(at) <= 5 || at[:5] != "unix:" {
		return fmt.Errorf("%s is %q, and should be unix:PATH", EnvListen, at)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", at[5:])
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	if err := os.Chmod(at[5:], 0o600); err != nil { // the secrets of a graph come through it
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		all.Go(func() { _ = s.serve(ctx, conn) })
	}
}

// ServeConn answers on one connection until it ends, or ctx does. Tests call it, with a net.Pipe.
func ServeConn(ctx context.Context, p *Provider, conn io.ReadWriteCloser) error {
	s, err := newServer(p)
	if err != nil {
		return err
	}
	return s.serve(ctx, conn)
}

// Handler answers single questions, for a transport that is not that of Serve.
type Handler struct{ server *server }

// NewHandler checks a Provider against its schema. The error joins all that is wrong.
func NewHandler(p *Provider) (*Handler, error) {
	s, err := newServer(p)
	if err != nil {
		return nil, err
	}
	return &Handler{s}, nil
}

// Answer answers one question of the protocol, with params and result as JSON. Each news of a watch goes to event, on any
// goroutine. It returns when the question is answered, or soon after ctx has ended. Many goroutines may call it.
func (h *Handler) Answer(ctx context.Context, method string, params json.RawMessage, event func(kind string)) (json.RawMessage, *protocol.Error) {
	result, err := h.server.do(ctx, method, params, event)
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	return result, nil
}

// IsAllowed reports whether a text is the token with which mgmt has started this program. It takes the same time for each text.
func (h *Handler) IsAllowed(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(h.server.token)) == 1
}

// serve reads the questions of one connection, and answers each on a goroutine that has no other one. A goroutine takes the next
// question that finds it free: the stack of a new one would have to grow each time.
func (s *server) serve(ctx context.Context, conn io.ReadWriteCloser) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	l := &line{server: s, lines: protocol.NewLines(conn), running: map[uint64]context.CancelFunc{}}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var all sync.WaitGroup
	defer all.Wait()
	free := make(chan func())
	defer close(free)
	defer end()
	for {
		m, err := l.lines.Read()
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Cancel != 0:
			l.cancel(m.Cancel)
		case m.Method != "":
			call, done := l.begin(ctx, m.ID)
			work := func() {
				defer done()
				l.answer(call, m)
			}
			select {
			case free <- work:
			default:
				all.Go(func() {
					work()
					for next := range free {
						next()
					}
				})
			}
		}
	}
}

// line is one connection.
type line struct {
	*server
	lines   *protocol.Lines
	mu      sync.Mutex
	running map[uint64]context.CancelFunc
}

// begin returns the context of a call, and the function that ends it.
func (l *line) begin(ctx context.Context, id uint64) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[id] = cancel
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, id)
	}
}

func (l *line) cancel(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel := l.running[id]; cancel != nil {
		cancel()
	}
}

// answer answers one question.
func (l *line) answer(ctx context.Context, m *protocol.Message) {
	event := func(kind string) {
		_ = l.lines.Write(&protocol.Message{ID: m.ID, Event: &protocol.WatchEvent{Type: kind}})
	}
	result, err := l.do(ctx, m.Method, m.Params, event)
	reply := &protocol.Message{ID: m.ID, Result: result}
	if err != nil {
		reply.Result, reply.Error = nil, errorOf(ctx, err)
	}
	if err := l.lines.Write(reply); errors.Is(err, protocol.ErrTooLong) {
		_ = l.lines.Write(&protocol.Message{ID: m.ID, Error: protocol.Errorf(protocol.CodeInternal, "the answer is too long: %v", err)})
	}
}

// errorOf returns an error as the protocol has it.
func errorOf(ctx context.Context, err error) *protocol.Error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return protocol.Errorf(protocol.CodeCanceled, "%v", err)
	}
	return protocol.Errorf(protocol.CodeInternal, "%v", err)
}
