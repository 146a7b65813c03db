package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// Tests of exec and password with a real machine below them.

// real makes an exec that runs its command by a real shell.
func real(t *testing.T, r *Res) *enginetest.Fake {
	t.Helper()
	if r.Shell == "" && r.Args == nil {
		r.Shell = "/bin/sh"
	}
	return kindtest.Begin(t, "exec", r, enginetest.WithHost(kindtest.NewHost(t)))
}

func TestExecHostSends(t *testing.T) {
	r := &Res{Cmd: `echo out; echo err >&2; pwd; echo "$A"; env | cut -d= -f1 | sort | tr '\n' ' '`, Cwd: "/usr", Env: map[string]string{"A": "x y"}}
	f := real(t, r)
	kindtest.Want(t, f, r, "ran")
	s := f.Sent().(*Sends)
	if s.Stdout != "out\n/usr\nx y\nA PATH PWD " && s.Stdout != "out\n/usr\nx y\nA PATH PWD SHLVL _ " || s.Stderr != "err\n" {
		t.Errorf("sent %+v", s)
	}
	if len(s.Output) != len(s.Stdout)+len(s.Stderr) || !strings.Contains(s.Output, "err\n") {
		t.Errorf("sent %q as the output", s.Output)
	}
}

func TestExecHostFailures(t *testing.T) {
	for _, tt := range []struct {
		res  *Res
		want string
	}{
		{&Res{Cmd: "no-such-command", Args: []string{"canary"}}, `error: cmd: command "no-such-command": not found in PATH`},
		{&Res{Cmd: "/no/such", Args: []string{"canary"}}, `error: cmd: command "/no/such": `},
		{&Res{Cmd: "echo canary >/dev/null; echo one >&2; echo two >&2; exit 7"}, "error: cmd ended with exit status 7: one; two"},
		{&Res{Cmd: "kill -TERM $$"}, "error: cmd was ended by the signal "},
		{&Res{Cmd: "true", Cwd: "/no/such"}, "error: cmd: "},
		{&Res{Cmd: "true", User: "no-such-user"}, "error: cmd: "},
		{&Res{Cmd: "true", IfCmd: "no-such-command canary"}, `error: ifcmd: command "no-such-command": not found in PATH`},
	} {
		f := real(t, tt.res)
		got := kindtest.Verbs(t, f, tt.res, true)
		if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "canary") {
			t.Errorf("%s: %q, want %q", tt.res.Cmd, got, tt.want)
		}
	}
}

// A timeout ends the command and all that it has started. On a machine that is busy it gets
// longer ones until it has started something.
func TestExecHostTimeout(t *testing.T) {
	for timeout := 300 * time.Millisecond; !timedOut(t, timeout) && !t.Failed(); timeout *= 4 {
		if timeout > await.Left() {
			t.Fatal("the command does not start")
		}
	}
}

// timedOut runs a command that does not end, and reports whether it has begun before its end.
func timedOut(t *testing.T, timeout time.Duration) bool {
	dir := t.TempDir()
	r := &Res{
		Cmd: "sh -c 'trap \"\" TERM; echo $$ > pid; until test -s parent; do sleep 0.01; done; mv pid child; while :; do sleep 1; done' & echo $$ > parent; wait", Cwd: dir,
		Timeout: timeout, Grace: 100 * time.Millisecond,
	}
	f := real(t, r)
	start := time.Now()
	if got := kindtest.Verbs(t, f, r, true); got != fmt.Sprintf("error: cmd: still running after %s (timeout), killed", timeout) {
		t.Errorf("got %q", got)
	}
	if d := time.Since(start); d < timeout {
		t.Errorf("after %s", d)
	}
	if _, err := os.Stat(filepath.Join(dir, "child")); err != nil {
		return false
	}
	kindtest.Gone(t, kindtest.PidIn(t, filepath.Join(dir, "parent")))
	kindtest.Gone(t, kindtest.PidIn(t, filepath.Join(dir, "child")))
	return true
}

