package host

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosting"
)

// said collects the lines of a program, and tells of each.
type said struct {
	lines chan string
	wait  sync.WaitGroup
}

// launched starts a script, and returns its lines and the process.
func launched(t *testing.T, h *Host, script string, change func(*engine.Command), files ...*os.File) (hosting.Process, *said) {
	t.Helper()
	s := &said{lines: make(chan string, 100)}
	c := sh(script)
	c.Grace = grace
	c.Stdout = func(line []byte) { s.lines <- string(line) }
	if change != nil {
		change(&c)
	}
	p, err := h.Start(t.Context(), c, files)
	must(t, err)
	return p, s
}

// next waits for a line.
func (s *said) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-s.lines:
		return line
	case <-time.After(patience):
		t.Fatal("no line came")
		return ""
	}
}

// over waits for the end of a process.
func over(t *testing.T, p hosting.Process) *engine.Result {
	t.Helper()
	select {
	case <-p.Done():
		return p.Result()
	case <-time.After(patience):
		t.Fatal("it does not end")
		return nil
	}
}

// alive reports whether a process runs.
func alive(pid int) bool {
	x, ok := readProc(pid)
	return ok && x.alive
}

// TestStart: a program that goes on has an open and empty input, its lines come as it writes them, and Stop ends it by the end of the input.
func TestStart(t *testing.T) {
	h := newHost(t, Options{})
	p, s := launched(t, h, "echo ready; read x; echo end of input; echo err >&2; exit 3", func(c *engine.Command) { c.Stdin = []byte("does not count\n") })
	if line := s.next(t); line != "ready" {
		t.Errorf("the line is %q", line)
	}
	if !alive(p.Pid()) {
		t.Error("it does not run")
	}
	select {
	case <-p.Done():
		t.Error("its input has ended")
	default:
	}
	p.Stop(t.Context())
	if line := s.next(t); line != "end of input" {
		t.Errorf("the line is %q", line)
	}
	r := over(t, p)
	if r.ExitCode != 3 || r.Signal != "" || len(r.Stdout)+len(r.Stderr)+len(r.Output) > 0 || r.Truncated {
		t.Errorf("it has ended as %+v", r)
	}
	p.Stop(t.Context()) // a second time, when it has ended
}

// TestStartEndsByItself: a program that ends without Stop is seen to, and all that it has started goes with it.
func TestStartEndsByItself(t *testing.T) {
	h := newHost(t, Options{})
	p, s := launched(t, h, "setsid sleep 1000 & echo $!; kill -USR1 $$", nil)
	child, err := strconv.Atoi(s.next(t))
	must(t, err)
	if r := over(t, p); r.ExitCode != -1 || r.Signal != "SIGUSR1" {
		t.Errorf("it has ended as %+v", r)
	}
	if alive(child) {
		t.Error("what it has started goes on")
	}
}

// grace is the grace of all programs of the tests. No other timer has that time.
const grace = 61 * time.Minute

// handClock is the clock of the machine, but for graces: they pass when the test takes them.
type handClock struct {
	clock.System
	graces chan func()
}

func (c handClock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	if d != grace {
		return c.System.AfterFunc(d, f)
	}
	c.graces <- f
	return func() bool { return true }
}

// TestStopGoesOn: a program that goes on behind the end of its input gets its signal after the grace, and SIGKILL after the same time again.
func TestStopGoesOn(t *testing.T) {
	clock := handClock{graces: make(chan func(), 10)}
	h := newHost(t, Options{Clock: clock})
	for name, c := range map[string]struct {
		script, signal string
		graces         int // that have to pass
		code           int
		by             string
	}{
		"it takes the signal":  {"trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done", "", 1, 7, ""},
		"it takes another one": {"trap 'exit 8' USR2; trap '' TERM; echo ready; while :; do sleep 0.01; done", "SIGUSR2", 1, 8, ""},
		"it takes no signal":   {"trap '' TERM; echo ready; while :; do sleep 0.01; done", "", 2, -1, "SIGKILL"},
		"the signal ends it":   {"echo ready; while :; do sleep 0.01; done", "SIGALRM", 1, -1, "SIGALRM"},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := launched(t, h, c.script, func(cmd *engine.Command) { cmd.Signal = c.signal })
			s.next(t)
			s.wait.Go(func() { p.Stop(t.Context()) })
			for range c.graces {
				(<-clock.graces)()
			}
			s.wait.Wait()
			for len(clock.graces) > 0 {
				<-clock.graces
			}
			if r := over(t, p); r.ExitCode != c.code || r.Signal != c.by {
				t.Errorf("it has ended as %+v", r)
			}
		})
	}
}

