package integration_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingH6H7ClaimsGiveNoRight: web1, which takes itself for a host of group:db, holds up no deploy to that group and reads no secret of it. Both
// are told to the operator.
func TestFindingH6H7ClaimsGiveNoRight(t *testing.T) {
	p := newProtectedStore(t, map[string]string{"web1": "web", "db1": "db"})
	for _, host := range []string{"web1", "db1"} {
		p.write(host+".yaml", "resources: {noop: [{name: own}]}\n")
		p.start(host, "db") // what web1 says of itself
		p.admitted(host)
	}
	p.write("site.yaml", "resources: {noop: [{name: of the deploy}]}\n")
	deploy := p.signed("deploy", p.path("site.yaml"), "--to=group:db", "--patience=60s")
	if !await.Eventually(func() bool {
		out, err := p.mgmt(append(deploy, "--dry-run")...)
		return err == nil && strings.Contains(out, "batch 1: db1\n") && strings.Contains(out, "gives group:db to web1")
	}) {
		t.Fatal(p.mgmt(append(deploy, "--dry-run")...))
	}
	if out := p.good(deploy...); !strings.Contains(out, "deploy 1 to group:db is done: 1 host converged") || !strings.Contains(out, "gives group:db to web1") {
		t.Error(out)
	}
	p.write("token.txt", "the token\n")
	p.good(p.as("root", "api", "create", "file", p.path("object"), "content@"+p.path("token.txt"), `meta:={"secret":["content"]}`, "topic=group:db", "--trust="+p.path("deploy.key.pub"))...)
	reads := func(host string) error {
		_, err := p.mgmt(p.signed("hosts", "admit", "db1", "--identity="+p.path("state-"+host+"/age.key"), "--dry-run")...)
		return err
	}
	if err := reads("db1"); err != nil {
		t.Error("db1 cannot read the secret of its group:", err)
	}
	if reads("web1") == nil {
		t.Error("web1 reads the secret of another group")
	}
}

// TestFindingH9StolenCertificate: the certificate of a removed host opens no daemon any more, also one that comes back by its next start without the store,
// and neither does it open etcd. The host that comes back with another certificate is served.
func TestFindingH9StolenCertificate(t *testing.T) {
	p := newProtectedStore(t, map[string]string{"web1": "web", "web2": "web"})
	p.write("web1.yaml", "resources: {noop: [{name: own}]}\n")
	address := nstest.FreeAddress(t)
	p.write("web2.yaml", "resources: {noop: [{name: own}]}\n")
	_, end := p.start("web1", "web")
	p.admitted("web1") // it has told the store its certificate, too
	end()
	start := func() func() {
		log := &safeBuffer{}
		cmd := exec.Command(p.program, p.as("web2", "run", p.path("web2.yaml"), "--prefix="+p.path("state-web2"), "--hostname=web2", "--role=web", "--accept=file", "--lease=2s",
			"--trusted-keys="+p.path("deploy.key.pub"), "--api-listen="+address, "--api-ca="+p.path("ca.pem"), "--api-cert="+p.path("server.pem"), "--api-key="+p.path("server.key"))...)
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		end := sync.OnceFunc(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				t.Log(log.String())
			}
		})
		t.Cleanup(end)
		return end
	}
	ask := func(cert string) (string, error) {
		return p.mgmt("api", "list", "noop", "--server="+address, "--ca="+p.path("ca.pem"), "--cert="+p.path(cert+".pem"), "--key="+p.path(cert+".key"))
	}
	says := func(cert, want string) {
		t.Helper()
		if !await.Eventually(func() bool {
			out, err := ask(cert)
			return (err == nil) == (want == "") && strings.Contains(out, want)
		}) {
			out, err := ask(cert)
			t.Fatalf("%s is told %v %s, want %q", cert, err, out, want)
		}
	}
	end = start()
	says("web1", "")
	if out := p.good(p.signed("hosts", "remove", "web1")...); !strings.Contains(out, "web1 is removed") {
		t.Error(out)
	}
	says("web1", "was removed from the store")
	says("root", "")
	if out, code := p.ends(p.as("web1", "hosts")...); code != 1 {
		t.Error("etcd answers it:", code, out)
	}
	end()
	p.etcd.kill()
	end = start()
	says("web1", "was removed from the store")
	p.etcd.start()
	if !await.Eventually(func() bool { _, err := p.mgmt(p.as("root", "hosts")...); return err == nil }) {
		t.Fatal("etcd does not come back")
	}
	p.good(p.signed("hosts", "allow", "web1", "--role=web")...)
	says("web1", "was revoked: it needs a new one")
	// A host of the store that has not been removed stays as it is.
	says("web2", "")
	end()
}

