//go:build !small

package etcd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// authority signs certificates of a test.
type authority struct {
	t      *testing.T
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir(), serial: 1}
	a.cert, a.key = a.sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign makes a certificate with its key, both in files of the name.
func (a *authority) sign(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.serial++
	c.SerialNumber, c.Subject = big.NewInt(a.serial), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(a.dir, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// client adds the certificate of a user to options.
func (a *authority) client(o etcd.Options, user string) etcd.Options {
	if _, err := os.Stat(a.file(user + ".pem")); err != nil {
		a.sign(user, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	}
	o.CA, o.Cert, o.Key = a.file("ca.pem"), a.file(user+".pem"), a.file(user+".key")
	return o
}

// secured starts a server that takes only clients with a certificate of the authority.
func secured(t *testing.T, v version, a *authority) *member {
	t.Helper()
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	a.sign("server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, ExtKeyUsage: both})
	m := prepare(t, v, "m0", "https")
	m.args = append(m.args, "--initial-cluster=m0=http://"+m.peer, "--client-cert-auth",
		"--trusted-ca-file="+a.file("ca.pem"), "--cert-file="+a.file("server.pem"), "--key-file="+a.file("server.key"))
	m.start()
	m.await(a.client(etcd.Options{Endpoints: []string{m.endpoint}}, "root"))
	return m
}

// TestWrongCertificate: each side can refuse the other. The error names the certificate, and is refused: to ask again
// is no use.
func TestWrongCertificate(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		a, other := newAuthority(t), newAuthority(t)
		m := secured(t, v, a)
		base := etcd.Options{Endpoints: []string{m.endpoint}, Timeout: time.Second}
		foreign := other.client(base, "root")
		foreign.CA = a.file("ca.pem")
		strict := base
		strict.CA = other.file("ca.pem")
		for name, o := range map[string]etcd.Options{"the server's": strict, "the client's": foreign} {
			w := open(t, o)
			until(t, name+" certificate is wrong, Get", func() error { _, err := w.Get(t.Context(), "a"); return certificate(err) })
			until(t, name+" certificate is wrong, Watch", func() (err error) {
				for _, err = range w.Watch(t.Context(), "a", 0) {
					break
				}
				return certificate(err)
			})
		}
		if _, err := open(t, base).Get(t.Context(), "a"); !errors.Is(err, world.ErrUnavailable) {
			t.Errorf("without encryption: %v", err)
		}
	})
}

// certificate returns nil for the error of a certificate. A server that hangs up is at times faster than its reason, so the
// first error may be of a lost connection.
func certificate(err error) error {
	if errors.Is(err, etcd.ErrCertificate) && errors.Is(err, world.ErrRefused) && !errors.Is(err, world.ErrUnavailable) {
		return nil
	}
	return fmt.Errorf("it answers %v", err)
}

// TestRenewedCertificate: a certificate that was replaced on disk serves the next connection.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	m := secured(t, versions[0], a)
	w := open(t, a.client(etcd.Options{Endpoints: []string{m.endpoint}}, "host"))
	put(t, w, "a", "1")
	other := newAuthority(t)
	wrong := other.client(etcd.Options{}, "host")
	for from, to := range map[string]string{wrong.Cert: a.file("host.pem"), wrong.Key: a.file("host.key")} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.kill()
	m.start()
	m.await(a.client(etcd.Options{Endpoints: []string{m.endpoint}}, "root"))
	until(t, "a foreign certificate is in place", func() error { _, err := w.Get(t.Context(), "a"); return certificate(err) })
	a.sign("host", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	until(t, "the renewed certificate serves", func() error { _, err := w.Get(t.Context(), "a"); return err })
}

// TestRoles: a host reads its topics, and writes its own status, exports, place and lease, and nothing else.
func TestRoles(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		a := newAuthority(t)
		m := secured(t, v, a)
		base := etcd.Options{Endpoints: []string{m.endpoint}}
		plainRoot := open(t, a.client(base, "root"))
		if err := plainRoot.Protect(t.Context(), "secret"); err != nil {
			t.Fatal(err)
		}
		root := open(t, a.client(base, "root"))
		if err := root.Allow(t.Context(), "web1", "", append(etcd.HostGrants("web1", []string{"db"}), etcd.Grant{Key: "m/host:web2/", Below: true, Write: true})...); err != nil {
			t.Fatal(err)
		}
		if err := root.Allow(t.Context(), "web1", "", etcd.HostGrants("web1", []string{"web"}, "host:web2")...); err != nil {
			t.Fatal("rights that replace others:", err)
		}
		for _, key := range []string{"m/host:web1/file/a", "m/host:web2/file/a", "m/all/file/a", "s/web2/file/a", "hosts/web2", "exports/all/web2/a/b"} {
			put(t, root, key, "root")
		}
		host := open(t, a.client(base, "web1"))
		testRights(t, host, root)
	})
}

// testRights compares what a host may do with what it should.
func testRights(t *testing.T, host, root *etcd.World) {
	may := map[bool][]string{
		true:  {"s/web1/file/a", "hosts/web1", "exports/all/web1/file/a", "exports/host:web2/web1/file/a", "exports/group:web/web1/x", "kv/all/x"},
		false: {"s/web2/file/a", "s/web11/x", "hosts/web2", "hosts/web11", "exports/all/web2/file/a", "exports/host:web3/web1/x", "m/host:web1/file/a", "m/all/x", "m/host:web2/file/a", "i/file/a", "kv/group:db/x"},
	}
	for allowed, keys := range may {
		for _, key := range keys {
			_, _, err := host.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte("host")}})
			if allowed != (err == nil) || !allowed && !errors.Is(err, world.ErrRefused) {
				t.Errorf("write %s, allowed %t: %v", key, allowed, err)
			}
		}
	}
	for prefix, allowed := range map[string]bool{
		"m/host:web1/": true, "m/all/": true, "m/group:web/": true, "hosts/": true, "i/": true, "exports/all/": true,
		"": false, "m/": false, "m/host:web2/": false, "m/group:db/": false, "s/": false, "exports/": false,
	} {
		p, err := host.List(t.Context(), prefix, world.ListOptions{Limit: 1})
		if allowed != (err == nil) || !allowed && !errors.Is(err, world.ErrRefused) {
			t.Errorf("list %q, allowed %t: %v, %v", prefix, allowed, p, err)
		}
		if allowed {
			continue
		}
		for _, err := range host.Watch(t.Context(), prefix, 0) {
			if !errors.Is(err, world.ErrRefused) {
				t.Errorf("watch %q: %v", prefix, err)
			}
			break
		}
	}
	l, err := host.Lease(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	rev, _, err := host.Txn(t.Context(), nil, []world.Op{{Key: "hosts/web1", Value: []byte("alive"), Lease: l}})
	if err != nil {
		t.Fatal("its place with a lease:", err)
	}
	if err := host.Close(); err != nil {
		t.Error("Close:", err)
	}
	var gone []string
	for b, err := range root.Watch(t.Context(), "hosts/", rev) {
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range b.Updates {
			gone = append(gone, u.Key)
		}
		if slices.Contains(gone, "hosts/web1") {
			break
		}
	}
	if strings.Join(gone, " ") != "hosts/web1" {
		t.Errorf("with its lease went %v", gone)
	}
}