func TestExecHostCancelled(t *testing.T) {
	dir := t.TempDir()
	r := &Res{Cmd: "sleep 1000 & echo $! > child; echo $$ > parent; wait", Cwd: dir, Grace: time.Second}
	real(t, r)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.CheckApply(ctx, true)
		done <- err
	}()
	parent, child := kindtest.PidIn(t, filepath.Join(dir, "parent")), kindtest.PidIn(t, filepath.Join(dir, "child"))
	cause := errors.New("told to stop")
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	kindtest.Gone(t, parent)
	kindtest.Gone(t, child)
}

// A command is asked to end by the signal that it was given, and by no other one.
func TestExecHostSignal(t *testing.T) {
	dir := t.TempDir()
	r := &Res{
		Cmd: "trap '' TERM; trap 'echo it > signal; exit 5' INT; echo $$ > pid; while :; do sleep 0.02; done",
		Cwd: dir, Sig: "SIGINT", Grace: time.Minute,
	}
	real(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.CheckApply(ctx, true)
		done <- err
	}()
	pid := kindtest.PidIn(t, filepath.Join(dir, "pid"))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	kindtest.Gone(t, pid)
	if _, err := os.Stat(filepath.Join(dir, "signal")); err != nil {
		t.Error("it was not told by SIGINT")
	}
}