// TestStopAtOnce: where the context has ended, Stop waits for no grace.
func TestStopAtOnce(t *testing.T) {
	h := newHost(t, Options{})
	p, s := launched(t, h, "trap '' TERM; echo ready; while :; do sleep 0.01; done", nil)
	s.next(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Stop(ctx)
	if r := over(t, p); r.Signal != "SIGKILL" {
		t.Errorf("it has ended as %+v", r)
	}
}

// TestStopByMany: many may stop one program, and each returns when it has ended.
func TestStopByMany(t *testing.T) {
	h := newHost(t, Options{})
	p, s := launched(t, h, "echo ready; read x; exit 4", nil)
	s.next(t)
	for range 8 {
		s.wait.Go(func() {
			p.Stop(t.Context())
			if alive(p.Pid()) {
				t.Error("Stop has returned, and it runs")
			}
			if r := p.Result(); r.ExitCode != 4 {
				t.Errorf("it has ended as %+v", r)
			}
		})
	}
	s.wait.Wait()
}

// TestStartedEndsWithHost: neither Close nor KillAll leaves a program, or what it has started, behind.
func TestStartedEndsWithHost(t *testing.T) {
	for name, end := range map[string]func(h *Host){"Close": func(h *Host) { must(t, h.Close()) }, "KillAll": (*Host).KillAll} {
		h := newHost(t, Options{})
		p, s := launched(t, h, "trap '' TERM HUP; setsid sleep 1000 & echo $!; while :; do sleep 0.01; done", nil)
		child, err := strconv.Atoi(s.next(t))
		must(t, err)
		end(h)
		if r := over(t, p); r.Signal != "SIGKILL" {
			t.Errorf("%s: it has ended as %+v", name, r)
		}
		if alive(child) {
			t.Errorf("%s: what it has started goes on", name)
		}
		if _, err := h.Start(t.Context(), sh("true"), nil); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: another one is started: %v", name, err)
		}
	}
}

// TestStartFails: a program that can't be started is told as that of Command is, and costs nothing.
func TestStartFails(t *testing.T) {
	h := newHost(t, Options{})
	bad := filepath.Join(t.TempDir(), "bad")
	must(t, os.WriteFile(bad, []byte("\x7fELF"), 0o755))
	for want, c := range map[string]engine.Command{
		"no program is named":          {},
		"not found in PATH":            {Argv: []string{"no-such-program"}},
		"there is no signal SIGNOPE":   {Argv: []string{"true"}, Signal: "SIGNOPE"},
		"is no program for this":       {Argv: []string{bad}},
		"cannot run in /no/such/place": {Argv: []string{"true"}, Dir: "/no/such/place"},
	} {
		if p, err := h.Start(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", want, p, err)
		}
	}
}

// TestStartFiles: files become the descriptors from 3 on, and stay those of the caller.
func TestStartFiles(t *testing.T) {
	h := newHost(t, Options{})
	in, toProgram, err := os.Pipe()
	must(t, err)
	fromProgram, out, err := os.Pipe()
	must(t, err)
	defer fromProgram.Close()
	p, _ := launched(t, h, "read x <&3; echo got $x >&4", nil, in, out)
	for _, f := range []*os.File{in, out} {
		if _, err := f.Stat(); err != nil {
			t.Errorf("a file of the caller is closed: %v", err)
		}
		must(t, f.Close())
	}
	_, err = toProgram.WriteString("it\n")
	must(t, errors.Join(err, toProgram.Close()))
	line, err := bufio.NewReader(fromProgram).ReadString('\n')
	if err != nil || line != "got it\n" {
		t.Errorf("it says %q: %v", line, err)
	}
	if r := over(t, p); r.ExitCode != 0 {
		t.Errorf("it has ended as %+v", r)
	}
}

// TestStartLimit: the bound of memory is that of the process, while it runs.
func TestStartLimit(t *testing.T) {
	h := newHost(t, Options{})
	p, s := launched(t, h, "echo ready; read x; grep 'Max data size' /proc/self/limits", nil)
	s.next(t)
	must(t, p.Limit(512<<20))
	p.Stop(t.Context())
	if line := s.next(t); len(strings.Fields(line)) < 5 || strings.Fields(line)[3] != "536870912" {
		t.Errorf("the limit is %q", line)
	}
	over(t, p)
	if err := p.Limit(1 << 20); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a process that has ended: %v", err)
	}
}
