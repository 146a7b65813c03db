package cmd

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/cmd/api"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// signer makes certificates for a test.
type signer struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign writes name.pem and name.key. The first certificate signs itself, and all others.
func (s *signer) sign(t *testing.T, name string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	by, byKey := s.cert, s.key
	if by == nil {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
		by, byKey = c, k
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, &k.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	if s.cert == nil {
		s.key = k
		if s.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(s.dir, name+".pem"), filepath.Join(s.dir, name+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestListenForOthers: other machines reach the objects with a certificate only, read, and write where the name in it may; the
// record names them.
func TestListenForOthers(t *testing.T) {
	s := &signer{dir: t.TempDir()}
	addr, nb, m := serveZones(t, s)
	testListen(t, s, addr)
	if o, err := nb.Get(t.Context(), m, "1"); err != nil || o.Origin() != "client:deployer" {
		t.Errorf("the origin is wrong: %v %v", o, err)
	}
}

// serveZones serves an empty table zone to other machines until the end of the test. The name deployer may write.
func serveZones(t *testing.T, s *signer) (addr string, nb *model.NB, m *model.Model) {
	t.Helper()
	ca, _ := s.sign(t, "ca")
	f := &daemon.Remote{Address: "127.0.0.1:0", CA: ca, Writers: []string{"deployer"}}
	f.Cert, f.Key = s.sign(t, "server")
	log := slog.New(slog.DiscardHandler)
	l, err := f.Listen(nil, log)
	if err != nil {
		t.Fatal(err)
	}
	m, err = model.Define(model.Spec{Name: "Zone", Table: "zone", Fields: []model.Field{{Key: "name", Type: &schema.Type{Kind: schema.KindString}}}})
	if err != nil {
		t.Fatal(err)
	}
	reg := model.NewRegistry(nil)
	if err := reg.Add(m); err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	nb = model.Open(w, reg, model.Options{Origin: "host:me"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Serve(ctx, l, nb, nil, nil, log) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = w.Close()
	})
	return l.Addr().String(), nb, m
}

// testListen asks as several callers.
func testListen(t *testing.T, s *signer, addr string) {
	t.Helper()
	ask := func(who, method, path, body string) int {
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		config.RootCAs.AddCert(s.cert)
		if who != "" {
			pair, err := tls.LoadX509KeyPair(filepath.Join(s.dir, who+".pem"), filepath.Join(s.dir, who+".key"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		tr := &http.Transport{TLSClientConfig: config}
		defer tr.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), method, "https://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	s.sign(t, "deployer")
	s.sign(t, "reader")
	(&signer{dir: s.dir}).sign(t, "stranger") // it has signed itself
	for _, c := range []struct {
		who, method, path, body string
		want                    int
	}{
		{"", "GET", "/v1/api/zone", "", 0},
		{"stranger", "GET", "/v1/api/zone", "", 0},
		{"reader", "GET", "/v1/api/zone", "", 200},
		{"reader", "POST", "/v1/api/zone", `{"id": "1"}`, 403},
		{"reader", "GET", "/v1/api:dump", "", 403},
		{"deployer", "POST", "/v1/api/zone", `{"id": "1"}`, 201},
		{"deployer", "GET", "/v1/api:dump", "", 200},
		{"deployer", "POST", "/v1/retry", "", 404},
		{"deployer", "GET", "/v1/status", "", 404},
	} {
		if got := ask(c.who, c.method, c.path, c.body); got != c.want {
			t.Errorf("%s: %s %s answers %d, not %d", c.who, c.method, c.path, got, c.want)
		}
	}
}

// TestAskAnotherServer: the verbs of api reach the daemon of another machine with a certificate. What is missing or wrong is said,
// with the flag.
func TestAskAnotherServer(t *testing.T) {
	s := &signer{dir: t.TempDir()}
	addr, nb, m := serveZones(t, s)
	access := func(name string) store.Access {
		a := store.Access{CA: filepath.Join(s.dir, "ca.pem")}
		a.Cert, a.Key = s.sign(t, name)
		return a
	}
	run := func(a store.Access, args ...string) (string, error) {
		var out bytes.Buffer
		cmd := api.New(&cli.App{Out: &out, Err: io.Discard})
		cmd.SetArgs(append(args, "--server", addr, "--cert", a.Cert, "--key", a.Key, "--ca", a.CA))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	deployer, reader := access("deployer"), access("reader")
	if _, err := run(deployer, "create", "zone", "a/b", "name=x"); err != nil {
		t.Fatal(err)
	}
	if o, err := nb.Get(t.Context(), m, "a/b"); err != nil || o.Get("name") != "x" {
		t.Fatal(o, err)
	}
	if _, err := run(reader, "create", "zone", "b"); err == nil || !strings.Contains(err.Error(), "api_writers") || strings.Contains(err.Error(), "api_write_group") {
		t.Errorf("a client learns of the setting for other callers: %v", err)
	}
	if out, err := run(reader, "list", "zone", "-o", "json"); err != nil || !strings.Contains(out, `"id":"a/b"`) {
		t.Errorf("%s, %v", out, err)
	}
	stranger := store.Access{CA: access("reader").CA}
	stranger.Cert, stranger.Key = (&signer{dir: t.TempDir()}).sign(t, "stranger")
	foreign := reader
	foreign.CA = stranger.Cert
	for want, c := range map[string]struct {
		a    store.Access
		verb []string
	}{
		"may not":                     {reader, []string{"delete", "zone", "a/b"}},
		"api_ca there that of --cert": {stranger, []string{"list", "zone"}},
		"--ca signs the certificate":  {foreign, []string{"list", "zone"}},
		"give --cert, --key and --ca": {store.Access{}, []string{"list", "zone"}},
		"no such file":                {store.Access{Cert: "no", Key: "no", CA: "no"}, []string{"list", "zone"}},
	} {
		if out, err := run(c.a, c.verb...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %s, %v; want %s", c.verb, out, err, want)
		}
	}
	if _, err := (&remote.Direct{Server: "web1", Access: deployer}).ServerTransport(); err == nil || !strings.Contains(err.Error(), "HOST:PORT") {
		t.Errorf("an address without a port: %v", err)
	}
}

// TestHostsOfAnotherServer: the hosts of another machine's store are read over its API, the same as on that machine.
func TestHostsOfAnotherServer(t *testing.T) {
	s := &signer{dir: t.TempDir()}
	addr, nb := serveHosts(t, s)
	since := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	keys, err := hosts.MemberKeys(hosts.Member{
		Name: "web/1", Version: "1.2", Since: since, Facts: map[string]any{"os": "Debian"}, State: hosts.MemberState{Graph: "g", Converged: true, Since: since, OK: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range keys {
		if _, _, err := nb.World().Txn(t.Context(), nil, []world.Op{{Key: key, Value: value}}); err != nil {
			t.Fatal(err)
		}
	}
	members, err := hosts.Members(t.Context(), nb.World())
	if err != nil {
		t.Fatal(err)
	}
	got, said, _ := hostsOfServer(t, s, addr, "-o", "json")
	want, err := json.Marshal(control.HostsOf(members))
	var compact bytes.Buffer
	if err := errors.Join(err, json.Compact(&compact, []byte(got))); err != nil || compact.String() != string(want) {
		t.Errorf("%s%s, %v; the machine itself says %s", got, said, err, want)
	}
	var out bytes.Buffer
	if code := execute(t.Context(), (&cli.App{Out: &out, Err: &out}), []string{"hosts", "--server", addr}); code != cli.ExitUsage || !strings.Contains(out.String(), "give --cert") {
		t.Errorf("without a certificate: code %d, %s", code, out.String())
	}
}

// hostsOfServer runs the verb hosts against a server, and returns what it writes and its code.
func hostsOfServer(t *testing.T, s *signer, addr string, args ...string) (out, said string, code int) {
	t.Helper()
	cert, key := s.sign(t, "reader")
	var o, e strings.Builder
	code = execute(t.Context(), (&cli.App{Out: &o, Err: &e}), append([]string{"hosts", "--server", addr, "--ca", filepath.Join(s.dir, "ca.pem"), "--cert", cert, "--key", key}, args...))
	return o.String(), e.String(), code
}

// serveHosts is serveZones with the tables of hosts.
func serveHosts(t *testing.T, s *signer, without ...string) (addr string, nb *model.NB) {
	t.Helper()
	addr, nb, _ = serveZones(t, s)
	list, err := kinds.HostTables()
	for _, m := range list {
		if !slices.Contains(without, m.Table()) {
			err = errors.Join(err, nb.Registry().Add(m))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return addr, nb
}

// TestFindingQ13Server: another machine's store tells of the hosts that are gone, as on that machine, and the exit code is 4. A daemon that does not tell
// of them is no reason to believe that all are there.
func TestFindingQ13Server(t *testing.T) {
	for name, c := range map[string]struct {
		without []string
		want    string
		said    string
		code    int
	}{
		"all":   {nil, `^HOST .*\nweb/1 +gone for \d.*\nweb2 +gone, and was never there .*\nweb3 +working .*\n$`, "", cli.ExitFailed},
		"older": {[]string{kinds.AdmittedTable, kinds.SeenTable}, `^HOST .*\nweb3 +working .*\n$`, "hosts that are gone are missing here", 0},
		"half":  {[]string{kinds.SeenTable}, `^HOST .*\nweb3 +working .*\n$`, "hosts that are gone are missing here", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &signer{dir: t.TempDir()}
			addr, nb := serveHosts(t, s, c.without...)
			keys, err := hosts.MemberKeys(hosts.Member{Name: "web3"})
			if err != nil {
				t.Fatal(err)
			}
			keys[deploy.HostKey("web/1")], keys[deploy.HostKey("web2")], keys[deploy.HostKey("web3")] = []byte("{}"), []byte("{}"), []byte("{}")
			keys[hosts.SeenKey("web/1")] = []byte(`{"time":"2020-01-02T03:04:05Z"}`)
			for key, value := range keys {
				if _, _, err := nb.World().Txn(t.Context(), nil, []world.Op{{Key: key, Value: value}}); err != nil {
					t.Fatal(err)
				}
			}
			if out, said, code := hostsOfServer(t, s, addr); !regexp.MustCompile(c.want).MatchString(out) || !strings.Contains(said, c.said) || code != c.code {
				t.Errorf("code %d\n%s%s", code, out, said)
			}
		})
	}
}

// TestListenNeedsCertificates: nothing listens without all files, and the files without an address are a fault, too.
func TestListenNeedsCertificates(t *testing.T) {
	s := &signer{dir: t.TempDir()}
	ca, key := s.sign(t, "ca")
	for _, c := range []struct {
		f    daemon.Remote
		want string
	}{
		{daemon.Remote{}, ""},
		{daemon.Remote{Address: "127.0.0.1:0"}, "only with certificates"},
		{daemon.Remote{Address: "127.0.0.1:0", Cert: ca, Key: key}, "only with certificates"},
		{daemon.Remote{Address: "127.0.0.1:0", Cert: ca, Key: key, CA: key}, "has no certificate"},
		{daemon.Remote{Writers: []string{"x"}}, "Remote.Address"},
	} {
		l, err := c.f.Listen(nil, slog.New(slog.DiscardHandler))
		if l != nil || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.f, err)
		}
	}
}

// sink collects the lines of a log.
type sink struct {
	mu   sync.Mutex
	text strings.Builder
	came chan struct{} // of capacity 1
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(string(p))
	select {
	case s.came <- struct{}{}:
	default:
	}
	return len(p), nil
}

// until waits for a text, and returns all that was written.
func (s *sink) until(t *testing.T, text string) string {
	t.Helper()
	for {
		s.mu.Lock()
		all := s.text.String()
		s.mu.Unlock()
		if strings.Contains(all, text) {
			return all
		}
		select {
		case <-s.came:
		case <-t.Context().Done():
			t.Fatalf("%q did not come: %s", text, all)
		}
	}
}

// TestFindingH8WritersFollowAccept: a client of another machine that may write has the daemon run what the setting accept lets in, and nothing
// else. It can neither alter nor remove what the operator has written, and the daemon warns at its start.
func TestFindingH8WritersFollowAccept(t *testing.T) {
	s := &signer{dir: t.TempDir()}
	ca, _ := s.sign(t, "ca")
	cert, key := s.sign(t, "server")
	theirs, theirKey := s.sign(t, "web1")
	graph, dir := graphFile(t, "resources: {noop: [{name: n}]}")
	log := &sink{came: make(chan struct{}, 1)}
	a := &cli.App{Out: io.Discard, Err: log}
	ctx, cancel := context.WithCancel(t.Context())
	socket := filepath.Join(dir, "s")
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, a, []string{
			"run", graph, "--prefix", filepath.Join(dir, "state"), "--socket", socket, "--api-listen", "127.0.0.1:0", "--api-cert", cert, "--api-key", key,
			"--api-ca", ca, "--api-writers", "web1", "--accept", "print,file=" + dir + "/in/", "--color", "never",
		})
	}()
	defer func() { cancel(); <-ended }()
	all := log.until(t, "objects are served")
	if !strings.Contains(all, "clients of other machines may have this host run objects") || !strings.Contains(all, "file="+dir+"/in/, print") {
		t.Errorf("no warning: %s", all)
	}
	_, addr, _ := strings.Cut(all[strings.Index(all, "objects are served"):], "127.0.0.1:")
	addr = "127.0.0.1:" + strings.FieldsFunc(addr, func(r rune) bool { return r < '0' || r > '9' })[0]
	run := func(args ...string) error {
		cmd := api.New(&cli.App{Out: io.Discard, Err: io.Discard})
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		return cmd.ExecuteContext(t.Context())
	}
	remote := func(args ...string) error {
		return run(append(args, "--server", addr, "--cert", theirs, "--key", theirKey, "--ca", ca)...)
	}
	own := func(args ...string) error { return run(append(args, "--socket", socket)...) }
	if err := errors.Join(own("create", "file", dir+"/mine", "content=x", "owner=root"), own("create", "exec", "mine", "cmd=true"), own("create", "file", dir+"/in/mine", "content=x", "owner=root")); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"":                                {"create", "print", "p", "msg=hello"},
		"takes over the kinds file, prin": {"create", "exec", "touch " + dir + "/ran"},
		"only at " + dir + "/in/":         {"create", "file", dir + "/out", "content=x"},
		"it gives validate":               {"create", "file", dir + "/in/a", "content=x", "validate=touch " + dir + "/ran"},
		"with bits above 0777":            {"create", "file", dir + "/in/b", "content=x", "mode=4755"},
		"takes the thing away":            {"create", "file", dir + "/in/c", "state=absent"},
		"of the metaparameters":           {"create", "print", "q", "msg=hello", `meta:={"export":["*"]}`},
		"the kinds file, print":           {"delete", "exec", "mine"},
		"it gives owner":                  {"update", "file", dir + "/in/mine", "content=y"},
		"may not write it":                {"update", "file", dir + "/mine", "content=y"},
	} {
		if err := remote(args...); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	if _, err := os.Lstat(dir + "/ran"); err == nil {
		t.Error("a program of the client has run")
	}
}
