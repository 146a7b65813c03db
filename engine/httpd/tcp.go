package httpd

import (
	"crypto/tls"
	"fmt"
	"net"
)

// RemoteError says that other machines could reach an address which is for this one.
type RemoteError struct{ Addr string }

func (e *RemoteError) Error() string { return "other machines could reach " + e.Addr }

// ListenTCP listens without encryption: callers are unknown, and reach only Public
// routes. Unless remote is true, an address other than loopback is a *RemoteError.
func ListenTCP(addr string, remote bool) (*Plain, error) {
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	if !a.IP.IsLoopback() && !remote {
		return nil, &RemoteError{addr}
	}
	l, err := net.ListenTCP("tcp", a)
	if err != nil {
		return nil, err
	}
	return &Plain{l}, nil
}

// Plain is a TCP listener made by ListenTCP.
type Plain struct{ net.Listener }

// ListenTLS listens on a TCP address for callers with a certificate that the CA has
// signed. Missing or unfit files are an error at once; later ones leave the old
// certificate in effect. Close the listener, or serve on it.
func ListenTLS(addr string, o TLSOptions) (*TLS, error) {
	k, err := newKeeper(o)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the address %s: %w", addr, err)
	}
	return &TLS{Listener: l, keeper: k}, nil
}

// TLS is a TCP listener made by ListenTLS. Its Accept gives bare connections: only
// Server.Serve adds the encryption, within the limits.
type TLS struct {
	net.Listener
	keeper *keeper
}

// encrypt adds the encryption to what another listener accepts.
func (t *TLS) encrypt(l net.Listener) net.Listener { return tls.NewListener(l, t.keeper.base()) }

// remote marks a listener whose callers come from the network.
func (*TLS) remote()   {}
func (*Plain) remote() {}

// Reload reads the files again now, changed or not. With an error the old certificate
// stays in effect.
func (t *TLS) Reload() error { return t.keeper.reload() }
