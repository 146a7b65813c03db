package integration_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/internal/await"
)

// TestAdmitHost: a host that joins later can read neither the secrets of the objects nor those of the deploys that are there. An operator
// with the identity of an older host gives them to it by one verb, and the hosts trust what the operator has signed again.
func TestAdmitHost(t *testing.T) {
	p := newProtectedStore(t, map[string]string{"web1": "web", "web2": "web"})
	for _, host := range []string{"web1", "web2"} {
		p.write(host+".yaml", "resources: {noop: [{name: own}]}\n")
	}
	_, end := p.start("web1", "web")
	p.write("site.yaml", "secrets: [{age: secrets.yaml}]\nresources: {file: [{name: \""+p.dir+"/of-${{ facts.hostname }}\", content: \"${{ secret('token') }}\"}]}\n")
	deploy := p.signed("deploy", p.path("site.yaml"), "--to=group:web", "--missing=ok", "--patience=60s")
	admit := func(host, identity string, args ...string) []string {
		return p.signed(append([]string{"hosts", "admit", host, "--identity=" + p.path(identity), "--patience=60s"}, args...)...)
	}
	p.admitted("web1")

	// A deploy says which hosts its secrets are not for, with the recipient to add.
	nobody := "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"
	p.write("token.txt", "the token\n")
	p.write("secrets.yaml", "# kept\nrecipients: ["+nobody+"]\ntoken: \""+p.sealed("the token", nobody)+"\"\n")
	var recipient string
	if !await.Eventually(func() bool {
		out, err := p.mgmt(append(deploy, "--dry-run")...)
		found := regexp.MustCompile(`web1 can read no value of secrets.yaml.*(age1[0-9a-z]+)`).FindStringSubmatch(out)
		if err == nil && found != nil {
			recipient = found[1]
		}
		return recipient != ""
	}) {
		t.Fatal(p.mgmt(append(deploy, "--dry-run")...))
	}
	p.write("secrets.yaml", "# kept\nrecipients: ["+recipient+"]\ntoken: \""+p.sealed("the token", recipient)+"\"\n")
	if out := p.good(deploy...); !strings.Contains(out, "1 of 2 hosts converged; web2 not there") || strings.Contains(out, "can read no value") {
		t.Fatal(out)
	}
	object := p.path("object")
	p.good(p.as("root", "api", "create", "file", object, "content@"+p.path("token.txt"), `meta:={"secret":["content"]}`, "topic=group:web", "--trust="+p.path("deploy.key.pub"))...)
	p.good(p.as("root", "api", "create", "noop", "plain", "topic=group:web")...)
	status := func(host, text string) {
		t.Helper()
		want := regexp.MustCompile(`(?s)"` + host + `": *\{[^}]*` + text)
		if !await.Eventually(func() bool {
			out, err := p.mgmt(p.as("root", "api", "get", "file", object, "--status", "-o", "json")...)
			return err == nil && want.MatchString(out)
		}) {
			t.Fatal(p.mgmt(p.as("root", "api", "get", "file", object, "--status", "-o", "json")...))
		}
	}
	status("web1", `"state": *"ok"`)

	p.start("web2", "web")
	status("web2", "encrypted to other hosts")
	if !await.Eventually(func() bool { return strings.Contains(p.good(p.as("root", "deploys")...), "bad_graph") }) {
		t.Fatal(p.good(p.as("root", "deploys")...))
	}

	if out, err := p.mgmt(admit("web3", "state-web1/age.key")...); err == nil || !strings.Contains(out, "the host web3 has published no key") {
		t.Error(err, out)
	}
	if out, err := p.mgmt(admit("web2", "state-web1/age.key")...); err == nil || !strings.Contains(out, "web2: secrets are to be encrypted to age1") || !strings.Contains(out, "repeat it with --yes") {
		t.Error(err, out)
	}
	for _, args := range [][]string{{"--yes"}, {"--dry-run"}} { // web2 cannot give itself what it cannot read
		if out, err := p.mgmt(admit("web2", "state-web2/age.key", args...)...); err == nil || !strings.Contains(out, "file["+object+"]") || !strings.Contains(out, "secrets.yaml") || !strings.Contains(out, "stay as they are") {
			t.Error(err, out)
		}
	}
	if out := p.good(admit("web2", "state-web1/age.key", "--dry-run")...); !strings.Contains(out, "1 object") || !strings.Contains(out, "deploy 1 to group:web") {
		t.Error(out)
	}
	if out := p.good(p.as("root", "api", "get", "file", object)...); !strings.Contains(out, "version  1") {
		t.Error("a dry run writes:", out)
	}
	if out := p.good(admit("web2", "state-web1/age.key")...); !strings.Contains(out, "1 object") || !strings.Contains(out, "deploy 2 to group:web is done: 2 hosts converged") || strings.Contains(out, "the token") {
		t.Error(out)
	}
	status("web2", `"state": *"ok"`)
	for _, name := range []string{"of-web1", "of-web2"} {
		if got, err := os.ReadFile(p.path(name)); err != nil || string(got) != "the token" {
			t.Errorf("%s has %q, %v", name, got, err)
		}
	}
	// Both are now equal: the newer host admits the older one, and there is nothing left to do for the deploy.
	end()
	if out := p.good(admit("web1", "state-web2/age.key")...); !strings.Contains(out, "1 object") || strings.Contains(out, "deploy 3") {
		t.Error(out)
	}

	// A host that has left gets no later secret, no removal waits for it, and the store does not know it any more.
	if out, err := p.mgmt(p.signed("hosts", "remove", "web1", "web9", "root")...); err == nil || !strings.Contains(out, "web1 is removed, with ") || !strings.Contains(out, "nothing of a host web9") || !strings.Contains(out, "root is the operator") {
		t.Error(err, out)
	}
	if out, err := p.mgmt(p.signed("hosts", "allow", "root")...); err == nil || !strings.Contains(out, "root is the operator") {
		t.Error(err, out)
	}
	if out, err := p.mgmt(p.as("web1", "hosts")...); err == nil || !strings.Contains(out, "permission denied") && !strings.Contains(out, "user name not found") {
		t.Errorf("a removed host asks the store: %v\n%s", err, out)
	}
	if out := p.good(p.as("root", "api", "get", "file", object, "--status", "-o", "json")...); strings.Contains(out, "web1") {
		t.Error("a status is left:", out)
	}
	p.good(p.as("root", "api", "create", "file", object+"2", "content@"+p.path("token.txt"), `meta:={"secret":["content"]}`, "topic=group:web", "--trust="+p.path("deploy.key.pub"))...)
	if out, err := p.mgmt(admit("web2", "state-web1/age.key", "--dry-run")...); err == nil || !strings.Contains(out, "file["+object+"2]") {
		t.Error("the key of a removed host reads a later secret:", err, out)
	}
	if out := p.good(p.signed("hosts", "allow", "web1", "--role=web")...); !strings.Contains(out, "stay revoked") {
		t.Error(out)
	}
	p.until(4, `web1 +gone`, p.as("web1", "hosts")...) // it may ask again, and does not run
}

// admitted admits a host that has been started, as soon as it has told its key.
func (p *protectedStore) admitted(host string) {
	p.t.Helper()
	args := p.signed("hosts", "admit", host, "--yes", "--patience=60s")
	if !await.Eventually(func() bool { _, err := p.mgmt(args...); return err == nil }) {
		p.t.Fatal(p.mgmt(args...))
	}
}

// sealed encrypts a text as an operator does.
func (p *protectedStore) sealed(text, to string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.program, "secret", "encrypt", "--to="+to)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
