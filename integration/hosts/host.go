package hosts

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed layers.sh
var layers string

//go:embed boot.sh
var boot string

// bootTime is how long a machine may take to boot or to stop, however busy this one is.
const bootTime = 5 * time.Minute

// noRights are what root may not do in a machine, because it would be done to this one.
const noRights = "-audit_read,-block_suspend,-bpf,-checkpoint_restore,-ipc_lock,-mac_admin,-mac_override,-perfmon,-sys_module,-sys_pacct,-sys_rawio,-sys_time,-syslog,-wake_alarm"

// Host is a machine that has booted, as one test sees it. Its methods end that test when they fail;
// methods that return an error do not.
type Host struct {
	Name string
	t    testing.TB
	*machine
}

// machine is what all that see a machine have in common.
type machine struct {
	dir     string // where its layers are mounted, for its own processes only
	starter *exec.Cmd
	ended   chan struct{} // closed when no process of the machine is left
	console bytes.Buffer  // read when ended
	init    int           // process 1 of the machine, as this one counts
}

// Boot boots a machine and returns when all its units have started. It ends with the
// test, which fails here if a unit does.
func (tree *Tree) Boot(t testing.TB, name string) *Host {
	t.Helper()
	groups, err := newCgroups()
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{name, t, &machine{dir: t.TempDir(), ended: make(chan struct{})}}
	args := []string{"--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "sh", "-euc", layers + boot, "sh", h.dir, tree.dir, name}
	h.starter = exec.Command("unshare", append(args, groups.procs()...)...)
	h.starter.Stdout, h.starter.Stderr = &h.console, &h.console
	h.starter.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	go h.own(started)
	t.Cleanup(func() {
		h.kill()
		if err := groups.remove(); err != nil {
			t.Errorf("the control groups of %s: %v", name, err)
		}
	})
	if err := <-started; err != nil {
		t.Fatalf("%s does not start: %v", name, err)
	}
	h.waitBooted()
	return h
}

// own starts the machine and waits for its end. The thread that starts a process with
// a Pdeathsig has to last as long as the process.
func (m *machine) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(m.ended)
	err := m.starter.Start()
	started <- err
	if err == nil {
		_ = m.starter.Wait() // it is killed, or powered off
	}
}

func (m *machine) kill() {
	if m.starter.Process != nil {
		_ = m.starter.Process.Kill()
	}
	<-m.ended
}

// waitBooted waits until the machine has booted, and notes its process 1.
func (h *Host) waitBooted() {
	h.t.Helper()
	old := h.init
	state := ""
	h.Eventually("it boots", bootTime, func() bool {
		h.init = h.findInit()
		if h.init == 0 || h.init == old {
			return false
		}
		out, _ := h.Try("systemctl", "is-system-running", "--wait")
		state = strings.TrimSpace(out)
		return state == "running" || state == "degraded"
	})
	if state != "running" {
		failed, _ := h.Try("systemctl", "--failed", "--plain")
		h.t.Fatalf("%s is %s:\n%s\n%s", h.Name, state, failed, h.Journal("-p", "err"))
	}
}

// findInit returns the process 1 of the machine, 0 if there is none yet.
func (m *machine) findInit() int { return onlyChild(m.nspawn()) }

// nspawn returns the process that holds the machine, 0 if there is none yet: unshare has
// the script, which has it.
func (m *machine) nspawn() int { return onlyChild(onlyChild(m.starter.Process.Pid)) }

// onlyChild returns the process that another one has started, 0 if there is none.
func onlyChild(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	child, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.Atoi(child)
	return n
}

// For returns the same machine for a part of the test, which is ended in place of the whole
// when something fails. The two must not be used at a time.
func (h *Host) For(t testing.TB) *Host {
	return &Host{h.Name, t, h.machine}
}

// Command returns a command that runs in the machine as root, with nothing of the
// environment of the test.
func (h *Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(h.init), "--all", "--", "/usr/bin/setpriv", "--bounding-set", noRights, "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0"}
	cmd.Dir = "/"
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// Try runs a command in the machine and returns all that it writes.
func (h *Host) Try(name string, args ...string) (string, error) {
	out, err := h.Command(context.Background(), name, args...).CombinedOutput() // it ends with the machine
	return string(out), err
}

