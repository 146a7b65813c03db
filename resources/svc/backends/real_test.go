package backends

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/await"
)

// record has TestReal write what the tools answer into testdata, where TestTranscripts finds it:
//
//	go test ./resources/svc -run TestReal -record
var record = flag.Bool("record", false, "write what the real tools answer into testdata/*-recorded.txt")

// world is a place of a test's own in which the tools of a service manager run: its own folders of scripts and
// runlevels, its own /run and its own processes. Nothing of this machine's services is in it.
type world struct {
	*host.Host
	init   int // its process 1, as this machine counts
	dir    string
	record []string
}

// worldScript lays the folders of $1 over those of the machine, and then keeps the place.
const worldScript = `
	for n in 0 1 2 3 4 5 6 S; do mkdir -p "$1/rc$n.d"; mount --bind "$1/rc$n.d" /etc/rc$n.d; done
	for d in run init.d; do mkdir -p "$1/$d"; done
	mkdir -p /etc/runlevels "$1/runlevels/boot" "$1/runlevels/default" "$1/runlevels/sysinit"
	mount --bind "$1/runlevels" /etc/runlevels
	mount --bind "$1/init.d" /etc/init.d
	mount --bind "$1/run" /run
	for d in starting started stopping inactive wasinactive failed hotplugged daemons options exclusive scheduled tmp; do mkdir -p /run/openrc/$d; done
	touch /run/openrc/softlevel
	$2
	echo ready
	while :; do sleep 1000 & wait; done`

