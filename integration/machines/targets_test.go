package machines

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// plainProgram builds mgmt for this machine, once.
var plainProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(packageDir, "mgmt")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/mgmt").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// farTypes are two types that work on targets. Their commands are on the target only.
const farTypes = `
- name: note
  docs: A note.
  features: [remote_resource]
  poll: 1s
  attributes:
    name: {type: String, kind: namevar, docs: Its name.}
    text: {type: String, docs: Its text.}
  get: [/usr/local/lib/noted, get]
  set: [/usr/local/lib/noted, set]
- name: unit
  docs: A unit of systemd.
  features: [remote_resource]
  poll: 1s
  attributes:
    name: {type: String, kind: namevar, docs: Its name.}
    active: {type: Boolean, docs: Whether it is active.}
  get: [/usr/local/lib/unit, get]
  set: [/usr/local/lib/unit, set]
`

// farNoted is the provider of notes. Its set waits in its middle until the file go is there. Each call is noted.
const farNoted = `#!/bin/sh
cd /srv/notes
case $1 in
get) for f in milk; do [ ! -f $f ] || printf '{"name": "%s", "text": "%s"}\n' $f "$(cat $f)"; done ;;
set)
	cat >/dev/null
	echo "set begins" >>/srv/calls
	printf half >milk
	touch /srv/middle
	while [ ! -f /srv/go ]; do sleep 0.05; done
	printf 'buy some' >milk
	echo "set ends" >>/srv/calls
	;;
esac
`

// farUnit is the provider of units.
const farUnit = `#!/bin/sh
case $1 in
get)
	a=false
	! systemctl is-active -q cron || a=true
	printf '{"name": "cron", "active": %s}\n' $a
	;;
set)
	read -r line
	case ${line#*'"should":'} in
	*'"active":true'*) systemctl start cron ;;
	*) systemctl stop cron ;;
	esac
	;;
esac
`

// outside is a daemon on the machine of the tests, whose target is a machine that has booted.
type outside struct {
	*hosts.Host
	t            *testing.T
	program, dir string
}

// newOutside boots a machine with an ssh server, and writes what a daemon needs to reach it.
func newOutside(t *testing.T) *outside {
	t.Helper()
	program, err := plainProgram()
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{hosts.Base(t, "openssh-server").Boot(t, "far"), t, program, t.TempDir()}
	identity := filepath.Join(o.dir, "identity")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", identity).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	public, err := os.ReadFile(identity + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	o.Put("/root/.ssh/authorized_keys", string(public))
	o.Put("/usr/local/lib/noted", farNoted)
	o.Put("/usr/local/lib/unit", farUnit)
	o.Sh("chmod 0755 /usr/local/lib/noted /usr/local/lib/unit; mkdir /srv/notes; touch /srv/go; systemctl start ssh")
	key := strings.TrimSpace(o.Get("/etc/ssh/ssh_host_ed25519_key.pub"))
	_, port, err := net.SplitHostPort(o.Forward(22))
	if err != nil {
		t.Fatal(err)
	}
	o.put("mgmt.yaml", "graph: graph.yaml\ntypes: types\ntargets: targets\nprefix: state\nsocket: s.sock\ntrust_others: true\n")
	o.put("types/far.yaml", farTypes)
	o.put("targets/far.yaml", fmt.Sprintf("far: {transport: ssh, host: 127.0.0.1, port: %s, identity_file: %s, host_key: %s, keepalive: 1}\n", port, identity, key))
	o.put("graph.yaml", fmt.Sprintf(`resources:
  unit: [{name: cron, target: far, active: true}]
  note: [{name: milk, target: far, text: buy some, depend: ["unit[cron@far]"]}]
  exec: [{name: told, shell: /bin/sh, cmd: 'echo told >>%[1]s/told', refreshonly: true, listen: ["note[milk@far]"]}]
  file: [{name: %[1]s/here, content: here}]
`, o.dir))
	return o
}