// The process of watchcmd, and what it has started, ends with Watch, however
// often that is started.
func TestExecHostWatchCmd(t *testing.T) {
	dir := t.TempDir()
	r := &Res{
		Cmd: "true", WatchShell: "/bin/sh", WatchCwd: dir, Grace: time.Second,
		WatchCmd: "sleep 1000 & echo $! > child; echo $$ > parent; echo ready; while [ ! -e go ]; do sleep 0.01; done; rm go; echo again; wait",
	}
	f := real(t, r)
	for range 3 {
		f.Restart()
		stop := kindtest.Watching(t, f, r)
		f.WaitEvent(t)
		kindtest.Want(t, f, r, "ran")
		kindtest.Want(t, f, r, "")
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f.WaitEvent(t)
		kindtest.Want(t, f, r, "ran")
		parent, child := kindtest.PidIn(t, filepath.Join(dir, "parent")), kindtest.PidIn(t, filepath.Join(dir, "child"))
		stop()
		kindtest.Gone(t, parent)
		kindtest.Gone(t, child)
		if err := errors.Join(os.Remove(filepath.Join(dir, "parent")), os.Remove(filepath.Join(dir, "child"))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExecHostWatchCmdFails(t *testing.T) {
	for cmd, want := range map[string]string{
		"echo it broke >&2; exit 3": "watchcmd ended with exit status 3, it must run for as long as it is to watch: it broke",
		"kill -KILL $$":             "watchcmd was ended by the signal ",
	} {
		r := &Res{Cmd: "true", WatchShell: "/bin/sh", WatchCmd: cmd}
		real(t, r)
		if err := r.Watch(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", cmd, err)
		}
	}
}

// The credentials are those that were asked for, or the command fails.
func TestExecHostUser(t *testing.T) {
	r := &Res{Cmd: "id -u; id -g", User: "65534", Group: "65534", Cwd: "/"}
	f := real(t, r)
	got := kindtest.Verbs(t, f, r, true)
	if os.Geteuid() != 0 {
		if !strings.HasPrefix(got, "error: cmd: ") {
			t.Errorf("not as root: %q", got)
		}
		return
	}
	if s, ok := f.Sent().(*Sends); !ok || s.Stdout != "65534\n65534\n" {
		t.Errorf("%q, sent %+v", got, f.Sent())
	}
}

// What stdin holds is what cmd reads, and no other command.
func TestExecHostStdin(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 1<<14) // more than a pipe holds
	r := &Res{Cmd: "cat", Stdin: long, IfCmd: "test -z \"$(cat)\"", IfShell: "/bin/sh"}
	f := real(t, r)
	if got := kindtest.Verbs(t, f, r, true); got != "ran" {
		t.Fatal(got)
	}
	if s, ok := f.Sent().(*Sends); !ok || s.Stdout != long {
		t.Error("cmd has read something else")
	}
	r = &Res{Cmd: "cat"}
	f = real(t, r)
	if kindtest.Verbs(t, f, r, true); f.Sent().(*Sends).Stdout != "" {
		t.Error("there is something to read without stdin")
	}
	r = &Res{Cmd: "true", Stdin: long} // one that reads nothing is as well
	f = real(t, r)
	if got := kindtest.Verbs(t, f, r, true); got != "ran" {
		t.Error(got)
	}
}

// A secret in the environment is in no argument list, while the command runs.
func TestExecHostSecretIsInNoArguments(t *testing.T) {
	const canary = "canary-95ab2c"
	dir := t.TempDir()
	r := &Res{
		Cmd: `echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; test "$TOKEN" = ` + "canary-95a" + `"b2c"`,
		Cwd: dir, Env: map[string]string{"TOKEN": canary},
	}
	f := real(t, r)
	f.SetRecv(map[string]*engine.Send{"env.TOKEN": {Secret: true, Changed: true}})
	done := make(chan error, 1)
	go func() {
		_, err := r.CheckApply(t.Context(), true)
		done <- err
	}()
	pid := kindtest.PidIn(t, filepath.Join(dir, "pid"))
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || !bytes.Contains(env, []byte(canary)) {
		t.Errorf("it is not in the environment: %v", err)
	}
	lists, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lists) == 0 {
		t.Errorf("no processes: %v", err)
	}
	for _, l := range lists {
		if data, _ := os.ReadFile(l); bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s shows it", l)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, line := range f.Logs() {
		if strings.Contains(line, canary) {
			t.Errorf("logged %q", line)
		}
	}
}

// TestFindingC12CutOutputIsNotSent: output that was cut is a failure where somebody receives it, also at a later look
// when the command does not run, and else a line of the log.
func TestFindingC12CutOutputIsNotSent(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, receives := range []bool{true, false} {
		r := &Res{Cmd: "head -c 3000000 /dev/zero; touch " + ran, Shell: "/bin/sh", IfCmd: "test ! -e " + ran, IfShell: "/bin/sh"}
		f := real(t, r)
		f.Init().Receives = func() bool { return receives }
		for look := range 2 {
			_, err := r.CheckApply(t.Context(), true)
			if (err != nil) != receives || err != nil && !strings.Contains(err.Error(), "1MiB") {
				t.Errorf("received: %t, look %d: %v", receives, look, err)
			}
		}
		if f.Sent() != nil {
			t.Errorf("received: %t: it was sent", receives)
		}
		if !strings.Contains(strings.Join(f.Logs(), "\n"), "nothing is sent") {
			t.Errorf("logged %q", f.Logs())
		}
		kindtest.Must(t, os.Remove(ran))
	}
}

// The hosts agree on what is in a clean environment.
func TestDefaultPath(t *testing.T) {
	if command.DefaultPath != host.DefaultPath {
		t.Errorf("%s here, %s in host", command.DefaultPath, host.DefaultPath)
	}
}

func TestExecHostSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "exec", Setup: kindtest.Folder, Host: kindtest.NewHost, Received: []string{"cmd", "args", "env"},
		New: func(_ *testing.T, dir string) engine.Res {
			path := filepath.Join(dir, "made")
			return &Res{Cmd: "touch", Args: []string{path}, Creates: path}
		},
		Drifts: map[string]func(*testing.T, string){
			"deleted": func(t *testing.T, dir string) {
				if err := os.Remove(filepath.Join(dir, "made")); err != nil {
					t.Fatal(err)
				}
			},
			"moved": func(t *testing.T, dir string) {
				if err := os.Rename(filepath.Join(dir, "made"), filepath.Join(dir, "away")); err != nil {
					t.Fatal(err)
				}
			},
		},
	})
}
