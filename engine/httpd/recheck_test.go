package httpd

import (
	"bufio"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/internal/await"
)

// TestFindingH9OpenConnections: a caller whose certificate is refused from now on loses what is open, and another caller
// keeps it.
func TestFindingH9OpenConnections(t *testing.T) {
	r := newTLSRig(t)
	var removed atomic.Bool
	r2 := newRig(t)
	r2.Admit = func(p Peer, _ *Route) error {
		if removed.Load() && p.Cert.Subject.CommonName == "gone" {
			return errors.New("removed")
		}
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.l = &TLS{Listener: l, keeper: r.l.keeper}
	r2.serve(t, r.l)
	open := func(name string) (ended chan error) {
		p := r.ca.sign(t, name, x509.ExtKeyUsageClientAuth, 24*time.Hour)
		stream := r.stream(t, r.caller(t, &p))
		ended = make(chan error, 1)
		go func(b *bufio.Reader) {
			for {
				if _, err := b.ReadString('\n'); err != nil {
					ended <- err
					return
				}
			}
		}(stream)
		return ended
	}
	stays, gone := open("stays"), open("gone")
	r2.Recheck()
	select {
	case err := <-gone:
		t.Errorf("it is cut before: %v", err)
	default:
	}
	removed.Store(true)
	r2.Recheck()
	<-gone
	select {
	case err := <-stays:
		t.Errorf("another caller is cut, too: %v", err)
	default:
	}
	await.Until(t, "the end of the connection", func() bool { return len(r2.holders.all()) == 1 })
}