// newWorld makes a world with these scripts in /etc/init.d. Where it cannot the test is skipped, or
// fails in CI.
func newWorld(t *testing.T, scripts map[string]string, more string, tools ...string) *world {
	t.Helper()
	missing := os.Geteuid() != 0
	for _, tool := range append(tools, "unshare", "nsenter") {
		_, err := exec.LookPath(tool)
		missing = missing || err != nil
	}
	if missing {
		text := fmt.Sprintf("this needs root, and %q", tools)
		if os.Getenv("CI") == "true" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	w := &world{Host: h, dir: t.TempDir()}
	for name, text := range scripts {
		file := filepath.Join(w.dir, "init.d", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.start(t, more)
	return w
}

// start starts the processes of the world, which all end with the test.
func (w *world) start(t *testing.T, more string) {
	t.Helper()
	script := strings.Replace(worldScript, "$2", more, 1)
	cmd := exec.Command("unshare", "--mount", "--pid", "--ipc", "--net", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "sh", "-euc", script, "sh", w.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // and so all that is in it
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatalf("the world does not start: %v", err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if w.init, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		t.Fatal(err)
	}
}

// Command runs a command in the world.
func (w *world) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	argv := c.Argv
	c.Argv = append([]string{"nsenter", "--target", strconv.Itoa(w.init), "--mount", "--pid", "--ipc", "--net", "--"}, argv...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	r, err := w.Host.Command(ctx, c)
	if err == nil {
		text := string(r.Output)
		if text == "" {
			text = string(r.Stdout) + string(r.Stderr)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		w.record = append(w.record, fmt.Sprintf("$ %s\n%s= %d", strings.Join(argv, " "), text, r.ExitCode))
	}
	return r, err
}

// Watch watches the files of the world.
func (w *world) Watch(ctx context.Context, paths []string, o events.Options) (events.Subscription, error) {
	mapped := make([]string, len(paths))
	for i, p := range paths {
		p = strings.TrimPrefix(p, "/etc")
		mapped[i] = filepath.Join(w.dir, p)
	}
	return w.Host.Watch(ctx, mapped, o)
}

// realStep is a call, or with none a script that is run in the world.
type realStep struct{ function, name, want string }

// realSteps are what every service manager does alike: web is a service, and bad is one that
// does not start.
var realSteps = []realStep{
	{"info", "web", "enabled:false"}, {"info", "none", "not found"}, {"available", "web", "true"}, {"missing", "none", "true"},
	{"start", "none", "error: there is no service none"},
	{"start", "web", "ok"}, {"status", "web", "true"}, {"start", "web", "ok"},
	{"enable", "web", "ok"}, {"enabled", "web", "true"}, {"enable", "web", "ok"}, {"get_enabled", "", "[web]"}, {"get_disabled", "", "[bad]"},
	{"reload", "web", "ok"}, {"restart", "web", "ok"}, {"status", "web", "true"},
	{"crash", "", ""}, // crashSteps, where it is noticed
	{"stop", "web", "ok"}, {"status", "web", "false"}, {"stop", "web", "ok"}, {"info", "web", "failed:false"},
	{"disable", "web", "ok"}, {"disabled", "web", "true"}, {"disable", "web", "ok"}, {"get_enabled", "", "[]"},
	{"restart", "web", "ok"}, {"status", "web", "true"}, {"stop", "web", "ok"}, {"reload", "web", "ok"}, {"status", "web", "false"},
	{"start", "bad", "error: "}, {"status", "bad", "false"}, {"get_all", "", "[bad web]"},
}

// crashSteps: a process has died. OpenRC as Debian has it does not notice: its services are started by dpkg's
// start-stop-daemon, which does not tell it of processes.
var crashSteps = []realStep{
	{"", "", "kill -9 $(cat /run/web.pid); while kill -0 $(cat /run/web.pid) 2>/dev/null; do sleep 0.01; done"},
	{"status", "web", "false"}, {"info", "web", "failed:true"}, {"start", "web", "ok"}, {"status", "web", "true"},
}

// openrcScripts are services as those of OpenRC are written, and sysvScripts as those of sysvinit.
var openrcScripts = map[string]string{
	"web": "#!/sbin/openrc-run\ncommand=/usr/bin/sleep\ncommand_args=1000\ncommand_background=true\npidfile=/run/web.pid\n",
	"bad": "#!/sbin/openrc-run\ncommand=/usr/bin/false\npidfile=/run/bad.pid\n",
}

var sysvScripts = map[string]string{
	"web": sysvScript("web", "start-stop-daemon --start --quiet --oknodo --background --make-pidfile --pidfile /run/web.pid --exec /usr/bin/sleep -- 1000"),
	"bad": sysvScript("bad", "echo the disk is on fire; exit 1"),
}

func sysvScript(name, start string) string {
	return `#!/bin/sh
### BEGIN INIT INFO
# Provides:          ` + name + `
# Required-Start:
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: a service
### END INIT INFO
case $1 in
start) ` + start + ` ;;
stop) start-stop-daemon --stop --quiet --oknodo --retry 5 --remove-pidfile --pidfile /run/` + name + `.pid ;;
restart|force-reload) $0 stop; $0 start ;;
status) start-stop-daemon --status --pidfile /run/` + name + `.pid && echo running ;;
*) echo "Usage: $0 {start|stop|restart|force-reload|status}"; exit 3 ;;
esac
`
}

// TestReal: with the tools themselves, which Debian has.
func TestReal(t *testing.T) {
	for _, c := range []struct {
		backend *virtual.Backend
		scripts map[string]string
		crash   []realStep
		more    string
		tools   []string
	}{
		{openrcBackend(), openrcScripts, nil, "", []string{"rc-service", "rc-update"}},
		// Where there is OpenRC too, update-rc.d asks that.
		{sysvBackend(), sysvScripts, crashSteps, "for f in /sbin/openrc /usr/sbin/openrc; do test ! -e $f || mount --bind /dev/null $f; done", []string{"service", "update-rc.d", "insserv", "start-stop-daemon"}},
	} {
		t.Run(c.backend.Name, func(t *testing.T) {
			w := newWorld(t, c.scripts, c.more, c.tools...)
			m := bind(t, c.backend, w)
			w.record = nil
			var text strings.Builder
			at := slices.IndexFunc(realSteps, func(s realStep) bool { return s.function == "crash" })
			for _, s := range slices.Concat(realSteps[:at], c.crash, realSteps[at+1:]) {
				w.step(t, m, s, &text)
			}
			if *record && !t.Failed() {
				head := fmt.Sprintf("# What the tools of %s answer, recorded by: go test ./resources/svc -run TestReal -record\n", c.backend.Name)
				if err := os.WriteFile("testdata/"+c.backend.Name+"-recorded.txt", []byte(head+text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// step does one step, and writes down what was asked and answered.
func (w *world) step(t *testing.T, m *virtual.Module, s realStep, text *strings.Builder) {
	t.Helper()
	if s.function == "" {
		if _, err := w.Command(t.Context(), engine.Command{Argv: []string{"sh", "-euc", s.want}}); err != nil {
			t.Fatal(err)
		}
		w.record = nil
		fmt.Fprintf(text, "\n# then: %s\n", s.want)
		return
	}
	defer w.settle(t)
	args := virtual.Args{}
	if s.name != "" {
		args.Named = map[string]any{"name": s.name}
	}
	r, err := m.Call(t.Context(), s.function, args)
	got := ""
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		got = "error: " + strings.TrimPrefix(first, "svc."+s.function+": ")
	} else {
		got = show(r)
	}
	if !strings.Contains(got, s.want) || strings.HasPrefix(got, "error") != strings.HasPrefix(s.want, "error") {
		t.Fatalf("%s %s: %s, want %s; the tools said\n%s", s.function, s.name, got, s.want, strings.Join(w.record, "\n"))
	}
	fmt.Fprintf(text, "\ncall %s\n%s", strings.TrimSpace(s.function+" "+s.name), strings.Join(append(w.record, "-> "+got), "\n")+"\n")
	w.record = nil
}

// settle waits until what was just started is what it is to be: before that, the tools do not know
// it again when they are to stop it.
func (w *world) settle(t *testing.T) {
	t.Helper()
	const script = `p=$(cat /run/web.pid 2>/dev/null) || exit 0
		for i in $(seq 1000); do test -d /proc/$p || exit 0; case $(readlink /proc/$p/exe) in *sleep) exit 0; esac; sleep 0.01; done`
	if _, err := w.Command(t.Context(), engine.Command{Argv: []string{"sh", "-c", script}}); err != nil {
		t.Fatal(err)
	}
	w.record = nil
}

// TestRealWatch: what OpenRC's own tools do wakes who watches.
func TestRealWatch(t *testing.T) {
	w := newWorld(t, openrcScripts, "", "rc-service", "rc-update")
	m := bind(t, openrcBackend(), w)
	sub, err := m.Watch(t.Context(), []string{"web"})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for _, drift := range []string{"rc-service web start", "rc-service web stop", "rc-update add web default", "rc-update del web default"} {
		if _, err := w.Command(t.Context(), engine.Command{Argv: strings.Fields(drift)}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-sub.C():
		case <-time.After(await.Left()):
			t.Fatalf("no wake-up after %s", drift)
		}
	}
}
