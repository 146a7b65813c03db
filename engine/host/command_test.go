package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"golang.org/x/sys/unix"
)

func sh(script string) engine.Command {
	return engine.Command{Argv: []string{"sh", "-c", script}}
}

func command(t testing.TB, h *Host, c engine.Command) *engine.Result {
	t.Helper()
	r, err := h.Command(t.Context(), c)
	must(t, err)
	return r
}

func TestCommandResult(t *testing.T) {
	h := newHost(t, Options{})
	r := command(t, h, sh("echo out; echo err >&2; exit 3"))
	if r.ExitCode != 3 || r.Signal != "" || string(r.Stdout) != "out\n" || string(r.Stderr) != "err\n" ||
		len(r.Output) != 8 || r.Truncated {
		t.Errorf("%+v", r)
	}
	if r := command(t, h, sh("kill -USR1 $$")); r.ExitCode != -1 || r.Signal != "SIGUSR1" {
		t.Errorf("%+v", r)
	}
	if r := command(t, h, engine.Command{Argv: []string{"true"}}); r.ExitCode != 0 || len(r.Output) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestCommandEnvironmentIsExact(t *testing.T) {
	t.Setenv("LEAKED", "from us")
	h := newHost(t, Options{})
	env := func(e []string) string {
		return string(command(t, h, engine.Command{Argv: []string{"env"}, Env: e}).Stdout)
	}
	if got := env(nil); got != "PATH="+DefaultPath+"\n" {
		t.Errorf("by default %q", got)
	}
	if got := env([]string{"A=1", "B=x=y"}); got != "A=1\nB=x=y\n" {
		t.Errorf("given %q", got)
	}
	if got := env([]string{}); got != "" {
		t.Errorf("empty %q", got)
	}
}

func TestCommandRunsWhereItIsTold(t *testing.T) {
	h := newHost(t, Options{})
	dir := t.TempDir()
	pwd := func(dir string) string {
		return strings.TrimSpace(string(command(t, h, engine.Command{Argv: []string{"pwd", "-P"}, Dir: dir}).Stdout))
	}
	if got := pwd(""); got != "/" {
		t.Errorf("by default in %s", got)
	}
	if got := pwd(dir); got != mustEval(dir) {
		t.Errorf("in %s", got)
	}
}

func TestCommandInput(t *testing.T) {
	h := newHost(t, Options{})
	in := bytes.Repeat([]byte("0123456789abcdef"), 20000) // more than a pipe holds
	r := command(t, h, engine.Command{Argv: []string{"cat"}, Stdin: in, MaxOutput: len(in)})
	if !bytes.Equal(r.Stdout, in) || r.Truncated {
		t.Errorf("%d bytes of %d came back", len(r.Stdout), len(in))
	}
	if r := command(t, h, engine.Command{Argv: []string{"true"}, Stdin: in}); r.ExitCode != 0 {
		t.Errorf("input that is not read: %+v", r)
	}
	if r := command(t, h, engine.Command{Argv: []string{"cat"}}); len(r.Stdout) != 0 {
		t.Errorf("no input: %+v", r)
	}
}

func TestCommandLines(t *testing.T) {
	h := newHost(t, Options{})
	var out, errs []string
	c := sh(`printf 'one\ntwo\r\n\nlast'; printf 'oops\n' >&2`)
	c.Stdout = func(l []byte) { out = append(out, string(l)) }
	c.Stderr = func(l []byte) { errs = append(errs, string(l)) }
	command(t, h, c)
	if !slices.Equal(out, []string{"one", "two", "", "last"}) || !slices.Equal(errs, []string{"oops"}) {
		t.Errorf("%q, %q", out, errs)
	}
}

func TestCommandLinesComeAsTheyAreWritten(t *testing.T) {
	h := newHost(t, Options{})
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	c := sh("echo ready; read x < " + fifo + "; echo got $x")
	var lines []string
	c.Stdout = func(l []byte) {
		if lines = append(lines, string(l)); len(lines) == 1 {
			go os.WriteFile(fifo, []byte("it\n"), 0) // hangs for ever if this line comes too late
		}
	}
	command(t, h, c)
	if !slices.Equal(lines, []string{"ready", "got it"}) {
		t.Errorf("%q", lines)
	}
}

func TestCommandHugeOutput(t *testing.T) {
	h := newHost(t, Options{})
	c := sh("head -c 50000000 /dev/zero; echo; echo end")
	c.MaxOutput = 1000
	var total, longest int
	var last string
	c.Stdout = func(l []byte) { total, longest, last = total+len(l), max(longest, len(l)), string(l) }
	r := command(t, h, c)
	if len(r.Stdout) != 1000 || len(r.Output) != 1000 || !r.Truncated {
		t.Errorf("kept %d and %d, truncated %v", len(r.Stdout), len(r.Output), r.Truncated)
	}
	if total != 50000000+3 || longest > maxLine || last != "end" {
		t.Errorf("%d bytes in lines of up to %d, the last %q", total, longest, last)
	}
}

func TestLinesAreCutTheSameHoweverTheyCome(t *testing.T) {
	text := strings.Repeat("a", maxLine) + "\n" + strings.Repeat("b", maxLine+1) + "\nc\r\n" + strings.Repeat("d", 3*maxLine)
	var want []string
	for _, size := range []int{len(text), 1, 7, maxLine - 1, maxLine, maxLine + 1} {
		var got []string
		o := newOutput(&engine.Command{Stdout: func(l []byte) { got = append(got, string(l)) }})
		for chunk := range slices.Chunk([]byte(text), size) {
			o.stdout.take(chunk)
		}
		o.flush(&o.stdout)
		if want == nil {
			want = got
			if len(want) != 7 || want[0] != strings.Repeat("a", maxLine) || want[3] != "c" {
				t.Fatalf("%d lines", len(want))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %d lines", size, len(got))
		}
	}
}

func TestCommandErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	notExec := file("data", "x", 0o644)
	noInterpreter := file("script", "#!/nowhere/sh\n", 0o755)
	foreign := file("foreign", "\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 100), 0o755)
	const secret = "s3cr3t"
	h := newHost(t, Options{})
	for _, c := range []struct {
		name string
		cmd  engine.Command
		is   error
		says string
	}{
		{"nothing", engine.Command{}, nil, "no program is named"},
		{"missing", engine.Command{Argv: []string{"no-such", secret}, Env: []string{"PATH=/bin:/sbin", "T=" + secret}}, exec.ErrNotFound,
			`command "no-such": not found in PATH (/bin:/sbin)`},
		{"missing path", engine.Command{Argv: []string{dir + "/none", secret}}, exec.ErrNotFound, "there is no " + dir + "/none"},
		{"not executable", engine.Command{Argv: []string{notExec, secret}}, syscall.EACCES, "is not executable"},
		{"not executable in PATH", engine.Command{Argv: []string{"data", secret}, Env: []string{"PATH=" + dir}}, syscall.EACCES, "is not executable"},
		{"a directory", engine.Command{Argv: []string{dir, secret}}, syscall.EISDIR, "is a directory"},
		{"foreign", engine.Command{Argv: []string{foreign, secret}}, syscall.ENOEXEC, "another architecture"},
		{"no interpreter", engine.Command{Argv: []string{noInterpreter, secret}}, syscall.ENOENT, "interpreter"},
		{"no directory", engine.Command{Argv: []string{"true", secret}, Dir: dir + "/none"}, syscall.ENOENT, "cannot run in " + dir + "/none"},
		{"directory is a file", engine.Command{Argv: []string{"true", secret}, Dir: notExec}, syscall.ENOTDIR, "not a directory"},
		{"no user", engine.Command{Argv: []string{"true", secret}, User: "no-such-user"}, nil, `no user "no-such-user"`},
		{"no group", engine.Command{Argv: []string{"true", secret}, Group: "no-such-group"}, nil, `no group "no-such-group"`},
		{"user without entry", engine.Command{Argv: []string{"true", secret}, User: "54321"}, nil, "a group must be given"},
		{"NUL", engine.Command{Argv: []string{"true", secret + "\x00"}}, syscall.EINVAL, "NUL"},
		{"too long", engine.Command{Argv: []string{"true", strings.Repeat(secret, 100000)}}, syscall.E2BIG, "too long"},
		{"relative PATH", engine.Command{Argv: []string{"data"}, Dir: dir, Env: []string{"PATH=.::bin"}}, exec.ErrNotFound, "not found in PATH (.::bin)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Command(t.Context(), c.cmd)
			if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(fmt.Sprintf("%+v %#v", err, err), secret) {
				t.Errorf("the error tells: %v", err)
			}
		})
	}
}

func TestCommandFoundByThePATHOfItsEnvironment(t *testing.T) {
	h := newHost(t, Options{})
	a, b := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(a, "tool"), nil, 0o644)) // not executable: passed over
	must(t, os.WriteFile(filepath.Join(b, "tool"), []byte("#!/bin/sh\necho b\n"), 0o755))
	r := command(t, h, engine.Command{Argv: []string{"tool"}, Env: []string{"PATH=" + a + ":" + b}})
	if string(r.Stdout) != "b\n" {
		t.Errorf("%+v", r)
	}
	r = command(t, h, engine.Command{Argv: []string{"./tool"}, Dir: b})
	if string(r.Stdout) != "b\n" {
		t.Errorf("%+v", r)
	}
}

