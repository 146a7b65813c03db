package overgrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/reactivegraph/mgmt/provider"
	"github.com/reactivegraph/mgmt/provider/protocol"
	"github.com/reactivegraph/mgmt/provider/protocol/protobuf"
)

// Serve answers mgmt until the standard input ends, or ctx does. The error names the faults of the Provider, or of the way in
// which it was started. It is called once, in main.
func Serve(ctx context.Context, p *provider.Provider) error {
	at, debugged := strings.CutPrefix(os.Getenv(provider.EnvListen), "grpc:")
	if !debugged {
		at = os.Getenv(provider.EnvSocket)
	}
	if at == "" {
		return provider.Serve(ctx, p)
	}
	h, err := provider.NewHandler(p)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", at)
	if err != nil {
		return err
	}
	if debugged { // the folder of mgmt is closed to others; this one may not be, and the secrets of a graph come through it
		if err := os.Chmod(at, 0o600); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	if !debugged {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			end()
		}()
	}
	return ServeListener(ctx, h, l)
}

// ServeListener answers on each connection of a listener until ctx ends. It closes the listener.
func ServeListener(ctx context.Context, h *provider.Handler, l net.Listener) error {
	s := grpc.NewServer(grpc.ForceServerCodec(codec{}), grpc.MaxRecvMsgSize(protocol.MaxMessage), grpc.MaxSendMsgSize(protocol.MaxMessage),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return answer(h, stream) }))
	ended := context.AfterFunc(ctx, s.Stop)
	defer ended()
	if err := s.Serve(l); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// method returns the word of the protocol for a method of gRPC.
func method(full string) (string, bool) {
	name, ours := strings.CutPrefix(full, protocol.Service)
	if !ours || name == "" {
		return "", false
	}
	return strings.ToLower(name[:1]) + name[1:], true
}

// answer answers one call.
func answer(h *provider.Handler, stream grpc.ServerStream) error {
	ctx := stream.Context()
	full, _ := grpc.Method(ctx)
	name, ours := method(full)
	if !ours || name == protocol.MethodLogs || protocol.Request(name) == nil {
		return status.Errorf(codes.Unimplemented, "there is no method %s", full)
	}
	if !allowed(ctx, h) {
		return status.Errorf(codes.PermissionDenied, "the token of the call is not the one of %s", provider.EnvToken)
	}
	request := protocol.Request(name)
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	params, err := json.Marshal(request)
	if err != nil {
		return status.Error(codes.InvalidArgument, "the request is no JSON")
	}
	var sending sync.Mutex // a stream has one sender at a time
	result, wrong := h.Answer(ctx, name, params, func(kind string) {
		sending.Lock()
		defer sending.Unlock()
		_ = stream.SendMsg(&protocol.WatchEvent{Type: kind}) // an error ends ctx too
	})
	if wrong != nil {
		return refuse(stream, wrong)
	}
	reply := protocol.Reply(name)
	if reply == nil { // a stream, which has ended
		return nil
	}
	if err := json.Unmarshal(result, reply); err != nil {
		return status.Errorf(codes.Internal, "the answer to %s is wrong", name)
	}
	return stream.SendMsg(reply)
}

// allowed reports whether mgmt has made the call.
func allowed(ctx context.Context, h *provider.Handler) bool {
	md, _ := metadata.FromIncomingContext(ctx)
	return h.IsAllowed(strings.Join(md.Get(protocol.TokenHeader), ""))
}

// refuse answers with an error. All of it is in the trailer, and the status is for programs that do not read that.
func refuse(stream grpc.ServerStream, e *protocol.Error) error {
	if text, err := protobuf.Marshal(e); err == nil && len(text) < maxTrailer {
		stream.SetTrailer(metadata.Pairs(protocol.ErrorTrailer, string(text)))
	}
	return status.Error(codes.Code(protocol.StatusOf(e.Code)), e.Message)
}

// maxTrailer bounds the error in a trailer, in bytes.
const maxTrailer = 1 << 20

// codec has gRPC send the structs of provider/protocol.
type codec struct{}

// Name is the one of Protocol Buffers.
func (codec) Name() string { return "proto" }

// Marshal returns a message.
func (codec) Marshal(v any) ([]byte, error) {
	b, err := protobuf.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("a message cannot be sent: %w", err)
	}
	return b, nil
}

// Unmarshal reads a message.
func (codec) Unmarshal(b []byte, v any) error { return protobuf.Unmarshal(b, v) }