// Run runs a command in the machine, and returns all that it writes.
func (h *Host) Run(name string, args ...string) string {
	h.t.Helper()
	out, err := h.Try(name, args...)
	if err != nil {
		h.t.Fatalf("%s: %s %q: %v\n%s", h.Name, name, args, err, out)
	}
	return out
}

// Sh runs a script in the machine that ends at the first command that fails.
func (h *Host) Sh(script string) string {
	h.t.Helper()
	return h.Run("sh", "-euc", script)
}

// Holds reports whether a script ends well.
func (h *Host) Holds(script string) bool {
	_, err := h.Try("sh", "-euc", script)
	return err == nil
}

// Eventually waits until the condition holds, and returns how long that took.
func (h *Host) Eventually(what string, limit time.Duration, holds func() bool) time.Duration {
	h.t.Helper()
	start := time.Now()
	for !holds() {
		select {
		case <-h.ended:
			h.t.Fatalf("%s: %s: it has ended:\n%s", h.Name, what, lastLines(h.console.Bytes(), 20))
		case <-h.t.Context().Done():
			h.t.Fatalf("%s: %s: %v", h.Name, what, context.Cause(h.t.Context()))
		case <-time.After(5 * time.Millisecond):
		}
		if time.Since(start) > limit {
			h.t.Fatalf("%s: not in %v: %s", h.Name, limit, what)
		}
	}
	return time.Since(start)
}

// putScript replaces a file in one step: no watcher sees half of it.
const putScript = `umask 077; mkdir -p "$(dirname "$1")"; path=$(readlink -f "$1"); cat >"$path~"
test ! -e "$path" || { chmod --reference="$path" "$path~"; chown --reference="$path" "$path~"; }
mv "$path~" "$path"`

// Put writes a file in the machine, in folders that are made, for root only unless it
// is there already.
func (h *Host) Put(path, content string) {
	h.t.Helper()
	cmd := h.Command(h.t.Context(), "sh", "-euc", putScript, "sh", path)
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("%s: %s: %v\n%s", h.Name, path, err, out)
	}
}

// Get returns what is in a file of the machine.
func (h *Host) Get(path string) string {
	h.t.Helper()
	return h.Run("cat", "--", path)
}

// Copy copies a file of this machine to a path in the machine.
func (h *Host) Copy(from, to string) {
	h.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		h.t.Fatal(err)
	}
	h.Put(to, string(text))
}

// Install installs a deb of this machine, without a mirror.
func (h *Host) Install(deb string) {
	h.t.Helper()
	at := filepath.Join("/root", filepath.Base(deb))
	h.Copy(deb, at)
	h.Run("dpkg", "--install", at)
}

// Journal returns messages of the machine's journal, without dates.
func (h *Host) Journal(args ...string) string {
	h.t.Helper()
	_, _ = h.Try("journalctl", "--sync") // what was said a moment ago may not be written yet
	return h.Run("journalctl", slices.Concat([]string{"--no-pager", "--output=cat", "--quiet"}, args)...)
}

// Reboot boots the machine anew, on what it has written, and returns when it has booted.
func (h *Host) Reboot() {
	h.t.Helper()
	h.isolate("reboot.target")
	h.waitBooted()
}

// Crash ends the machine at once, as a loss of its power does, and boots it anew on what it has
// written.
func (h *Host) Crash() {
	h.t.Helper()
	again := fmt.Sprintf("/proc/%d/root%s/again", h.nspawn(), h.dir)
	if err := os.WriteFile(again, nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := syscall.Kill(h.init, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	h.waitBooted()
}

// Stop stops the machine as its power button does. Its disk is gone.
func (h *Host) Stop() {
	h.t.Helper()
	h.isolate("poweroff.target")
	select {
	case <-h.ended:
	case <-time.After(bootTime):
		h.t.Fatalf("%s does not stop in %v", h.Name, bootTime)
	}
	if code := h.starter.ProcessState.ExitCode(); code != 0 {
		h.t.Fatalf("%s stopped with %d:\n%s", h.Name, code, lastLines(h.console.Bytes(), 20))
	}
}

// isolate has systemd stop all that is not part of a target. The verb reboot would ask
// logind first, and wait for it if the bus has been restarted, which logind does not notice.
func (h *Host) isolate(target string) {
	_, _ = h.Try("systemctl", "--no-block", "--job-mode=replace-irreversibly", "start", target) // may itself be ended by it
}