func TestCommandWaitsForAProgramThatIsBeingWritten(t *testing.T) {
	h := newHost(t, Options{})
	path := filepath.Join(t.TempDir(), "tool")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\necho ok\n"), 0o755))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	time.AfterFunc(3*busyWait, func() { f.Close() })
	if r := command(t, h, engine.Command{Argv: []string{path}}); string(r.Stdout) != "ok\n" {
		t.Errorf("%+v", r)
	}
}

func TestCommandAsAnotherUser(t *testing.T) {
	h := newHost(t, Options{})
	id := func(user, group string) string {
		r, err := h.Command(t.Context(), engine.Command{Argv: []string{"sh", "-c", "id -u; id -g; id -G"}, User: user, Group: group})
		if os.Getuid() != 0 {
			if err == nil || !strings.Contains(err.Error(), "may not run it as user "+user) {
				t.Errorf("without being allowed to: %v", err)
			}
			return ""
		}
		must(t, err)
		return strings.ReplaceAll(string(r.Stdout), "\n", " ")
	}
	for _, c := range []struct{ user, group, want string }{
		{"nobody", "", "65534 65534 65534 "},
		{"65534", "", "65534 65534 65534 "},
		{"nobody", "daemon", "65534 1 1 65534 "},
		{"54321", "54322", "54321 54322 54322 "},
	} {
		if got := id(c.user, c.group); got != "" && got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.user, c.group, got, c.want)
		}
	}
	own := strconv.Itoa(os.Getuid())
	command(t, h, engine.Command{Argv: []string{"true"}, User: own})
}

