package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/internal/await"
)

// TestRightsInEtcd: an operator asks the store itself, gives a host its rights, and protects the store. The host then gets
// what is for it, writes its status, and may alter no object. Whoever is nobody there is told at once.
func TestRightsInEtcd(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, etcd := t.TempDir(), startEtcd(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"root.password": "of root\n", "web1.password": "of web1\n", "wrong.password": "wrong\n", "g.yaml": "resources: {noop: [{name: own}]}\n",
	} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	world := "--world=etcd://" + etcd.client
	mgmt := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), args...).CombinedOutput()
		return string(out), err
	}
	good := func(args ...string) string {
		t.Helper()
		out, err := mgmt(args...)
		if err != nil {
			t.Fatalf("mgmt %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	refused := func(why string, args ...string) {
		t.Helper()
		if out, err := mgmt(args...); err == nil || !strings.Contains(out, why) {
			t.Errorf("mgmt %s: %v, want %q\n%s", strings.Join(args, " "), err, why, out)
		}
	}
	root := []string{world, "--user=root", "--password-file=" + path("root.password")}
	host := []string{world, "--user=web1", "--password-file=" + path("web1.password")}

	good("deploy", "keygen", path("deploy.key"))
	good("hosts", "allow", "web1", world, "--role=web", "--new-password-file="+path("web1.password"), "--sign="+path("deploy.key"))
	good("hosts", "protect", world, "--new-password-file="+path("root.password"))
	refused("user name is empty", "api", "list", "file", world)
	refused("authentication failed", "api", "list", "file", world, "--user=web1", "--password-file="+path("wrong.password"))
	refused("mgmt hosts allow", "run", path("g.yaml"), "--prefix="+path("wrong"), world, "--user=web1", "--password-file="+path("wrong.password"))

	topics := map[string]string{"none": "", "all": "all", "role": "group:web", "own": "host:web1"}
	for name, topic := range topics {
		args := append([]string{"api", "create", "file", path(name), "content=1"}, root...)
		if topic != "" {
			args = append(args, "topic="+topic)
		}
		good(args...)
	}
	good(append([]string{"api", "create", "file", path("other"), "content=1", "topic=host:web2"}, root...)...)
	refused("permission denied", append([]string{"api", "update", "file", path("all"), "content=2"}, host...)...)

	start := func(as []string) (log *safeBuffer, end func()) {
		log = &safeBuffer{}
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), append([]string{
			"run", path("g.yaml"), "--prefix=" + path("state"), "--hostname=web1", "--role=web", "--accept=file",
		}, as...)...)
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		end = sync.OnceFunc(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				t.Log(log.String())
			}
		})
		t.Cleanup(end)
		return log, end
	}
	log, end := start(host)
	want := func(content string) {
		t.Helper()
		for name := range topics {
			if !await.Eventually(func() bool { text, _ := os.ReadFile(path(name)); return string(text) == content }) {
				t.Fatalf("the object of the topic %s has not come with %s", name, content)
			}
		}
	}
	want("1")
	for name := range topics {
		good(append([]string{"api", "update", "file", path(name), "content=2"}, root...)...)
	}
	want("2")
	if _, err := os.Stat(path("other")); err == nil {
		t.Error("the host has the object of another one")
	}
	status := append([]string{"api", "get", "file", path("own"), "--status"}, root...)
	if !await.Eventually(func() bool { return strings.Contains(good(status...), `"version":2`) }) {
		t.Error("no status:", good(status...))
	}
	if text := log.String(); strings.Contains(text, "permission denied") {
		t.Error(fmt.Sprint("the host lacks a right:\n", text))
	}

	// After a reboot the store refuses the host. Its graph and its last objects are applied all the same.
	end()
	for name := range topics {
		if err := os.Remove(path(name)); err != nil {
			t.Fatal(err)
		}
	}
	log, _ = start([]string{world, "--user=web1", "--password-file=" + path("wrong.password")})
	want("2")
	if text := log.String(); !strings.Contains(text, "the store refuses this host") {
		t.Error(fmt.Sprint("the log does not tell of it:\n", text))
	}
}

// TestModelsInEtcd: a verb that asks the store itself knows the models of its folder, and no table without it.
func TestModelsInEtcd(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	world, faulty := "--world=etcd://"+startEtcd(t).client, t.TempDir()
	if err := os.WriteFile(filepath.Join(faulty, "a.yaml"), []byte("model: A\ntable: file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mgmt := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), append([]string{"api"}, args...)...).CombinedOutput()
		return string(out), err
	}
	models := "--models=../examples/models"
	if out, err := mgmt("create", "subnet", "n1", "topic=all", "cidr=10.0.0.0/8", "vlan:=7", world, models); err != nil {
		t.Fatal(err, out)
	}
	if out, err := mgmt("list", "subnet", "-o", "json", world, models); err != nil || !strings.Contains(out, `"id":"n1"`) {
		t.Error(err, out)
	}
	for want, args := range map[string][]string{
		"subnet":           {"list", "subnet", world},
		"kind of resource": {"list", "subnet", world, "--models", faulty},
		"no store":         {"list", "subnet", models},
	} {
		if out, err := mgmt(args...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%v: %v, %s; want %s", args, err, out, want)
		}
	}
}
