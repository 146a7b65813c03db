//go:build !small

package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
)

type storedKV = mvccpb.KeyValue

// How often a call is tried at least. A read is tried for Options.Timeout, too: an election takes most of a second. A
// server without a leader has done nothing, so even a write asks the next one.
const (
	once       = 1
	repeatable = 3
)

// nextTry is the pause before a call asks the next server.
const nextTry = 50 * time.Millisecond

// call runs one request, again where that is safe, and returns the error of a World. Each attempt has its own time.
func (w *World) call(ctx context.Context, tries int, f func(context.Context, *clientv3.Client) error) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	begin := w.o.Clock.Now()
	for try := 1; ; try++ {
		err := w.attempt(ctx, f)
		switch {
		case err == nil:
			return nil
		case w.ctx.Err() != nil:
			return world.ErrClosed
		case ctx.Err() != nil:
			return ctx.Err()
		}
		early := w.o.Clock.Now().Sub(begin) < w.o.Timeout
		repeat := tries > once && (early || try < tries) || early && errors.Is(err, rpctypes.ErrNoLeader)
		if err = classify(err); !repeat || !errors.Is(err, world.ErrUnavailable) {
			return err
		}
		_ = w.pause(ctx, nextTry) // whose end by ctx the next attempt tells
	}
}

// attempt runs one request for as long as it may last.
func (w *World) attempt(ctx context.Context, f func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := clock.WithTimeout(clientv3.WithRequireLeader(ctx), w.o.Clock, w.o.Timeout, nil)
	defer cancel()
	c, err := w.connected(ctx)
	if err != nil {
		return err
	}
	err = w.signed(ctx, c, f)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("no answer within %s: %w", w.o.Timeout, cmp.Or(w.why(c), err))
}

// why returns the error of the connection, or nil where there is a connection. A call waits for a connection, and then
// tells that its time is over, and not what was wrong. The answer is known here, but for that of a server that hangs up: see verdict.
func (w *World) why(c *clientv3.Client) error {
	if c.ActiveConnection().GetState() != connectivity.TransientFailure {
		return nil
	}
	ctx, cancel := clock.WithTimeout(w.ctx, w.o.Clock, nextTry, nil)
	defer cancel()
	_, err := pb.NewMaintenanceClient(c.ActiveConnection()).Status(ctx, &pb.StatusRequest{}, grpc.WaitForReady(false))
	if status.Code(err) != codes.Unavailable {
		return nil
	}
	if w.config.TLS != nil && !aboutCertificate(err) {
		return cmp.Or(w.verdict(), err)
	}
	return err
}

// verdictTime is how long a server may take to tell what it thinks of a certificate.
const verdictTime = 500 * time.Millisecond

// verdict asks a server what it thinks of the certificate of this side, and returns that where it refuses the certificate. In TLS 1.3 a server
// tells it after the handshake. gRPC has written by then, so its connection often breaks before it has read the reason. Here nothing is written,
// and the first word of the server is the reason, or the beginning of HTTP/2.
func (w *World) verdict() error {
	ctx, cancel := clock.WithTimeout(w.ctx, w.o.Clock, verdictTime, nil)
	defer cancel()
	c := w.config.TLS.Clone()
	c.NextProtos = []string{"h2"}
	for _, e := range w.o.Endpoints {
		conn, err := (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", e)
		if err == nil {
			ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
			_, err = conn.Read(make([]byte, 1))
			ended()
			_ = conn.Close() // it was only listened to
		}
		if err != nil && aboutCertificate(err) {
			return err
		}
	}
	return nil
}

// Probe asks the cluster once, by a read of a key. It returns nil where the cluster is there and lets this user read the key, and
// else an error of a class. A program calls it at its start: unlike other calls it does not wait for servers that refuse
// connections. It blocks for twice Options.Timeout at most.
func (w *World) Probe(ctx context.Context, key string) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	if err := w.met(ctx); err != nil {
		return classify(err)
	}
	return classify(w.attempt(ctx, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Get(ctx, w.o.Prefix+key, clientv3.WithCountOnly())
		return err
	}))
}

// met returns nil where there is a connection, and the error of the last attempt to get one.
func (w *World) met(ctx context.Context) error {
	ctx, cancel := clock.WithTimeout(ctx, w.o.Clock, w.o.Timeout, nil)
	defer cancel()
	c, err := w.connected(ctx)
	if err != nil {
		return err
	}
	conn := c.ActiveConnection()
	conn.Connect()
	for {
		switch state := conn.GetState(); state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure:
			return cmp.Or(w.why(c), error(context.DeadlineExceeded))
		default:
			if !conn.WaitForStateChange(ctx, state) {
				return ctx.Err()
			}
		}
	}
}

// ready returns why a call cannot be served.
func (w *World) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.ctx.Err() != nil {
		return world.ErrClosed
	}
	return nil
}

// connected returns the client, which the first call makes. The goroutine that makes it has the token; the others wait
// for it.
func (w *World) connected(ctx context.Context) (*clientv3.Client, error) {
	select {
	case w.connecting <- struct{}{}:
		defer func() { <-w.connecting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := w.ctx.Err(); err != nil || w.client != nil {
		return w.client, err
	}
	c, err := clientv3.New(w.config)
	if err != nil {
		return nil, err
	}
	w.client = c
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.owned.Go(w.refresh)
	}
	return c, nil
}

// classify gives an error of etcd its class.
func classify(err error) error {
	for _, ours := range []error{world.ErrNotFound, world.ErrRefused, world.ErrUnavailable, world.ErrCompacted, world.ErrClosed} {
		if errors.Is(err, ours) {
			return err
		}
	}
	if err == nil {
		return nil
	}
	err = rpctypes.Error(err)
	switch code := codeOf(err); {
	case errors.Is(err, rpctypes.ErrCompacted), errors.Is(err, rpctypes.ErrFutureRev): // the second after a restore
		return fmt.Errorf("%w: %w", world.ErrCompacted, err)
	case aboutCertificate(err):
		return fmt.Errorf("%w: %w: %w", world.ErrRefused, ErrCertificate, err)
	case refused[code]:
		return fmt.Errorf("%w: %w", world.ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", world.ErrUnavailable, err)
}

// handshakes are the texts of a connection that fails for a certificate, as crypto/tls and crypto/x509 write them. gRPC
// keeps no more of such an error than its text.
var handshakes = []string{"x509: ", "remote error: tls: ", "tls: failed to verify", "tls: first record does not look like"}

// aboutCertificate reports whether a connection has failed for a certificate.
func aboutCertificate(err error) bool {
	return slices.ContainsFunc(handshakes, func(text string) bool { return strings.Contains(err.Error(), text) })
}

// refused are the codes of a request that would be refused again.
var refused = map[codes.Code]bool{
	codes.InvalidArgument: true, codes.NotFound: true, codes.AlreadyExists: true, codes.PermissionDenied: true,
	codes.Unauthenticated: true, codes.FailedPrecondition: true, codes.OutOfRange: true, codes.Unimplemented: true,
}

func codeOf(err error) codes.Code {
	if e, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return e.Code()
	}
	return status.Code(err)
}