// started runs a command in the background until the first line of its output,
// which is a list of process numbers.
type started struct {
	pids []int
	err  chan error
	res  *engine.Result
}

func start(t *testing.T, ctx context.Context, h *Host, c engine.Command) *started {
	t.Helper()
	s := &started{err: make(chan error, 1)}
	line := make(chan string, 1)
	c.Stdout = func(l []byte) {
		select {
		case line <- string(l):
		default:
		}
	}
	go func() {
		var err error
		s.res, err = h.Command(ctx, c)
		s.err <- err
	}()
	select {
	case l := <-line:
		for f := range strings.FieldsSeq(l) {
			pid, err := strconv.Atoi(f)
			must(t, err)
			s.pids = append(s.pids, pid)
		}
	case err := <-s.err:
		t.Fatalf("it ended: %v", err)
	case <-time.After(patience):
		t.Fatal("it said nothing")
	}
	return s
}

func (s *started) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.err:
		return err
	case <-time.After(patience):
		t.Fatal("the command does not end")
		return nil
	}
}

// gone fails if one of the processes still lives, or has become our zombie.
func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for _, pid := range pids {
		for {
			x, ok := readProc(pid)
			if !ok || !x.alive && x.parent != os.Getpid() {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d is still there", pid)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// tree starts a child, one with a session of its own, and one below that.
const tree = `sleep 1000 & a=$!
setsid sh -c 'sleep 1000 & echo $! > "$0/deep"; echo $$ > "$0/moved"; wait' "$D" &
while ! test -s "$D/moved"; do sleep 0.01; done
echo $$ $a $(cat "$D/moved" "$D/deep"); wait`

func treeCommand(t *testing.T, prefix string) engine.Command {
	c := sh(prefix + tree)
	c.Env = []string{"PATH=" + DefaultPath, "D=" + t.TempDir()}
	return c
}

func TestCancelKillsTheProcessTree(t *testing.T) {
	for name, grace := range map[string]time.Duration{"at once": 0, "with grace": time.Minute} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, Options{})
			why := errors.New("because")
			ctx, cancel := context.WithCancelCause(t.Context())
			c := treeCommand(t, "")
			c.Grace = grace
			s := start(t, ctx, h, c)
			if len(s.pids) != 4 {
				t.Fatalf("processes %v", s.pids)
			}
			cancel(why)
			if err := s.wait(t); err != why {
				t.Errorf("got %v", err)
			}
			gone(t, s.pids)
			if s.res == nil || s.res.Signal == "" {
				t.Errorf("result %+v", s.res)
			}
		})
	}
}