// TestFindingH9OpenStore: in a store that lets everybody write, a removed host that goes on counts for no daemon with the operator's key: not its facts, not
// its exports, nor what it exports later or says of an object, also where it puts the earlier list back, and after a restart. A plan says the same.
func TestFindingH9OpenStore(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &protectedStore{t: t, program: filepath.Join(bin, "mgmt"), dir: t.TempDir(), etcd: startEtcd(t)}
	ws := "--world=etcd://" + p.etcd.client
	w, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{p.etcd.client}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p.good("deploy", "keygen", p.path("deploy.key"))
	for _, host := range []string{"gone", "web1"} {
		p.good("hosts", "allow", host, "--role=web", ws, "--sign="+p.path("deploy.key"))
	}
	earlier, err := w.Get(t.Context(), "fleet/store")
	if err != nil {
		t.Fatal(err)
	}
	puts := func(key, value string) {
		t.Helper()
		if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
	}
	daemon := func(host string) []string {
		return []string{p.path(host + ".yaml"), ws, "--accept=value,kv.state", "--hostname=" + host, "--prefix=" + p.path("state-"+host), "--trusted-keys=" + p.path("deploy.key.pub")}
	}
	start := func(host string) (log *safeBuffer, end func()) {
		log = &safeBuffer{}
		cmd := exec.Command(p.program, append([]string{"run", "--lease=2s", "--max-removals=off"}, daemon(host)...)...)
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		end = sync.OnceFunc(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				t.Log(host, "says:", log.String())
			}
		})
		t.Cleanup(end)
		return log, end
	}
	exports := func(host, name string) {
		p.write(host+".new", "resources: {value: [{name: "+name+", any: 1, meta: {export: [\"*\"], hidden: true}}]}\n")
		if err := os.Rename(p.path(host+".new"), p.path(host+".yaml")); err != nil {
			t.Fatal(err)
		}
	}
	// says waits until web2 knows these hosts, and has collected what these names say.
	says := func(names, collected string) {
		t.Helper()
		var text, got string
		if !await.Eventually(func() bool {
			known, _ := os.ReadFile(p.path("names"))
			out, err := p.mgmt("status", "--all", "--prefix="+p.path("state-web2"))
			all := regexp.MustCompile(`value\[([^]]*)\]`).FindAllStringSubmatch(out, -1)
			var list []string
			for _, m := range all {
				list = append(list, m[1])
			}
			slices.Sort(list)
			text, got = string(known), strings.Join(slices.Compact(list), " ")
			return err == nil && text == names+"\n" && got == collected
		}) {
			t.Fatalf("web2 knows %q and has %q, want %q and %q", text, got, names, collected)
		}
	}
	exports("web1", "hers")
	exports("web3", "good")
	p.write("web2.yaml", "resources: {file: [{name: \""+p.path("names")+"\", content: \"${{ hosts.map(h, h).join(' ') }}\\n\"}]}\ncollect: [{kind: value}]\n")
	start("web1")
	start("web3")
	log, end := start("web2")
	says("web1 web2 web3", "good hers")
	puts("s/gone/kv/one", "{}")
	if out := p.good("hosts", "remove", "gone", "web1", ws, "--sign="+p.path("deploy.key")); !strings.Contains(out, "mgmt still runs on web1") {
		t.Error(out)
	}
	says("web2 web3", "good")
	// What web1 writes from now on comes to web2 before what web3 writes then.
	exports("web1", "again")
	if !await.Eventually(func() bool { _, err := w.Get(t.Context(), "exports/all/web1/value/again"); return err == nil }) {
		t.Fatal("web1 does not go on")
	}
	exports("web3", "better")
	says("web2 web3", "better")
	// What another one writes about an object holds up no removal, be it asked of a daemon or of the store.
	for name, way := range map[string][]string{"one": {"--prefix=" + p.path("state-web2")}, "two": {ws, "--trust=" + p.path("deploy.key.pub")}} {
		p.good(append([]string{"api", "create", "kv", name, "value=x"}, way...)...)
		puts("s/gone/kv/"+name, `{"state":"failed","revision":1}`)
		p.good(append([]string{"api", "delete", "kv", name, "--remove"}, way...)...)
	}
	puts("fleet/store", string(earlier.Value))
	if !await.Eventually(func() bool { return strings.Contains(log.String(), "the record of the store does not count") }) {
		t.Fatal("nothing is told of the earlier list")
	}
	exports("web3", "best")
	says("web2 web3", "best")
	plan := append([]string{"plan", "--all"}, daemon("web2")...)
	if !await.Eventually(func() bool { // the daemon notes what is in effect a second later
		out, err := p.mgmt(plan...)
		return err == nil && strings.Contains(out, "plan: 2 ok")
	}) {
		out, err := p.mgmt(plan...)
		t.Errorf("the plan is %v\n%s", err, out)
	}
	end()
	if err := os.Remove(p.path("names")); err != nil {
		t.Fatal(err)
	}
	start("web2")
	says("web2 web3", "best")
}

