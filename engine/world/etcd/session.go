//go:build !small

package etcd

import (
	"context"
	"errors"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/credentials"
)

// session is the token of a user with a password. Each call carries it, but for the one that asks for a token: a server
// of version 3.4 refuses an old token there, so the client's own way never gets a new one from it.
type session struct {
	signing chan struct{} // holds one token; its holder asks the server

	mu     sync.Mutex
	token  string
	signed bool // the server has answered once; without users it gives no token
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (s *session) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, _ := s.state()
	info, _ := credentials.RequestInfoFromContext(ctx)
	if token == "" || strings.HasSuffix(info.Method, "/Authenticate") {
		return nil, nil
	}
	return map[string]string{rpctypes.TokenFieldNameGRPC: token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Options.Exposed tells of a network.
func (s *session) RequireTransportSecurity() bool { return false }

func (s *session) state() (token string, signed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, s.signed
}

// signIn replaces a token by a new one. Where another call has done that meanwhile, it does nothing.
func (w *World) signIn(ctx context.Context, c *clientv3.Client, stale string) error {
	s := &w.session
	select {
	case s.signing <- struct{}{}:
		defer func() { <-s.signing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if token, signed := s.state(); signed && token != stale {
		return nil
	}
	token := ""
	resp, err := c.Auth.Authenticate(ctx, w.o.User, w.o.Password)
	switch {
	case err == nil:
		token = resp.Token
	case !errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.signed = token, true
	return nil
}

// signed runs a request with a token, and again with a new one where the server does not know the first. A server that
// does not know it has done nothing.
func (w *World) signed(ctx context.Context, c *clientv3.Client, f func(context.Context, *clientv3.Client) error) error {
	if w.o.User == "" {
		return f(ctx, c)
	}
	token, signed := w.session.state()
	if !signed {
		if err := w.signIn(ctx, c, ""); err != nil {
			return err
		}
		token, _ = w.session.state()
	}
	err := f(ctx, c)
	if !forgotten(err) {
		return err
	}
	if err := w.signIn(ctx, c, token); err != nil {
		return err
	}
	return f(ctx, c)
}

// forgotten reports whether a server asks for another token.
func forgotten(err error) bool {
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrAuthOldRevision) || errors.Is(err, rpctypes.ErrUserEmpty)
}