func TestGraceIsGivenAndEnds(t *testing.T) {
	h := newHost(t, Options{})
	run := func(script string, grace time.Duration) (*started, time.Duration) {
		ctx, cancel := context.WithCancel(t.Context())
		c := treeCommand(t, script)
		c.Grace = grace
		s := start(t, ctx, h, c)
		began := time.Now()
		cancel()
		if err := s.wait(t); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		gone(t, s.pids)
		return s, time.Since(began)
	}
	s, _ := run(`trap 'echo bye; exit 7' TERM; `, time.Minute)
	if s.res.ExitCode != 7 || !strings.HasSuffix(string(s.res.Stdout), "bye\n") {
		t.Errorf("it was not let go: %+v", s.res)
	}
	s, took := run(`trap '' TERM; `, 300*time.Millisecond)
	if s.res.Signal != "SIGKILL" || took < 300*time.Millisecond {
		t.Errorf("after %v: %+v", took, s.res)
	}
}

// What is to end gets the signal that it was promised, and no other one.
func TestSignalOfTheEnd(t *testing.T) {
	h := newHost(t, Options{})
	for signal, script := range map[string]string{
		"":        `trap 'echo bye; exit 7' TERM; trap '' INT USR1; `,
		"SIGINT":  `trap 'echo bye; exit 7' INT; trap '' TERM USR1; `,
		"SIGUSR1": `trap 'echo bye; exit 7' USR1; trap '' TERM INT; `,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c := sh(script + `echo $$; while :; do sleep 0.02; done`)
		c.Signal, c.Grace = signal, time.Minute
		s := start(t, ctx, h, c)
		cancel()
		_ = s.wait(t)
		gone(t, s.pids)
		if s.res.ExitCode != 7 || !strings.HasSuffix(string(s.res.Stdout), "bye\n") {
			t.Errorf("%q: %+v", signal, s.res)
		}
	}
	c := sh("true")
	c.Signal = "SIGNOT"
	if _, err := h.Command(t.Context(), c); err == nil || err.Error() != `command "`+c.Argv[0]+`": there is no signal SIGNOT` {
		t.Errorf("got %v", err)
	}
}

