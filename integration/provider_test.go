package integration_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// processesOf returns the numbers of the processes whose program is a file.
func processesOf(program string) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if exe, err := os.Readlink(dir + "/exe"); err == nil && exe == program {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}

// plug builds a provider of the examples into a folder of plugins, with a descriptor.
func plug(t *testing.T, from, dir, name, flags string) (program string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, name)
	if out, err := exec.Command("go", "build", "-o", program, "../examples/"+from).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	schema, err := os.ReadFile("../examples/" + from + "/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	// The descriptor comes last, and at one stroke: a daemon may read the folder at any moment.
	for path, text := range map[string]string{
		name + ".schema":    string(schema),
		"." + name + ".new": "{name: " + name + ", command: [./" + name + flags + "], schema: " + name + ".schema, poll: 100ms}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "."+name+".new"), filepath.Join(dir, name+".yaml")); err != nil {
		t.Fatal(err)
	}
	return program
}

// asks runs a verb that asks the daemon, and returns its output.
func (d *realDaemon) asks(verb ...string) string {
	d.t.Helper()
	out, err := exec.Command(d.cmd.Path, append(verb, "--prefix", d.path("state"))...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%v: %v: %s", verb, err, out)
	}
	return string(out)
}

// TestProviderOfADaemon leads two providers through the life of a daemon. A killed one comes back without a failure, and what has
// drifted meanwhile is repaired. A provider that comes while the daemon runs is there with the next graph. No provider outlives a
// daemon that was killed.
func TestProviderOfADaemon(t *testing.T) {
	dir := t.TempDir()
	plugins := filepath.Join(dir, "plugins")
	for _, name := range []string{"cloud", "pki"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	aws := plug(t, "aws/provider", plugins, "aws", ", -folder, "+dir+"/cloud")
	graph := "resources:\n  aws:ec2:securitygroup:\n  - {name: web, groupDescription: wanted}\n"
	d := newDaemon(t, dir, graph, "--plugins", plugins, "--flapping", "off", "--trust-others")
	d.start()
	d.has("cloud/sg.json", `"wanted"`)
	d.says("converged: 1 ok")
	for range 3 { // more in a few seconds count as a provider that is broken
		pids := processesOf(aws)
		if len(pids) != 1 {
			t.Fatalf("there are %d processes of the provider", len(pids))
		}
		d.replace("cloud/sg.json", strings.ReplaceAll(d.read("cloud/sg.json"), `"wanted"`, `"drifted"`))
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		d.until("the provider is back", func() bool { now := processesOf(aws); return len(now) == 1 && now[0] != pids[0] })
		d.until("the group is repaired", func() bool {
			var groups map[string]any
			text := d.read("cloud/sg.json")
			return json.Unmarshal([]byte(text), &groups) == nil && len(groups) == 1 && strings.Contains(text, `"wanted"`)
		})
	}
	if strings.Contains(d.log.String(), "failed") {
		t.Errorf("a resource has failed:\n%s", d.log)
	}
	before := processesOf(aws)[0]
	if text := d.asks("plugin", "status"); !strings.Contains(text, "aws ") || !strings.Contains(text, " ready ") || !strings.Contains(text, strconv.Itoa(before)) {
		t.Errorf("the providers are:\n%s", text)
	}
	d.asks("plugin", "restart", "aws")
	d.until("the provider has another process", func() bool { now := processesOf(aws); return len(now) == 1 && now[0] != before })
	d.until("it is ready", func() bool { return strings.Contains(d.asks("plugin", "status"), " ready ") })
	ca := plug(t, "providers/ca/provider", plugins, "ca", ", -folder, "+dir+"/pki")
	d.write("graph.yaml", graph+"  ca:x509:certificate:\n  - {name: www, hosts: [www.example.org]}\n")
	d.says("converged: 2 ok")
	if pids := processesOf(ca); len(pids) != 1 {
		t.Errorf("there are %d processes of the new provider", len(pids))
	}
	d.kill()
	end := time.Now().Add(time.Second)
	for len(processesOf(aws))+len(processesOf(ca)) > 0 {
		if time.Now().After(end) {
			t.Fatal("a second after the daemon was killed, a provider is still there")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestReverseOfAProvider: what a provider has changed comes back when its resource leaves the graph, also after the death of the daemon
// and of the provider, and what it has made goes.
func TestReverseOfAProvider(t *testing.T) {
	dir := t.TempDir()
	plugins := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(filepath.Join(dir, "cloud"), 0o700); err != nil {
		t.Fatal(err)
	}
	plug(t, "aws/provider", plugins, "aws", ", -folder, "+dir+"/cloud")
	const empty = "resources: {}\n"
	d := newDaemon(t, dir, empty, "--plugins", plugins, "--flapping", "off", "--trust-others")
	made := exec.Command(d.cmd.Path, "resource", "aws:ec2:securitygroup", "old", "groupDescription=found", "securityGroupIngress:=[{\"ipProtocol\":\"before\"}]",
		"--plugins", plugins)
	if out, err := made.CombinedOutput(); made.ProcessState.ExitCode() != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	d.write("graph.yaml", `resources:
  aws:ec2:securitygroup:
  - {name: old, groupDescription: found, securityGroupIngress: [{ipProtocol: after}], meta: {reverse: true}}
  - {name: new, groupDescription: made, meta: {reverse: true}}
`)
	d.start()
	d.says("converged: 2 ok")
	if text := d.read("cloud/sg.json"); !strings.Contains(text, `"after"`) || strings.Contains(text, `"before"`) || !strings.Contains(text, `"made"`) {
		t.Fatalf("the groups are:\n%s", text)
	}
	d.kill()
	d = newDaemon(t, dir, empty, "--plugins", plugins, "--flapping", "off", "--trust-others")
	d.start()
	d.until("the groups are as before", func() bool {
		text := d.read("cloud/sg.json")
		return strings.Contains(text, `"before"`) && !strings.Contains(text, `"after"`) && !strings.Contains(text, `"made"`)
	})
}

// TestSecretsOfAProvider: a secret that goes to a provider and comes back from it is in the provider's own store, and in no output, log,
// argument or file of others.
func TestSecretsOfAProvider(t *testing.T) {
	const first, second = "hunter2-of-the-first-graph", "swordfish-of-the-second-graph"
	dir := t.TempDir()
	plugins := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(filepath.Join(dir, "cloud"), 0o700); err != nil {
		t.Fatal(err)
	}
	aws := plug(t, "aws/provider", plugins, "aws", ", -folder, "+dir+"/cloud")
	graph := func(secret string) string {
		return "resources:\n  aws:ec2:securitygroup:\n  - {name: web, groupDescription: made, securityGroupIngress: [{ipProtocol: " + secret + "}], meta: {secret: [securityGroupIngress]}}\n"
	}
	d := newDaemon(t, dir, graph(first), "--plugins", plugins, "--flapping", "off", "--trust-others", "--debug")
	d.start()
	d.has("cloud/sg.json", first)
	d.says("converged: 1 ok")
	// The drift of a secret, and its change, are reported without the texts.
	d.replace("cloud/sg.json", strings.ReplaceAll(d.read("cloud/sg.json"), first, "drifted-"+second))
	d.has("cloud/sg.json", `"`+first+`"`)
	d.write("graph.yaml", graph(second))
	d.has("cloud/sg.json", `"`+second+`"`)
	var seen strings.Builder
	for _, verb := range [][]string{{"status", "-o", "json"}, {"why", "aws:ec2:securitygroup[web]"}, {"log"}, {"log", "-o", "json"}, {"plugin", "status"}} {
		seen.WriteString(d.asks(verb...))
	}
	if !strings.Contains(seen.String(), "securitygroup[web]") {
		t.Fatalf("the verbs tell nothing of the group:\n%s", seen.String())
	}
	d.write("next.yaml", graph(first))
	plan := exec.Command(d.cmd.Path, "plan", "--yaml", d.path("next.yaml"), "--plugins", plugins, "--trust-others", "--prefix", d.path("state"))
	out, err := plan.CombinedOutput()
	if plan.ProcessState.ExitCode() != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	seen.Write(out)
	for _, pid := range append(processesOf(aws), d.cmd.Process.Pid) {
		argv, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(argv)
	}
	seen.WriteString(d.log.String())
	for _, secret := range []string{first, second} {
		if i := strings.Index(seen.String(), secret); i >= 0 {
			t.Errorf("a secret is shown: %q", seen.String()[max(0, i-200):i+len(secret)])
		}
	}
	err = filepath.WalkDir(d.path("state"), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		info, wrong := e.Info()
		if err == nil && wrong == nil && info.Mode().Perm()&0o077 != 0 && (strings.Contains(string(text), first) || strings.Contains(string(text), second)) {
			t.Errorf("%s, which others may read, has a secret", path)
		}
		return errors.Join(err, wrong)
	})
	if err != nil {
		t.Fatal(err)
	}
}
