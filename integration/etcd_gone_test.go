package integration_test

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// ends runs a verb, and returns what it says with its exit code.
func (p *protectedStore) ends(args ...string) (out string, code int) {
	p.t.Helper()
	out, err := p.mgmt(args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out, exit.ExitCode()
	} else if err != nil {
		p.t.Fatal(err)
	}
	return out, 0
}

// until waits until a verb ends with a code and a text that matches.
func (p *protectedStore) until(code int, want string, args ...string) {
	p.t.Helper()
	is := func() (string, int, bool) {
		out, got := p.ends(args...)
		return out, got, got == code && regexp.MustCompile(want).MatchString(out)
	}
	if !await.Eventually(func() bool { _, _, ok := is(); return ok }) {
		out, got, _ := is()
		p.t.Fatalf("mgmt %s ends with %d, want %d and %s:\n%s", strings.Join(args, " "), got, code, want, out)
	}
}

// TestFindingQ13Gone: a host that was admitted stays in the list when it dies, also for the daemons with the rights of hosts, until it comes back or is
// removed. One that was never there is missed, too. After a loss of the store the answer is the same.
func TestFindingQ13Gone(t *testing.T) {
	p := newProtectedStore(t, map[string]string{"web1": "web", "web2": "web", "web3": "web"})
	for _, host := range []string{"web1", "web2"} {
		p.write(host+".yaml", "resources: {noop: [{name: own}]}\n")
	}
	_, end := p.start("web1", "web")
	address := nstest.FreeAddress(t)
	p.start("web2", "web", "--api-listen="+address, "--api-ca="+p.path("ca.pem"), "--api-cert="+p.path("server.pem"), "--api-key="+p.path("server.key"))
	all := p.as("root", "hosts")
	p.until(4, `(?s)web1 +converged .*web2 +converged .*web3 +gone, and was never there .*not there: web3; start mgmt`, all...)
	p.good(p.signed("hosts", "remove", "web3")...)
	p.until(0, `(?s)^HOST[^\n]*\nweb1 +converged [^\n]*\nweb2 +converged [^\n]*\n$`, all...)

	end()
	local := []string{"hosts", "--socket=" + p.path("state-web2/mgmt.sock")}
	p.until(4, `(?s)web1 +gone for \d+\S* +20\d\d.*\nweb2 +converged .*not there: web1; start mgmt`, local...)
	p.until(4, `web1 +gone for \d`, all...)
	p.until(4, `(?s)web1 +gone for \d+\S* +20\d\d.*\nweb2 +converged .*not there: web1; start mgmt`,
		"hosts", "--server="+address, "--ca="+p.path("ca.pem"), "--cert="+p.path("root.pem"), "--key="+p.path("root.key"))
	p.until(4, `(?s)^HOST[^\n]*\nweb1 +gone for \d`, p.as("root", "hosts", "web1")...)
	p.until(4, `"state": "gone"`, p.as("root", "hosts", "web1", "-o", "json")...)
	p.until(0, `(?s)^HOST[^\n]*\nweb2 +converged `, p.as("root", "hosts", "web2")...)
	p.until(1, `the host web4 is not there, and no mgmt hosts allow has given it a record here`, p.as("root", "hosts", "web4")...)

	p.etcd.kill()
	p.etcd.start()
	p.until(4, `web1 +gone for \d`, local...)

	p.start("web1", "web")
	p.until(0, `(?s)web1 +converged .*\nweb2 +(converged|working) `, local...)
}

// TestFindingQ14Missing: a host that is stopped when a deploy ends is named, with the time since its last word, and the exit code is as the operator has
// said. It takes the deploy when it is back, and a deploy that waits for it ends then.
func TestFindingQ14Missing(t *testing.T) {
	p := newProtectedStore(t, map[string]string{"web1": "web", "web2": "web", "web3": "web"})
	var end func()
	for _, host := range []string{"web1", "web2", "web3"} {
		p.write(host+".yaml", "resources: {noop: [{name: own}]}\n")
		_, end = p.start(host, "web")
	}
	graph := func(name string) string {
		p.write("site.yaml", "resources: {noop: [{name: "+name+"}]}\n")
		return p.path("site.yaml")
	}
	deploy := func(args ...string) []string {
		return p.signed(append([]string{"deploy", "--to=group:web"}, args...)...)
	}
	p.until(0, `batch 1: web1 web2 web3\n`, deploy(graph("one"), "--dry-run")...)
	end() // web3
	p.until(4, `web3 +gone for`, p.as("root", "hosts")...)

	out, code := p.ends(deploy(p.path("site.yaml"))...)
	if code != 4 || !regexp.MustCompile(`deploy 1 to group:web is done: 2 of 3 hosts converged; web3 not seen for \d+\S*s\n`).MatchString(out) ||
		!strings.Contains(out, "not all hosts of group:web have deploy 1: web3 not seen for") {
		t.Errorf("%d\n%s", code, out)
	}
	if out, code := p.ends(deploy(graph("two"), "--missing=ok")...); code != 0 || !strings.Contains(out, "deploy 2 to group:web is done: 2 of 3 hosts converged; web3 not seen for") {
		t.Errorf("%d\n%s", code, out)
	}
	// The patience ends the time of each host, so the host that is stopped is alone here.
	if out, code := p.ends(p.signed("deploy", "--to=host:web3", graph("three"), "--missing=wait", "--patience=1s")...); code != 4 ||
		!strings.Contains(out, "waiting for web3, 1s at most") || !strings.Contains(out, "to host:web3 is done: 0 of 1 host converged; web3 not seen for") {
		t.Errorf("%d\n%s", code, out)
	}
	if out, code := p.ends(deploy(p.path("site.yaml"), "--missing=perhaps")...); code != 1 || !strings.Contains(out, "write fail, wait or ok") {
		t.Errorf("%d\n%s", code, out)
	}

	operator := p.background(deploy(graph("four"), "--missing=wait")...)
	operator.until("waiting for web3, 10m0s at most")
	p.start("web3", "web")
	operator.good("deploy 3 to group:web is done: 3 hosts converged")
}
