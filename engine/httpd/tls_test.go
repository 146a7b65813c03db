package httpd

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	der  []byte
}

// pair is a certificate and its key, in PEM.
type pair struct{ cert, key []byte }

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// begin is when the certificates of the tests begin.
var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: begin, NotAfter: begin.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var err error
	if a.der, err = x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key); err == nil {
		a.cert, err = x509.ParseCertificate(a.der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.der})
}

// sign makes a certificate for a name, good from begin for so long.
func (a *authority) sign(t testing.TB, name string, use x509.ExtKeyUsage, life time.Duration) pair {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: begin, NotAfter: begin.Add(life),
		ExtKeyUsage: []x509.ExtKeyUsage{use}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{name},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})}
}

// tlsRig is a rig behind TLS, with the files of its certificate.
type tlsRig struct {
	*rig
	dir   string
	ca    *authority
	l     *TLS
	end   func()
	clock *stillClock // of the certificates; connections have the machine's
}

func newTLSRig(t *testing.T) *tlsRig {
	t.Helper()
	r := &tlsRig{rig: newRig(t), dir: t.TempDir(), ca: newAuthority(t, "ours"), clock: &stillClock{now: begin.Add(time.Hour)}}
	r.write(t, r.ca.sign(t, "server1", x509.ExtKeyUsageServerAuth, 24*time.Hour), r.ca)
	l, err := ListenTLS("127.0.0.1:0", TLSOptions{
		Cert: filepath.Join(r.dir, "cert"), Key: filepath.Join(r.dir, "key"), CA: filepath.Join(r.dir, "ca"),
		Clock: r.clock, Logger: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.l, r.end = l, r.serve(t, l)
	return r
}

// write exchanges the files, each by a rename.
func (r *tlsRig) write(t testing.TB, p pair, ca *authority) {
	t.Helper()
	for name, text := range map[string][]byte{"cert": p.cert, "key": p.key, "ca": ca.pem()} {
		path := filepath.Join(r.dir, name)
		if err := os.WriteFile(path+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

// caller returns a client that shows a certificate, or none.
func (r *tlsRig) caller(t testing.TB, p *pair) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(r.ca.cert)
	config := &tls.Config{RootCAs: pool, Time: r.clock.Now, MinVersion: tls.VersionTLS12}
	if p != nil {
		cert, err := tls.X509KeyPair(p.cert, p.key)
		if err != nil {
			t.Fatal(err)
		}
		// whatever the server asks for, this one is shown
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
}

// who asks who is asking, and returns the answer and the name of the server.
func (r *tlsRig) who(t testing.TB, c *http.Client) (body, server string, err error) {
	t.Helper()
	resp, err := c.Get("https://" + r.l.Addr().String() + "/v1/who")
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), resp.TLS.PeerCertificates[0].Subject.CommonName, err
}

// TestTLSCallers: only the holder of a certificate of the CA gets any answer.
func TestTLSCallers(t *testing.T) {
	r := newTLSRig(t)
	other := newAuthority(t, "ours") // of the same name
	good := r.ca.sign(t, "anna", x509.ExtKeyUsageClientAuth, 24*time.Hour)
	if body, _, err := r.who(t, r.caller(t, &good)); err != nil || !strings.Contains(body, "CN=anna") {
		t.Errorf("the right one: %s %v", body, err)
	}
	wrong := map[string]pair{
		"of another CA": other.sign(t, "anna", x509.ExtKeyUsageClientAuth, 24*time.Hour),
		"expired":       r.ca.sign(t, "anna", x509.ExtKeyUsageClientAuth, time.Minute),
		"of a server":   r.ca.sign(t, "server2", x509.ExtKeyUsageServerAuth, 24*time.Hour),
	}
	for name, p := range wrong {
		if body, _, err := r.who(t, r.caller(t, &p)); err == nil {
			t.Errorf("%s: %s", name, body)
		}
	}
	if body, _, err := r.who(t, r.caller(t, nil)); err == nil {
		t.Errorf("without: %s", body)
	}
	resp, err := http.Get("http://" + r.l.Addr().String() + "/v1/public")
	if err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Error("without encryption it answers")
		}
	}
	r.clock.Advance(48 * time.Hour)
	if body, _, err := r.who(t, r.caller(t, &good)); err == nil {
		t.Errorf("after its end: %s", body)
	}
}

// TestTLSReload: new files count for the next connection, bad ones change nothing and
// are told once, and a connection that is open goes on.
func TestTLSReload(t *testing.T) {
	r := newTLSRig(t)
	anna := r.ca.sign(t, "anna", x509.ExtKeyUsageClientAuth, 24*time.Hour)
	c := r.caller(t, &anna)
	open := r.stream(t, c)
	r.write(t, r.ca.sign(t, "server2", x509.ExtKeyUsageServerAuth, 24*time.Hour), r.ca)
	r.clock.Advance(2 * time.Second)
	if _, server, err := r.who(t, c); err != nil || server != "server2" {
		t.Errorf("%s answers, %v", server, err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "cert"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r.clock.Advance(2 * time.Second)
		if _, server, err := r.who(t, c); err != nil || server != "server2" {
			t.Errorf("%s answers, %v", server, err)
		}
	}
	if n := strings.Count(r.log.String(), "the old one stays in effect"); n != 1 {
		t.Errorf("%d warnings: %s", n, r.log)
	}
	if err := r.l.Reload(); err == nil {
		t.Error("bad files are read without an error")
	}
	next := newAuthority(t, "theirs")
	r.write(t, r.ca.sign(t, "server3", x509.ExtKeyUsageServerAuth, 24*time.Hour), next)
	if err := r.l.Reload(); err != nil {
		t.Fatal(err)
	}
	if body, _, err := r.who(t, c); err == nil {
		t.Errorf("a certificate of the old CA counts: %s", body)
	}
	ben := next.sign(t, "ben", x509.ExtKeyUsageClientAuth, 24*time.Hour)
	if body, server, err := r.who(t, r.caller(t, &ben)); err != nil || server != "server3" || !strings.Contains(body, "CN=ben") {
		t.Errorf("%s %s %v", body, server, err)
	}
	if _, err := r.store.put("a", "b", Conditions{}); err != nil {
		t.Fatal(err)
	}
	if line, err := open.ReadString('\n'); line != "id: 1\n" || err != nil {
		t.Errorf("the open stream: %q %v", line, err)
	}
	r.end()
}

// stream opens a stream that the end of the test closes.
func (r *tlsRig) stream(t testing.TB, c *http.Client) *bufio.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.l.Addr().String()+"/v1/api:watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return bufio.NewReader(resp.Body)
}

// TestTLSSilentHandshake: who begins no handshake is cut, and keeps nobody out.
func TestTLSSilentHandshake(t *testing.T) {
	r := newTLSRig(t)
	anna := r.ca.sign(t, "anna", x509.ExtKeyUsageClientAuth, 24*time.Hour)
	r2 := newRig(t)
	r2.Limits.Connections, r2.Limits.Head = 4, 200*time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	old := r.l
	r.l = &TLS{Listener: l, keeper: old.keeper}
	r2.serve(t, r.l)
	var last net.Conn
	for range 12 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		last = conn
	}
	if _, err := last.Write([]byte{22, 3, 1}); err != nil {
		t.Fatal(err)
	}
	if body, _, err := r.who(t, r.caller(t, &anna)); err != nil || !strings.Contains(body, "CN=anna") {
		t.Errorf("%s %v", body, err)
	}
	if n, err := io.Copy(io.Discard, last); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestTLSFiles: missing and unfit files are an error before anybody is listened to.
func TestTLSFiles(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t, "ours")
	p, q := ca.sign(t, "a", x509.ExtKeyUsageServerAuth, time.Hour), ca.sign(t, "b", x509.ExtKeyUsageServerAuth, time.Hour)
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert, key, pool := file("cert", p.cert), file("key", p.key), file("ca", ca.pem())
	for want, o := range map[string]TLSOptions{
		"no such file":          {Cert: dir + "/none", Key: key, CA: pool},
		"all required":          {Cert: cert, Key: key},
		"does not match":        {Cert: cert, Key: file("other", q.key), CA: pool},
		"has no certificate in": {Cert: cert, Key: key, CA: key},
		"is longer than":        {Cert: cert, Key: key, CA: file("long", make([]byte, maxPEM+1))},
	} {
		if l, err := ListenTLS("127.0.0.1:0", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v", want, l, err)
		}
	}
	if _, err := ListenTLS("127.0.0.1:nowhere", TLSOptions{Cert: cert, Key: key, CA: pool}); err == nil {
		t.Error("there is such an address")
	}
}

// TestTLSShutdown: the end cuts streams over TLS, too.
func TestTLSShutdown(t *testing.T) {
	r := newTLSRig(t)
	anna := r.ca.sign(t, "anna", x509.ExtKeyUsageClientAuth, 24*time.Hour)
	in := r.stream(t, r.caller(t, &anna))
	eventually(t, "the stream", func() bool { return r.Lasting() == 1 })
	r.end()
	if _, err := io.Copy(io.Discard, in); err != nil && !strings.Contains(err.Error(), context.Canceled.Error()) && !strings.Contains(err.Error(), "EOF") {
		t.Error(err)
	}
}
