package integration_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/internal/await"
)

// certificates makes an authority in a folder, and a certificate of each name with its key. Each serves servers and clients.
func certificates(t *testing.T, dir string, names ...string) {
	t.Helper()
	var authority *x509.Certificate
	var by *ecdsa.PrivateKey
	for i, name := range append([]string{"ca"}, names...) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		if authority == nil {
			c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
			authority, by = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		for suffix, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: private}} {
			if err := os.WriteFile(filepath.Join(dir, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// protectedStore is an etcd that takes certificates of one authority alone, with users and roles.
type protectedStore struct {
	t       *testing.T
	program string
	dir     string
	etcd    *etcdServer
}

// newProtectedStore protects a store: root may all, and each host has the rights of its role.
func newProtectedStore(t *testing.T, roles map[string]string) *protectedStore {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &protectedStore{t: t, program: filepath.Join(bin, "mgmt"), dir: t.TempDir()}
	names := []string{"server", "root"}
	for name := range roles {
		names = append(names, name)
	}
	certificates(t, p.dir, names...)
	p.write("root.password", "of root\n")
	p.etcd = newEtcd(t, "https", "--client-cert-auth", "--trusted-ca-file="+p.path("ca.pem"), "--cert-file="+p.path("server.pem"), "--key-file="+p.path("server.key"))
	p.etcd.start()
	if !await.Eventually(func() bool { _, err := p.mgmt(p.as("root", "hosts")...); return err == nil }) {
		t.Fatal("etcd does not get ready")
	}
	p.good("deploy", "keygen", p.path("deploy.key"))
	for name, role := range roles {
		p.good(p.signed("hosts", "allow", name, "--role="+role)...)
	}
	p.good(p.as("root", "hosts", "protect", "--new-password-file="+p.path("root.password"))...)
	return p
}

func (p *protectedStore) path(name string) string { return filepath.Join(p.dir, name) }

func (p *protectedStore) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// as adds the certificate of a user to the arguments of a verb.
func (p *protectedStore) as(user string, args ...string) []string {
	return append(args, "--world=etcd://"+p.etcd.client, "--ca="+p.path("ca.pem"), "--cert="+p.path(user+".pem"), "--key="+p.path(user+".key"))
}

// signed adds the certificate and the key of the operator to the arguments of a verb.
func (p *protectedStore) signed(args ...string) []string {
	return p.as("root", append(args, "--sign="+p.path("deploy.key"))...)
}

func (p *protectedStore) mgmt(args ...string) (string, error) {
	out, err := exec.CommandContext(p.t.Context(), p.program, args...).CombinedOutput()
	return string(out), err
}

func (p *protectedStore) good(args ...string) string {
	p.t.Helper()
	out, err := p.mgmt(args...)
	if err != nil {
		p.t.Fatalf("mgmt %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// verb is a verb that goes on beside the test.
type verb struct {
	t    *testing.T
	out  *safeBuffer
	done chan error
}

// background starts a verb, which ends with the test.
func (p *protectedStore) background(args ...string) *verb {
	p.t.Helper()
	v := &verb{p.t, &safeBuffer{}, make(chan error, 1)}
	cmd := exec.CommandContext(p.t.Context(), p.program, args...)
	cmd.Stdout, cmd.Stderr = v.out, v.out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { v.done <- cmd.Wait() }()
	return v
}

// until waits for a text.
func (v *verb) until(text string) {
	v.t.Helper()
	if !await.Eventually(func() bool { return strings.Contains(v.out.String(), text) }) {
		v.t.Fatalf("the verb does not say %q:\n%s", text, v.out.String())
	}
}

// good waits for its good end with a text.
func (v *verb) good(text string) {
	v.t.Helper()
	if err := <-v.done; err != nil || !strings.Contains(v.out.String(), text) {
		v.t.Fatalf("the verb ends with %v, want %q:\n%s", err, text, v.out.String())
	}
}

// start starts a daemon, which the test ends. The returned function ends it as a power loss would.
func (p *protectedStore) start(host, role string, flags ...string) (log *safeBuffer, end func()) {
	p.t.Helper()
	log = &safeBuffer{}
	args := p.as(host, "run", p.path(host+".yaml"), "--prefix="+p.path("state-"+host), "--hostname="+host, "--accept=file", "--role="+role,
		"--lease=2s", "--trusted-keys="+p.path("deploy.key.pub"))
	cmd := exec.Command(p.program, append(args, flags...)...)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if p.t.Failed() {
			p.t.Logf("%s says:\n%s", host, log.String())
		}
	})
	p.t.Cleanup(end)
	return log, end
}

// TestDeployInProtectedStore: with TLS, users and roles, an operator deploys by the certificate of root. The hosts of the topic take it with
// their own rights, and report it; a host of another role may not even read it. A host deploys nothing, also not to itself.
func TestDeployInProtectedStore(t *testing.T) {
	p := newProtectedStore(t, map[string]string{"web1": "web", "web2": "web", "db1": "db"})
	for _, host := range []string{"web1", "web2", "db1"} {
		p.write(host+".yaml", "resources: {noop: [{name: own}]}\n")
	}
	graph := func(text string) string {
		p.write("site.yaml", "include: [part.yaml]\nresources: {file: [{name: \""+p.dir+"/${{ facts.hostname }}\", content: \""+text+"\"}]}\n")
		p.write("part.yaml", "resources: {noop: [{name: part}]}\n")
		return p.path("site.yaml")
	}
	logs := map[string]*safeBuffer{}
	logs["db1"], _ = p.start("db1", "db")
	logs["web2"], _ = p.start("web2", "web")
	log, end := p.start("web1", "web")
	logs["web1, first life"] = log

	deploy := func(args ...string) []string {
		return p.as("root", append([]string{"deploy", "--to=group:web", "--sign=" + p.path("deploy.key"), "--patience=60s"}, args...)...)
	}
	if !await.Eventually(func() bool {
		out, err := p.mgmt(deploy(graph("one"), "--dry-run")...)
		return err == nil && strings.Contains(out, "batch 1: web1 web2")
	}) {
		t.Fatal(p.mgmt(deploy(p.path("site.yaml"), "--dry-run")...))
	}
	if out := p.good(deploy(p.path("site.yaml"), "--batch=1")...); !strings.Contains(out, "2 hosts converged") {
		t.Error(out)
	}
	wants := func(text string) { // the fact hostname is the name of the host in the store
		t.Helper()
		for _, host := range []string{"web1", "web2"} {
			if got, _ := os.ReadFile(p.path(host)); string(got) != text {
				t.Errorf("%s has %q, want %q", host, got, text)
			}
		}
	}
	wants("one")

	// Neither the user of a host nor an operator without a certificate of the authority deploys.
	for user, why := range map[string]string{"web1": "permission denied", "db1": "permission denied"} {
		args := p.as(user, "deploy", p.path("site.yaml"), "--to=group:web", "--sign="+p.path("deploy.key"))
		if out, err := p.mgmt(args...); err == nil || !strings.Contains(out, why) {
			t.Errorf("the user %s deploys: %v\n%s", user, err, out)
		}
	}
	if out, err := p.mgmt("deploy", graph("two"), "--to=group:web", "--sign="+p.path("deploy.key"), "--world=etcd://"+p.etcd.client, "--ca="+p.path("ca.pem")); err == nil {
		t.Error("somebody without a certificate deploys:", out)
	}
	wants("one")

	// A host that reboots keeps its place in the batch, and the batch waits for it.
	end()
	operator := p.background(deploy(graph("two"))...)
	operator.until("web1 is away: its batch waits for it")
	logs["web1, second life"], end = p.start("web1", "web")
	operator.good("deploy 2 to group:web is done: 2 hosts converged")
	wants("two")

	// One that does not come back stops the rollout in time, with the reason. When it is back, it takes what it has missed.
	end()
	out, err := p.mgmt(deploy(graph("three"), "--patience=3s")...)
	if err == nil || !strings.Contains(out, "web1 late: not done after 3s") || !strings.Contains(out, "1 host failed") {
		t.Error(err, out)
	}
	p.good(deploy(graph("three"), "--patience=20s", "--max-failed=2", "--missing=ok")...)
	logs["web1"], _ = p.start("web1", "web")
	if !await.Eventually(func() bool {
		return len(regexp.MustCompile(`group:web +3 +converged`).FindAllString(p.good(p.as("root", "deploys")...), -1)) == 2
	}) {
		t.Error(p.good(p.as("root", "deploys")...))
	}
	wants("three")
	p.good(deploy("--back-to=1")...)
	wants("one")
	for host, log := range logs {
		if strings.Contains(log.String(), "permission denied") {
			t.Errorf("%s lacks a right:\n%s", host, log.String())
		}
		if host == "db1" && strings.Contains(log.String(), "a deploy is in effect") {
			t.Error("a host of another role has the deploy:", log.String())
		}
	}
}