// TestFindingH6OlderStore: a store of an older mgmt is taken over by one verb: hosts with the roles of their rights, their keys, and the right to read what
// is signed. A daemon says so until then.
func TestFindingH6OlderStore(t *testing.T) {
	p := newProtectedStore(t, map[string]string{"web1": "web"})
	w, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{p.etcd.client}, Cert: p.path("root.pem"), Key: p.path("root.key"), CA: p.path("ca.pem")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := older(t.Context(), w, "web1"); err != nil {
		t.Fatal(err)
	}
	p.write("web1.yaml", "resources: {noop: [{name: own}]}\n")
	log, _ := p.start("web1", "web")
	if !await.Eventually(func() bool { return strings.Contains(log.String(), "run mgmt api migrate once") }) {
		t.Fatal(log.String())
	}
	p.write("site.yaml", "resources: {file: [{name: \""+p.path("out")+"\", content: \"one\"}]}\n")
	deploy := p.signed("deploy", p.path("site.yaml"), "--to=group:web", "--patience=60s")
	if !await.Eventually(func() bool {
		out, err := p.mgmt(append(deploy, "--dry-run")...)
		return err == nil && strings.Contains(out, "no host that is there takes deploys") && strings.Contains(out, "gives group:web to web1")
	}) {
		t.Fatal(p.mgmt(append(deploy, "--dry-run")...))
	}
	migrate := p.signed("api", "migrate")
	if out, err := p.mgmt(migrate...); err == nil || !strings.Contains(out, "web1: roles web, by its rights in etcd; secrets to age1") || !strings.Contains(out, "repeat it with --yes") {
		t.Errorf("%v: %s", err, out)
	}
	if out := p.good(append(migrate, "--dry-run")...); !strings.Contains(out, "web1: may read its record") {
		t.Error(out)
	}
	if out := p.good(append(migrate, "--yes")...); !strings.Contains(out, "1 host and 0 deploys are signed for it") {
		t.Error(out)
	}
	if out := p.good(migrate...); strings.Contains(out, "web1") {
		t.Error("there is something left to do:", out)
	}
	if out := p.good(deploy...); !strings.Contains(out, "deploy 1 to group:web is done: 1 host converged") {
		t.Error(out)
	}
	if text, err := os.ReadFile(p.path("out")); string(text) != "one" {
		t.Error(string(text), err)
	}
}

// older leaves a store as an older mgmt has it: without signed records, and without the right to read them.
func older(ctx context.Context, w *etcd.World, host string) error {
	var old []etcd.Grant
	for _, g := range etcd.HostGrants(host, []string{"web"}) {
		if !strings.HasPrefix(g.Key, "fleet/") {
			old = append(old, g)
		}
	}
	if err := w.Allow(ctx, host, "", old...); err != nil {
		return err
	}
	_, _, err := w.Txn(ctx, nil, []world.Op{{Key: "fleet/store", Delete: true}, {Key: "fleet/hosts/" + host, Delete: true}})
	return err
}
