package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// terminal is a terminal of tmux with mgmt top in it.
type terminal struct {
	*realDaemon
	tmux string
}

// newTerminal starts mgmt top in a terminal of so many columns and rows.
func newTerminal(d *realDaemon, tmux string, columns, rows int) *terminal {
	d.t.Helper()
	x := &terminal{d, tmux}
	script := fmt.Sprintf("cd %s; stty -g >before; echo $$ >shell; %s top --prefix %s; echo ended with $?; stty -g >after; sleep 600", d.dir, d.cmd.Path, d.path("state"))
	x.run("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), script)
	d.t.Cleanup(func() { _ = exec.Command(tmux, "-S", d.path("tmux"), "kill-server").Run() }) // it may have ended with its session
	return x
}

// run runs a command of tmux.
func (x *terminal) run(args ...string) string {
	x.t.Helper()
	cmd := exec.Command(x.tmux, append([]string{"-S", x.path("tmux")}, args...)...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (x *terminal) screen() string { return x.run("capture-pane", "-p") }

// shows waits until the screen has all texts.
func (x *terminal) shows(texts ...string) {
	x.t.Helper()
	screen := ""
	defer func() {
		if x.t.Failed() {
			x.t.Logf("the screen:\n%s", screen)
		}
	}()
	x.until(fmt.Sprintf("the screen shows %q", texts), func() bool {
		screen = x.screen()
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// press types a text or presses a key, and waits for what the screen shows then.
func (x *terminal) press(key string, texts ...string) {
	x.t.Helper()
	x.run("send-keys", key)
	x.shows(texts...)
}

// restored fails the test unless the terminal is as it was before.
func (x *terminal) restored(code int) {
	x.t.Helper()
	x.shows(fmt.Sprintf("ended with %d", code))
	x.has("after", "")
	x.until("the terminal is as before", func() bool { return x.read("after") != "" && x.read("after") == x.read("before") })
	if screen := x.screen(); strings.Contains(screen, "RESOURCE") {
		x.t.Errorf("the shell has the screen of top:\n%s", screen)
	}
}

// TestTop: mgmt top in a real terminal finds what waits, approves just that, and goes on when the daemon is back. It gives the terminal back when it
// is told to end, by a key or by a signal.
func TestTop(t *testing.T) {
	if testing.Short() {
		t.Skip("make check has a terminal")
	}
	tmux, err := exec.LookPath("tmux")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("this test needs tmux")
	default:
		t.Skip("tmux is missing; on Debian: apt-get install tmux")
	}
	const graph = `graph: screen
resources:
  file:
  - {name: DIR/asks, content: "same\nright\n", meta: {drift: ask}}
  - {name: DIR/none/x, content: "x", depend: ["file[DIR/asks]"]}
`
	for _, size := range [][2]int{{80, 24}, {40, 20}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			dir, err := os.MkdirTemp("", "t") // a short path, so that the screen has the names
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			d := newDaemon(t, dir, graph)
			d.start()
			d.says("1 failed")
			x := newTerminal(d, tmux, size[0], size[1])
			x.shows("1 ok, 1 failed", "STATE", "failed       ", "? ")
			d.write("asks", "same\nother\n")
			x.shows("held  ")
			x.press("/", "search: _")
			x.press("asks", "search: asks_")
			x.press("Enter", "1 of 2")
			x.press("Enter", "DECLARED", `content = "same\nright\n"`, "other")
			x.press("a", "Approve file", "no other", "-other", "+right", "reason: _")
			x.press("seen", "reason: seen_")
			if got := d.read("asks"); got != "same\nother\n" {
				t.Errorf("before the approval it is %q", got)
			}
			x.press("Enter", "Do this? y")
			x.press("y", "is approved")
			d.has("asks", "right")
			x.press("l", "approved", "seen")
			x.press("?", "esc left h")
			x.press("Escape", "approved")
			x.run("resize-window", "-x", "60", "-y", "10")
			x.press("Escape", "DECLARED")
			x.press("Escape", "STATE")
			d.stop(syscall.SIGTERM)
			x.shows("no answer, trying again")
			again := newDaemon(t, dir, graph)
			again.start()
			again.says("1 failed")
			x.until("it goes on", func() bool { return !strings.Contains(x.screen(), "no answer") })
			if size[0] == 80 {
				x.run("send-keys", "q")
				x.restored(0)
				return
			}
			if err := syscall.Kill(childOf(t, d.read("shell")), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			x.restored(1)
		})
	}
}

// childOf returns the process that a shell waits for.
func childOf(t *testing.T, shell string) int {
	t.Helper()
	shell = strings.TrimSpace(shell)
	list, err := os.ReadFile(filepath.Join("/proc", shell, "task", shell, "children"))
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	if _, err := fmt.Sscan(regexp.MustCompile(`\d+`).FindString(string(list)), &pid); err != nil {
		t.Fatalf("%q: %v", list, err)
	}
	return pid
}