// put writes a file of the daemon.
func (o *outside) put(name, text string) {
	o.t.Helper()
	path := filepath.Join(o.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// text returns what is in a file of the daemon, nothing where it is missing.
func (o *outside) text(name string) string {
	text, _ := os.ReadFile(filepath.Join(o.dir, name))
	return string(text)
}

// command returns a call of the program with the configuration of the daemon.
func (o *outside) command(args ...string) *exec.Cmd {
	cmd := exec.Command(o.program, args...)
	cmd.Env = append(os.Environ(), "MGMT_CONFIG="+filepath.Join(o.dir, "mgmt.yaml"))
	return cmd
}

// start starts the daemon, which ends with the test.
func (o *outside) start() {
	o.t.Helper()
	log, err := os.Create(filepath.Join(o.dir, "log"))
	if err != nil {
		o.t.Fatal(err)
	}
	cmd := o.command("run")
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			o.t.Errorf("the daemon ends with %v:\n%s", err, o.text("log"))
		}
		_ = log.Close()
	})
}

// mgmt runs a verb, and returns its code and what it says.
func (o *outside) mgmt(args ...string) (int, string) {
	o.t.Helper()
	var out bytes.Buffer
	cmd := o.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), out.String()
	} else if err != nil {
		o.t.Fatal(err)
	}
	return 0, out.String()
}

// settled waits until all is right on both machines.
func (o *outside) settled() {
	o.t.Helper()
	o.Eventually("all is right", patience, func() bool {
		code, _ := o.mgmt("status", "--exit-code")
		return code == 0
	})
	o.Sh(`test "$(cat /srv/notes/milk)" = "buy some"; systemctl is-active -q cron`)
}

// TestFindingE8Machine: a daemon manages a machine that has booted, over its ssh server. It repairs drift there. The machine
// loses its power in the middle of a Set, and boots again: the error names the target and the resource, the other resources go
// on, nothing is set twice, and the refresh that is due comes.
func TestFindingE8Machine(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.start()
	o.settled()
	if _, out := o.mgmt("facts", "hostname", "--target", "far"); out != "far\n" {
		t.Errorf("the target is called %q", out)
	}
	if got := o.text("told"); got != "told\n" {
		t.Errorf("it was told %q", got)
	}

	took := time.Duration(0)
	for _, drift := range []string{"systemctl stop cron", "echo other >/srv/notes/milk", "rm /srv/notes/milk"} {
		o.Sh(drift)
		took = max(took, o.Eventually("repaired: "+drift, patience, func() bool {
			return o.Holds(`systemctl is-active -q cron; test "$(cat /srv/notes/milk)" = "buy some"`)
		}))
	}
	t.Logf("each drift was repaired within %v; the types are read every second", took.Round(time.Millisecond))
	o.settled()

	told := strings.Count(o.text("told"), "\n")
	o.Sh("rm /srv/middle /srv/go /srv/calls; echo other >/srv/notes/milk")
	o.Eventually("in the middle of Set", patience, func() bool { return o.Holds("test -e /srv/middle") })
	o.Crash()
	const lost = "the target far (transport ssh) was lost while note[milk@far] was set"
	o.Eventually("the loss is told", patience, func() bool { return strings.Contains(o.text("log"), lost) })
	if _, out := o.mgmt("why", "note[milk@far]"); !strings.Contains(out, lost) {
		t.Errorf("why says %s", out)
	}
	if err := os.Remove(filepath.Join(o.dir, "here")); err != nil {
		t.Fatal(err)
	}
	o.Eventually("this machine is repaired meanwhile", patience, func() bool { return o.text("here") == "here" })
	if got := o.Sh("cat /srv/notes/milk /srv/calls"); got != "halfset begins\n" && got != "halfset begins\nset begins\n" {
		t.Errorf("the machine has come back with %q", got)
	}
	o.Sh("touch /srv/go")
	o.settled()
	if got := o.Get("/srv/calls"); got != "set begins\nset begins\nset ends\n" {
		t.Errorf("the calls:\n%s\n%s", got, o.text("log"))
	}
	o.Eventually("the refresh that was due has come", patience, func() bool { return strings.Count(o.text("told"), "\n") > told })
	if code, out := o.mgmt("log"); code != 0 || !strings.Contains(out, "note[milk@far]") || !strings.Contains(out, "lost") {
		t.Errorf("the history ends with %d, and says %s", code, out)
	}
}
