package integration_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/resources/ssh/sshtest"
)

// farNoted is the provider of a type on a target. Its set waits in its middle until the file go is there. Each call is
// noted, and each note is counted that was written.
const farNoted = `#!/bin/sh
d=${0%/*}
case $1 in
get) [ ! -f "$d/note" ] || printf '{"name": "milk", "text": "%s"}\n' "$(cat "$d/note")" ;;
set)
	cat > /dev/null
	echo "set begins" >> "$d/calls"
	printf half > "$d/note"
	touch "$d/middle"
	while [ ! -f "$d/go" ]; do sleep 0.05; done
	printf 'buy some' > "$d/note"
	echo "set ends" >> "$d/calls"
	;;
esac
`

// far is a daemon with a configuration, whose target is this machine behind an sshd.
type far struct {
	*testing.T
	dir, program string
	server       *sshtest.Server
	log          *os.File
	cmd          *exec.Cmd
}

func newFar(t *testing.T) *far {
	dir, err := program()
	if err != nil {
		t.Fatal(err)
	}
	f := &far{T: t, dir: t.TempDir(), program: filepath.Join(dir, "mgmt"), server: sshtest.Start(t)}
	for _, d := range []string{"types", "targets"} {
		if err := os.Mkdir(filepath.Join(f.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.put("mgmt.yaml", "graph: graph.yaml\ntypes: types\ntargets: targets\nprefix: state\nsocket: s.sock\ntrust_others: true\n")
	f.put("types/note.yaml", fmt.Sprintf("name: note\ndocs: A note.\nfeatures: [remote_resource]\nattributes:\n  name: {type: String, kind: namevar, docs: Its name.}\n  text: {type: String, docs: Its text.}\n"+
		"get: [sh, %[1]s/noted, get]\nset: [sh, %[1]s/noted, set]\n", f.dir))
	f.put("noted", farNoted)
	f.put("graph.yaml", "resources: {note: [{name: milk, target: web1, text: buy some}]}\n")
	f.put("targets/web.yaml", f.target("web1", f.server.Identity))
	return f
}

func (f *far) put(name, text string) {
	f.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *far) text(name string) string {
	text, _ := os.ReadFile(filepath.Join(f.dir, name))
	return string(text)
}

func (f *far) exists(name string) bool {
	_, err := os.Stat(filepath.Join(f.dir, name))
	return err == nil
}

func (f *far) target(name, identity string) string {
	return fmt.Sprintf("%s: {transport: ssh, host: 127.0.0.1, port: %d, identity_file: %s, host_key: %s, keepalive: 1}\n", name, f.server.Port, identity, f.server.HostKey)
}

func (f *far) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.program, args...)
	cmd.Env = append(os.Environ(), "MGMT_CONFIG="+filepath.Join(f.dir, "mgmt.yaml"), "MGMT_TRUST_OTHERS=true")
	return cmd
}

// start starts the daemon. It is killed with the test.
func (f *far) start() {
	f.Helper()
	log, err := os.OpenFile(filepath.Join(f.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	f.log, f.cmd = log, f.command("run")
	f.cmd.Stderr = log
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := f.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(f.kill)
}

// kill kills the daemon as kill -9 does, and waits for its end.
func (f *far) kill() {
	if f.cmd != nil {
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
		_ = f.log.Close()
		f.cmd = nil
	}
}

// mgmt runs a verb, and returns its code and what it says.
func (f *far) mgmt(args ...string) (int, string) {
	f.Helper()
	out, err := f.command(args...).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(out)
	} else if err != nil {
		f.Fatal(err)
	}
	return 0, string(out)
}

func (f *far) settled() {
	f.Helper()
	if code, out := f.mgmt("status", "--wait", "converged", "--timeout", "120s", "--exit-code"); code != 0 {
		f.Fatalf("it does not converge: %d, %s\n%s", code, out, f.text("log"))
	}
}

// running returns the processes whose command line has a word.
func running(word string) (list []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if text, _ := os.ReadFile(path); strings.Contains(string(text), word) {
			list = append(list, path)
		}
	}
	return list
}

// TestFindingE8DaemonKilled: the daemon is killed in the middle of a Set on a target. The command on the target ends
// with the connection, and nothing is left on this side. The next daemon reads before it sets, and sets once.
func TestFindingE8DaemonKilled(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	f.start()
	sshtest.Until(t, "in the middle of Set", func() bool { return f.exists("middle") })
	f.kill()
	sshtest.Until(t, "the command has ended on the target", func() bool { return len(running(filepath.Join(f.dir, "noted"))) == 0 })
	if got := running(filepath.Join(f.dir, "mgmt.yaml")); len(got) > 0 {
		t.Errorf("processes are left: %q", got)
	}
	if f.text("note") != "half" || f.text("calls") != "set begins\n" {
		t.Errorf("the first Set went on without a daemon: %q, %q", f.text("note"), f.text("calls"))
	}
	f.put("go", "")
	f.start()
	f.settled()
	if f.text("note") != "buy some" || f.text("calls") != "set begins\nset begins\nset ends\n" {
		t.Errorf("the note is %q, and the calls are\n%s\n%s", f.text("note"), f.text("calls"), f.text("log"))
	}
	if _, out := f.mgmt("log", "-o", "json"); !strings.Contains(out, "note[milk@web1]") {
		t.Errorf("the history is lost: %s", out)
	}
	f.put("note", "other") // the daemon goes on as ever
	if code, out := f.mgmt("plan"); code != 2 || !strings.Contains(out, "other") {
		t.Errorf("a plan ends with %d and says %s", code, out)
	}
}

// TestFindingE8DaemonKilledLate: the daemon is killed right after the command has done its work on the target. The work is
// not done again.
func TestFindingE8DaemonKilledLate(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	f.start()
	sshtest.Until(t, "in the middle of Set", func() bool { return f.exists("middle") })
	f.put("go", "")
	sshtest.Until(t, "the Set has ended on the target", func() bool { return strings.HasSuffix(f.text("calls"), "set ends\n") })
	f.kill()
	f.start()
	f.settled()
	if f.text("note") != "buy some" || strings.Count(f.text("calls"), "set begins") != 1 {
		t.Errorf("the note is %q, and the calls are\n%s", f.text("note"), f.text("calls"))
	}
}

// TestFindingE8Reload: a reload takes over targets that were added, changed or removed. Bad files are refused with their
// places, and the targets stay as they were.
func TestFindingE8Reload(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	f.put("go", "")
	f.start()
	f.settled()

	f.put("targets/more.yaml", f.target("web2", f.server.Identity))
	if code, out := f.mgmt("reload"); code != 0 {
		t.Fatalf("a target more: %d, %s", code, out)
	}
	f.put("graph.yaml", "resources: {note: [{name: milk, target: web2, text: buy some, meta: {poll: 1s}}]}\n")
	if code, out := f.mgmt("reload", "--wait"); code != 0 {
		t.Errorf("a resource on the new target: %d, %s", code, out)
	}

	// A credential that is not let in any more, and another one.
	f.put("none", "")
	f.put("targets/more.yaml", f.target("web2", filepath.Join(f.dir, "none")))
	f.put("note", "drifted")
	if code, out := f.mgmt("reload"); code != 0 {
		t.Errorf("another credential: %d, %s", code, out)
	}
	if code, out := f.mgmt("resource", "note", "milk", "--target", "web2"); code == 0 {
		t.Errorf("a look with a bad credential ends with 0: %s", out)
	}
	f.put("targets/more.yaml", f.target("web2", f.server.Identity))
	if code, out := f.mgmt("reload", "--wait"); code != 0 {
		t.Errorf("the right credential again: %d, %s\n%s", code, out, f.text("log"))
	}

	// Bad files.
	f.put("targets/more.yaml", "web2: {transport: ssh, hots: x}\n"+f.target("web3", f.server.Identity))
	f.put("targets/bad.yaml", "web4: [\n")
	code, out := f.mgmt("reload")
	for _, want := range []string{"more.yaml:1:24: ", `unknown key "hots"`, "bad.yaml:"} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("bad files: %d, %q is not in %s", code, want, out)
		}
	}
	f.put("note", "drifted")
	if code, out := f.mgmt("status", "--exit-code"); code != 1 || !strings.Contains(out, "the last good one stays in effect") {
		t.Errorf("after a reload that was refused: %d, %s", code, out)
	}
	sshtest.Until(t, "the old target serves", func() bool { return f.text("note") == "buy some" })
	if err := os.Remove(filepath.Join(f.dir, "targets/bad.yaml")); err != nil {
		t.Fatal(err)
	}

	// A target that is gone.
	f.put("targets/more.yaml", f.target("web3", f.server.Identity))
	if code, out := f.mgmt("reload"); code != 0 {
		t.Errorf("a target that is gone: %d, %s", code, out)
	}
	sshtest.Until(t, "failed for a target that is gone", func() bool {
		_, out := f.mgmt("status")
		return strings.Contains(out, "note[milk@web2] failed") && strings.Contains(out, "web2")
	})
	f.put("graph.yaml", "resources: {note: [{name: milk, target: web2, text: six}]}\n")
	if code, out := f.mgmt("reload"); code != 1 || !strings.Contains(out, "graph.yaml:1:") || !strings.Contains(out, `there is no target "web2"`) {
		t.Errorf("a resource of a target that is gone: %d, %s", code, out)
	}
	f.put("graph.yaml", "resources: {note: [{name: milk, target: web3, text: buy some}]}\n")
	if code, out := f.mgmt("reload", "--wait"); code != 0 {
		t.Errorf("the target in its place: %d, %s", code, out)
	}
}
