//go:build !small

package plugin

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/reactivegraph/mgmt/provider/protocol"
	"github.com/reactivegraph/mgmt/provider/protocol/protobuf"
)

// remote is a Conn of gRPC. It never connects a second time: the end of the stream below it is the end of the Conn.
type remote struct {
	client *grpc.ClientConn
	token  string
	log    func(*protocol.LogLine)
	ctx    context.Context // of the stream of logs; ends with the Conn
	cancel context.CancelFunc
	logs   sync.Once // begins the stream of logs
	all    sync.WaitGroup
	done   chan struct{}

	mu  sync.Mutex
	err error // set when done is closed
}

// newRemote begins a connection, which ends with the stream.
func newRemote(stream net.Conn, token string, log func(*protocol.LogLine)) (Conn, error) {
	c := &remote{token: token, log: log, done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background()) // until end
	only := make(chan net.Conn, 1)
	only <- &heard{Conn: stream, end: c.end}
	client, err := grpc.NewClient("passthrough:///provider",
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			select {
			case conn := <-only:
				return conn, nil
			default:
				return nil, io.ErrClosedPipe
			}
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(), grpc.WithIdleTimeout(0), grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(), grpc.WithAuthority("localhost"),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(messageCodec{}), grpc.WaitForReady(false),
			grpc.MaxCallRecvMsgSize(protocol.MaxMessage), grpc.MaxCallSendMsgSize(protocol.MaxMessage)))
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.client = client
	client.Connect()
	return c, nil
}

// heard is the stream below a remote, which tells its end. gRPC reads all the time, so an end is heard at once.
type heard struct {
	net.Conn
	end func(error)
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if err != nil {
		h.end(err)
	}
	return n, err
}

func (h *heard) Close() error {
	err := h.Conn.Close()
	h.end(io.EOF)
	return err
}

// end notes the end once.
func (c *remote) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.cancel()
}

// Done implements Conn.
func (c *remote) Done() <-chan struct{} { return c.done }

// Err implements Conn.
func (c *remote) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements Conn.
func (c *remote) Close() error {
	c.end(io.EOF)
	err := c.client.Close()
	c.all.Wait()
	return err
}

// sign adds the token to a call.
func (c *remote) sign(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, protocol.TokenHeader, c.token)
}

// Call implements Conn.
func (c *remote) Call(ctx context.Context, method string, params, reply any) error {
	if reply == nil {
		reply = &protocol.Empty{}
	}
	if err := c.ended(); err != nil {
		return err
	}
	var trailer metadata.MD
	err := c.client.Invoke(c.sign(ctx), protocol.MethodOf(method), params, reply, grpc.Trailer(&trailer))
	if err != nil {
		return c.failure(ctx, err, trailer)
	}
	if method == protocol.MethodHandshake { // no call precedes it
		c.logs.Do(func() { c.all.Go(c.hear) })
	}
	return nil
}

// ended returns a GoneError after the end.
func (c *remote) ended() error {
	select {
	case <-c.done:
		return &GoneError{c.Err()}
	default:
		return nil
	}
}

// stream begins a call that answers with a stream.
func (c *remote) stream(ctx context.Context, method string, params any) (grpc.ClientStream, error) {
	s, err := c.client.NewStream(c.sign(ctx), &grpc.StreamDesc{ServerStreams: true}, protocol.MethodOf(method))
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(params); err != nil && !errors.Is(err, io.EOF) { // RecvMsg has the reason of an EOF
		return nil, err
	}
	return s, s.CloseSend()
}

// Watch implements Conn.
func (c *remote) Watch(ctx context.Context, r *protocol.WatchRequest, event func(kind string)) error {
	ctx, cancel := context.WithCancel(ctx) // every way out ends the stream
	defer cancel()
	if err := c.ended(); err != nil {
		return err
	}
	s, err := c.stream(ctx, protocol.MethodWatch, r)
	if err != nil {
		return c.failure(ctx, err, nil)
	}
	for {
		var e protocol.WatchEvent
		err := s.RecvMsg(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return c.failure(ctx, err, s.Trailer())
		}
		event(e.Type)
	}
}

// hear logs the lines of the provider until the Conn ends. A provider without such a stream is none the worse.
func (c *remote) hear() {
	s, err := c.stream(c.ctx, protocol.MethodLogs, &protocol.LogsRequest{})
	if err != nil {
		return
	}
	for {
		var l protocol.LogLine
		if err := s.RecvMsg(&l); err != nil {
			return
		}
		c.log(&l)
	}
}

// An end of the transport has the status Unavailable, as has a provider that misses something. Only the provider's own error
// leaves the connection ready.
//
// failure returns an error of a call as Conn has it.
func (c *remote) failure(ctx context.Context, err error, trailer metadata.MD) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if texts := trailer.Get(protocol.ErrorTrailer); len(texts) > 0 {
		e := &protocol.Error{}
		if err := protobuf.Unmarshal([]byte(texts[0]), e); err == nil && e.Code != "" {
			return e
		}
	}
	s, _ := status.FromError(err)
	if s.Code() == codes.Unavailable && c.client.GetState() != connectivity.Ready {
		c.end(errors.New(s.Message()))
	}
	if err := c.ended(); err != nil {
		return err
	}
	return protocol.Errorf(protocol.CodeOf(uint32(s.Code())), "%s", s.Message())
}

// messageCodec has gRPC send the structs of provider/protocol.
type messageCodec struct{}

// Name is the one of Protocol Buffers.
func (messageCodec) Name() string { return "proto" }

// Marshal returns a message.
func (messageCodec) Marshal(v any) ([]byte, error) { return protobuf.Marshal(v) }

// Unmarshal reads a message.
func (messageCodec) Unmarshal(b []byte, v any) error { return protobuf.Unmarshal(b, v) }