func TestKillAllAndClose(t *testing.T) {
	for name, end := range map[string]func(h *Host){
		"KillAll": (*Host).KillAll,
		"Close":   func(h *Host) { h.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, Options{})
			var all []*started
			for range 3 {
				c := treeCommand(t, "trap '' TERM; ")
				c.Grace = time.Hour
				all = append(all, start(t, t.Context(), h, c))
			}
			end(h)
			for _, s := range all {
				if err := s.wait(t); !errors.Is(err, ErrClosed) {
					t.Errorf("got %v", err)
				}
				gone(t, s.pids)
			}
			if _, err := h.Command(t.Context(), sh("true")); !errors.Is(err, ErrClosed) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestAGraceIsCutShortByClose(t *testing.T) {
	h := newHost(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	c := treeCommand(t, "trap '' TERM; ")
	c.Grace = time.Hour
	s := start(t, ctx, h, c)
	cancel()
	must(t, h.Close())
	if err := s.wait(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	gone(t, s.pids)
}

func TestADaemonThatHoldsTheOutputIsNotWaitedFor(t *testing.T) {
	h := newHost(t, Options{})
	began := time.Now()
	r := command(t, h, sh("sleep 1000 & echo $!"))
	took := time.Since(began)
	pid, err := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
	must(t, err)
	if took < drainWait {
		t.Errorf("it took %v", took)
	}
	if x, ok := readProc(pid); !ok || !x.alive {
		t.Error("the daemon was killed")
	}
	must(t, syscall.Kill(pid, syscall.SIGKILL))

	// One that never stops talking.
	c := sh(`(while ! test -e "$D/go"; do :; done; while :; do echo noise; done) & echo $!; touch "$D/go"`)
	c.Env = []string{"PATH=" + DefaultPath, "D=" + t.TempDir()}
	r = command(t, h, c)
	first, _, _ := strings.Cut(string(r.Stdout), "\n")
	pid, err = strconv.Atoi(first)
	must(t, err)
	// It may have ended by itself: nobody reads what it prints any more.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

// TestCommandAlone: what a command has started and left behind ends with it, where it says so. Without, it
// goes on, as TestADaemonThatHoldsTheOutputIsNotWaitedFor holds.
func TestCommandAlone(t *testing.T) {
	h := newHost(t, Options{})
	c := sh("sleep 1000 >/dev/null 2>&1 & echo $!; exit 3")
	c.Alone = true
	r := command(t, h, c)
	pid, err := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
	must(t, err)
	if r.ExitCode != 3 {
		t.Errorf("it ends with %d", r.ExitCode)
	}
	gone(t, []int{pid})
}

// ownGroups returns the control groups that were made for commands of a process with the number of this one.
func ownGroups() (all []string) {
	for _, root := range groupRoots {
		found, _ := filepath.Glob(root + fmt.Sprintf("/mgmt-%d-*", os.Getpid()))
		all = append(all, found...)
	}
	return all
}

// TestFindingD7AloneSession: a command that leaves nothing behind leaves no process of another session either, whose parent
// has ended; in a control group and without one.
func TestFindingD7AloneSession(t *testing.T) {
	for name, groups := range map[string][]string{"a control group": groupRoots, "a mark": nil} {
		for how, script := range map[string]string{
			"it ends":  "setsid sh -c 'sh -c \"sleep 1000 & echo \\$!\" & wait' >$D; until test -s $D; do sleep 0.01; done",
			"it hangs": "setsid sh -c '(sleep 1000 & echo $! >$D) &' & until test -s $D; do sleep 0.01; done; touch $D.ready; sleep 1000",
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				h := newHost(t, Options{})
				h.groups = groups
				before := ownGroups() // a process that was killed may have had the number of this one
				pids := filepath.Join(t.TempDir(), "pids")
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go func() {
					for ctx.Err() == nil {
						if _, err := os.Stat(pids + ".ready"); err == nil {
							stop()
						}
						time.Sleep(time.Millisecond)
					}
				}()
				c := sh(script)
				c.Alone, c.Env = true, []string{"PATH=" + DefaultPath, "D=" + pids}
				if _, err := h.Command(ctx, c); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				text, err := os.ReadFile(pids)
				must(t, err)
				pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
				must(t, err)
				gone(t, []int{pid})
				for _, left := range ownGroups() {
					if !slices.Contains(before, left) {
						t.Error(left)
					}
				}
			})
		}
	}
}

// TestSweepGroups: the empty groups of processes that have ended go. A new group, a group of a running process, a group with
// something in it and any other folder stay.
func TestSweepGroups(t *testing.T) {
	ended := exec.Command("true")
	must(t, ended.Run())
	dead, now := ended.Process.Pid, time.Now()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		age  time.Duration
		full bool
		goes bool
	}{
		fmt.Sprintf("mgmt-%d-OLD", dead):        {age: time.Hour, goes: true},
		fmt.Sprintf("mgmt-%d-NEW", dead):        {age: time.Second},
		fmt.Sprintf("mgmt-%d-FULL", dead):       {age: time.Hour, full: true},
		fmt.Sprintf("mgmt-%d-OWN", os.Getpid()): {age: time.Hour},
		fmt.Sprintf("other-%d-OLD", dead):       {age: time.Hour},
		"mgmt-x-OLD":                            {age: time.Hour},
		"mgmt--1-OLD":                           {age: time.Hour},
	} {
		at := filepath.Join(dir, name)
		must(t, os.Mkdir(at, 0o700))
		if c.full {
			must(t, os.Mkdir(filepath.Join(at, "below"), 0o700))
		}
		must(t, os.Chtimes(at, now, now.Add(-c.age)))
		sweepGroups(dir, now)
		if _, err := os.Stat(at); os.IsNotExist(err) != c.goes {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASlowReaderLosesNothing(t *testing.T) {
	h := newHost(t, Options{})
	c := sh("seq 1 2000")
	n := 0
	c.Stdout = func([]byte) {
		if n++; n == 1 {
			time.Sleep(2 * drainWait) // the command has ended long before
		}
	}
	command(t, h, c)
	if n != 2000 {
		t.Errorf("%d lines", n)
	}
}

// tardy is a pipe whose first Read gets no time on the processor until it is late.
type tardy struct {
	*os.File
	late bool
}

func (f *tardy) Read(b []byte) (int, error) {
	if f.late {
		return f.File.Read(b)
	}
	f.late = true
	time.Sleep(drainWait)
	return 0, os.ErrDeadlineExceeded
}

func TestOutputIsReadAlsoWhenItIsLate(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close() // which a descendant holds open
	_, err = w.WriteString("said\n")
	must(t, err)
	out, exited := newOutput(&engine.Command{}), make(chan struct{})
	close(exited)
	out.stdout.copy(&tardy{File: r}, make([]byte, readSize), exited)
	if got := string(out.stdout.kept); got != "said\n" {
		t.Errorf("it has %q", got)
	}
}

func TestAPanicOfACallbackIsTheCallers(t *testing.T) {
	h := newHost(t, Options{})
	c := sh("echo $$; sleep 1000")
	var pid atomic.Int64
	c.Stdout = func(l []byte) {
		n, _ := strconv.Atoi(string(l))
		pid.Store(int64(n))
		panic("oops")
	}
	func() {
		defer func() {
			if v := recover(); v != "oops" {
				t.Errorf("recovered %v", v)
			}
		}()
		h.Command(t.Context(), c)
	}()
	gone(t, []int{int(pid.Load())})
}

func TestNoZombieAndNoFileIsLeft(t *testing.T) {
	h := newHost(t, Options{})
	command(t, h, sh("true"))
	before := openFiles(t)
	for range 20 {
		command(t, h, sh("true"))
		_, _ = h.Command(t.Context(), engine.Command{Argv: []string{"/"}})
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open, now %d", before, after)
	}
	for _, x := range processes() {
		if x.parent == os.Getpid() && !x.alive {
			t.Errorf("process %d is a zombie", x.pid)
		}
	}
}

func openFiles(t *testing.T) int {
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(names)
}
