package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// onMachine is a bench whose commands are real ones.
func onMachine(t *testing.T, o provider.LogOptions, titles ...string) *logBench {
	t.Helper()
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	b := newLogBench(o, titles...)
	b.rt.Host = h
	return b
}

// script writes a program.
func script(t *testing.T, path, body string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// read collects the lines of a command.
func read(t *testing.T, c *provider.Command, args ...string) (lines []string, err error) {
	t.Helper()
	for line, e := range c.Lines(t.Context(), args...) {
		if err != nil {
			t.Errorf("%q, %v after the error", line, e)
		}
		if err = e; e == nil {
			lines = append(lines, line)
		}
	}
	return lines, err
}

// TestCommandIsClean holds that a command has its arguments as they are, the folder / and
// nothing in its environment but what it was given.
func TestCommandIsClean(t *testing.T) {
	t.Setenv("FROM_OUTSIDE", "1")
	b := onMachine(t, provider.LogOptions{})
	path := script(t, filepath.Join(t.TempDir(), "show"), "for a; do echo \"[$a]\"; done; pwd; env -u PWD -u OLDPWD -u SHLVL -u _; cat\n")
	c := b.rt.Command(path).Env("LC_ALL", "C").Env("A", "x y=z").Env("A", "2").Stdin("read")
	got, err := read(t, c, "$(id)", "a  b", "", "*", "; rm")
	want := []string{"[$(id)]", "[a  b]", "[]", "[*]", "[; rm]", "/"}
	if err != nil || !slices.Equal(got[:min(6, len(got))], want) {
		t.Fatalf("%q, %v", got, err)
	}
	env := got[6 : len(got)-1]
	slices.Sort(env)
	if !slices.Equal(env, []string{"A=2", "LC_ALL=C", "PATH=" + host.DefaultPath}) || got[len(got)-1] != "read" {
		t.Errorf("environment and input: %q", got[6:])
	}
}

// TestCommandIsLogged holds what is logged of one at work: its lines in the context in
// which it was started.
func TestCommandIsLogged(t *testing.T) {
	b := onMachine(t, provider.LogOptions{}, "t")
	dir := t.TempDir()
	say := script(t, filepath.Join(dir, "say"), "echo one; echo two >&2; exit $1\n")
	err := b.Updating("t", func() error { return b.rt.Command(say).Run(t.Context(), "0", "x y", "") })
	if err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.ReplaceAll(b.spec(), dir, "DIR"), "\n")
	if len(lines) != 6 {
		t.Fatalf("%q", lines)
	}
	slices.Sort(lines[2:4]) // the two streams have no order
	want := []string{
		`Debug: Apt_key[t]: Started updating`,
		`Debug: Apt_key[t]: Executing 'DIR/say 0 "x y" ""'`,
		`Debug: Apt_key[t]: Updating: one`,
		`Warning: Apt_key[t]: Updating: two`,
		`Debug: Apt_key[t]: Successfully executed 'DIR/say 0 "x y" ""'`,
		`Notice: Apt_key[t]: Successfully updated`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("logged:\n%s", strings.Join(lines, "\n"))
	}
}

// TestCommandFails holds that an exit status and a signal are errors that say all.
func TestCommandFails(t *testing.T) {
	b := onMachine(t, provider.LogOptions{})
	say := script(t, filepath.Join(t.TempDir(), "say"), "echo first >&2; echo last >&2; test $1 = kill && kill -9 $$; exit $1\n")
	c := b.rt.Command(say)
	err := c.Run(t.Context(), "3")
	e, ok := errors.AsType[*provider.ExitError](err)
	if !ok || e.Code != 3 || e.Signal != "" || e.Stderr != "first\nlast" || !slices.Equal(e.Argv, []string{say, "3"}) {
		t.Fatalf("%+v", err)
	}
	if want := "'" + say + " 3' ended with exit status 3: last"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if last := b.events[len(b.events)-1]; last.Err != err || !strings.Contains(b.spec(), "failed: '"+say) {
		t.Errorf("logged:\n%s", b.spec())
	}
	if status, err := c.Try(t.Context(), "3"); status != 3 || err != nil {
		t.Errorf("Try: %d, %v", status, err)
	}
	if status, err := c.Try(t.Context(), "0"); status != 0 || err != nil {
		t.Errorf("Try: %d, %v", status, err)
	}
	_, err = c.Try(t.Context(), "kill")
	if e, ok := errors.AsType[*provider.ExitError](err); !ok || e.Signal != "SIGKILL" || e.Code != -1 || !strings.Contains(err.Error(), "was ended by SIGKILL") {
		t.Errorf("%v", err)
	}
	lines, err := read(t, c, "4")
	if e, ok := errors.AsType[*provider.ExitError](err); !ok || e.Code != 4 || len(lines) != 0 {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestCommandMissing holds that a missing command is an error of its own, and is looked
// for again.
func TestCommandMissing(t *testing.T) {
	b := onMachine(t, provider.LogOptions{})
	path := filepath.Join(t.TempDir(), "late")
	c := b.rt.Command(path)
	for _, err := range []error{c.Run(t.Context()), b.rt.Command("no-such-command-anywhere").Run(t.Context())} {
		e, ok := errors.AsType[*provider.CommandNotFoundError](err)
		if !ok || !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), e.Program) {
			t.Errorf("%#v", err)
		}
	}
	if _, err := c.Try(t.Context()); err == nil {
		t.Error("Try: no error")
	}
	if lines, err := read(t, c); err == nil || len(lines) > 0 {
		t.Errorf("%q, %v", lines, err)
	}
	script(t, path, "exit 0")
	if err := c.Run(t.Context()); err != nil {
		t.Errorf("there it is, and: %v", err)
	}
	if err := b.rt.Command("true").Run(t.Context()); err != nil {
		t.Errorf("in PATH, and: %v", err)
	}
	for _, program := range []string{"", "./late", "bin/late"} {
		if err := b.rt.Command(program).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "a name or an absolute path") {
			t.Errorf("%q: %v", program, err)
		}
	}
	if err := b.rt.Command("true").Env("A=B", "").Run(t.Context()); err == nil {
		t.Error("no error of a variable with =")
	}
	if err := b.rt.Command(t.TempDir()).Run(t.Context()); err == nil || errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a folder: %v", err)
	}
}

// TestCommandMissingFailsItsOwn holds that in a Set it fails those that need it, with an
// error that can be recognized, and nobody else.
func TestCommandMissingFailsItsOwn(t *testing.T) {
	s := newStock("x", "y")
	s.set = func(rt *provider.Runtime, changes []provider.Change) error {
		for _, ch := range changes {
			_ = rt.Log.Updating(ch.Title, func() error {
				if ch.Title == "x" {
					return rt.Command("no-such-command-anywhere").Run(t.Context())
				}
				s.fulfil(ch)
				return nil
			})
		}
		return nil
	}
	c := newCrew(t, simple(provider.SimpleGetFilter), s.clerk, "x=2", "y=2")
	defer c.end()
	for _, f := range c.fakes {
		f.Host().SetCommand(func(context.Context, engine.Command) (*engine.Result, error) {
			return nil, fmt.Errorf("looked everywhere: %w", exec.ErrNotFound)
		})
	}
	outs := c.run(true)
	if _, ok := errors.AsType[*provider.CommandNotFoundError](outs[0].Err); !ok || outs[1].Err != nil {
		t.Errorf("%v; %v", outs[0].Err, outs[1].Err)
	}
}

// TestCommandUnderNoop holds that only what alters nothing runs.
func TestCommandUnderNoop(t *testing.T) {
	b := newLogBench(provider.LogOptions{Noop: true})
	b.host.SetCommand(says(1, "a line"))
	c := b.rt.Command("apt-key")
	if err := c.Run(t.Context(), "del"); err != nil {
		t.Error(err)
	}
	if status, err := c.Try(t.Context(), "del"); status != 0 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	if lines, err := read(t, c, "del"); len(lines) > 0 || err != nil {
		t.Errorf("%q, %v", lines, err)
	}
	if n := len(b.host.Commands()); n != 0 {
		t.Fatalf("%d commands have run", n)
	}
	if status, err := c.ReadOnly().Try(t.Context(), "list"); status != 1 || err != nil {
		t.Errorf("read-only: %d, %v", status, err)
	}
	b.wantSpec(t, `
Debug: apt_key: Executing 'apt-key del' (noop)
Debug: apt_key: Executing 'apt-key del' (noop)
Debug: apt_key: Executing 'apt-key del' (noop)
Debug: apt_key: Executing 'apt-key list'
Debug: apt_key: a line
Debug: apt_key: Executing 'apt-key list' failed: 'apt-key list' ended with exit status 1`)
}

// says is a command that writes these lines and ends with this status.
func says(status int, lines ...string) func(context.Context, engine.Command) (*engine.Result, error) {
	return func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		for _, line := range lines {
			c.Stdout([]byte(line))
		}
		return &engine.Result{ExitCode: status}, context.Cause(ctx)
	}
}

// TestLines holds that all lines come, in order, and none is in the log.
func TestLines(t *testing.T) {
	b := newLogBench(provider.LogOptions{})
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprint(i))
	}
	b.host.SetCommand(says(0, want...))
	c := b.rt.Command("list")
	for range 2 { // the sequence can be read again
		if got, err := read(t, c); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d lines, %v", len(got), err)
		}
	}
	if len(b.events) != 4 {
		t.Errorf("%d events:\n%s", len(b.events), b.spec())
	}
}

// TestLinesStream holds that a line comes before the command has ended, and that the
// command does not run ahead of who reads.
func TestLinesStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLogBench(provider.LogOptions{})
		written := 0
		b.host.SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
			for range 10 {
				written++
				c.Stdout([]byte("line"))
			}
			return &engine.Result{}, nil
		})
		n := 0
		for range b.rt.Command("list").Lines(t.Context()) {
			n++
			synctest.Wait()
			if written > n+1 {
				t.Errorf("%d lines are written, %d read", written, n)
			}
		}
		if n != 10 {
			t.Errorf("%d lines", n)
		}
	})
}

// TestOutputIsOfItsContext holds that what a command says is said where it was started,
// also while whoever reads its lines is in another context.
func TestOutputIsOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLogBench(provider.LogOptions{}, "t")
		b.host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
			c.Stdout([]byte("line"))
			time.Sleep(time.Second)
			c.Stderr([]byte("careful"))
			return &engine.Result{}, nil
		})
		for range b.rt.Command("list").Lines(t.Context()) {
			_ = b.Updating("t", func() error { time.Sleep(2 * time.Second); return nil })
		}
		if !strings.Contains(b.spec(), "\nWarning: apt_key: careful\n") {
			t.Errorf("logged:\n%s", b.spec())
		}
	})
}

// endless is a command that writes until it is told to end, and then takes its time.
func endless(ended *bool) func(context.Context, engine.Command) (*engine.Result, error) {
	return func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		for ctx.Err() == nil {
			c.Stdout([]byte("line"))
		}
		c.Stdout([]byte("nobody reads this"))
		time.Sleep(time.Second)
		*ended = true
		return &engine.Result{ExitCode: -1, Signal: "SIGKILL"}, context.Cause(ctx)
	}
}

// TestLinesBreak holds that who stops reading ends the command, and goes on when it has
// ended: after a break and in a panic.
func TestLinesBreak(t *testing.T) {
	for name, leave := range map[string]func(){"break": func() {}, "panic": func() { panic("boom") }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newLogBench(provider.LogOptions{})
				ended := false
				b.host.SetCommand(endless(&ended))
				func() {
					defer func() { _ = recover() }()
					for line, err := range b.rt.Command("yes").Lines(t.Context()) {
						if line != "line" || err != nil {
							t.Errorf("%q, %v", line, err)
						}
						leave()
						break
					}
				}()
				if !ended {
					t.Error("the command still runs")
				}
				b.wantSpec(t, "Debug: apt_key: Executing 'yes'\nDebug: apt_key: Successfully executed 'yes'")
			})
		})
	}
}

// TestLinesBreakOnMachine holds that for a real one.
func TestLinesBreakOnMachine(t *testing.T) {
	b := onMachine(t, provider.LogOptions{})
	n := 0
	for range b.rt.Command("yes").Lines(t.Context()) {
		if n++; n == 1000 {
			break
		}
	}
	if n != 1000 {
		t.Errorf("%d lines", n)
	}
}

// TestLinesEndWithContext holds that the end of the context is the error.
func TestLinesEndWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLogBench(provider.LogOptions{})
		var ended bool
		b.host.SetCommand(endless(&ended))
		cause := errors.New("the graph has changed")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var last error
		for _, err := range b.rt.Command("yes").Lines(ctx) {
			cancel(cause)
			last = err
		}
		if last != cause || !ended {
			t.Errorf("%v, ended: %t", last, ended)
		}
	})
}

// TestHostPanics holds that a panic on the goroutine of Lines is an error.
func TestHostPanics(t *testing.T) {
	b := newLogBench(provider.LogOptions{})
	b.host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { panic("boom") })
	if _, err := read(t, b.rt.Command("x")); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("%v", err)
	}
}

// TestCommandTimeout holds that one that takes too long is ended, and says so.
func TestCommandTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLogBench(provider.LogOptions{})
		b.host.SetCommand(func(ctx context.Context, _ engine.Command) (*engine.Result, error) {
			<-ctx.Done()
			return &engine.Result{ExitCode: -1, Signal: "SIGKILL"}, context.Cause(ctx)
		})
		began := time.Now()
		err := b.rt.Command("hang").Timeout(5*time.Second).Run(t.Context(), "x")
		if err == nil || err.Error() != "'hang x' was still running after 5s, and was killed" || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestCommandMaxOutput holds that one that writes too much is ended, with all lines
// before that.
func TestCommandMaxOutput(t *testing.T) {
	b := newLogBench(provider.LogOptions{})
	b.host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		for _, line := range []string{"12345", "12345", "1"} {
			c.Stdout([]byte(line))
		}
		return &engine.Result{}, nil // it has ended before it could be killed
	})
	c := b.rt.Command("much")
	lines, err := read(t, c.MaxOutput(12))
	if len(lines) != 2 || err == nil || err.Error() != "'much' has written more than 12 bytes, and was killed" {
		t.Errorf("%q, %v", lines, err)
	}
	if lines, err := read(t, c.MaxOutput(14)); len(lines) != 3 || err != nil {
		t.Errorf("%q, %v", lines, err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newLogBench(provider.LogOptions{})
		var ended bool
		b.host.SetCommand(endless(&ended))
		err := b.rt.Command("much").MaxOutput(1 << 14).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "more than 16384 bytes") || !ended {
			t.Errorf("%v, ended: %t", err, ended)
		}
	})
}

// TestCommandIsImmutable holds that what is added is added to another one.
func TestCommandIsImmutable(t *testing.T) {
	b := newLogBench(provider.LogOptions{})
	b.host.SetCommand(exits(0))
	c := b.rt.Command("c").Env("A", "1").Env("A", "2").Env("A", "3")
	with := c.Env("B", "2")
	_ = c.Env("C", "3").Stdin("in").Run(t.Context())
	_ = with.Run(t.Context())
	_ = c.Run(t.Context())
	var got []string
	for _, ran := range b.host.Commands() {
		got = append(got, strings.Join(ran.Env[3:], " ")+"|"+string(ran.Stdin))
	}
	if !slices.Equal(got, []string{"A=3 C=3|in", "A=3 B=2|", "A=3|"}) {
		t.Errorf("%q", got)
	}
}

// TestSecretsOfCommands holds that secrets reach the command where nobody sees them, and
// no log, error or argument.
func TestSecretsOfCommands(t *testing.T) {
	b := onMachine(t, provider.LogOptions{}, "t")
	secret := schema.NewSecret(logCanary)
	leak := script(t, filepath.Join(t.TempDir(), "leak"), "read x; echo \"out $x\"; echo \"err $x $Y\" >&2; exit 3\n")
	c := b.rt.Command(leak).SecretStdin(secret).SecretEnv("Y", schema.NewSecret("other bird"))
	err := b.Updating("t", func() error { return c.Run(t.Context()) })
	_, words := b.Status("t")
	all := fmt.Sprintf("%+v %#v %s", err, err, words) + b.everything()
	if strings.Contains(all, logCanary) || strings.Contains(all, "other bird") || !strings.Contains(words, "err (secret) (secret)") {
		t.Errorf("seen:\n%s", all)
	}
	if lines, _ := read(t, c); !slices.Equal(lines, []string{"out " + logCanary}) {
		t.Errorf("the provider reads %q", lines)
	}
}

// TestSecretsInArguments holds that they are refused, as is what was made of a Secret by
// printing it.
func TestSecretsInArguments(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "t")
	b.host.SetCommand(exits(0))
	secret, short := schema.NewSecret(logCanary), schema.NewSecret("on")
	c := b.rt.Command("set").SecretStdin(secret).SecretEnv("X", short)
	for _, arg := range []string{logCanary, "--password=" + logCanary, fmt.Sprint("--password=", secret)} {
		err := c.Run(t.Context(), "--user=x", arg)
		if err == nil || !strings.Contains(err.Error(), "argument 2") || strings.Contains(err.Error(), logCanary) {
			t.Errorf("%v", err)
		}
	}
	if n := len(b.host.Commands()); n != 0 {
		t.Errorf("%d commands have run", n)
	}
	if err := c.Run(t.Context(), "--online"); err != nil {
		t.Errorf("what is too short to be one by itself: %v", err)
	}
	if got := b.host.Commands()[0].Argv; !slices.Equal(got, []string{"set", "--online"}) {
		t.Errorf("%q", got)
	}
	b.host.SetCommand(exits(2))
	if err := c.Run(t.Context(), "--online"); strings.Contains(b.spec()+fmt.Sprintf("%+v", err), "online") {
		t.Errorf("%v, logged:\n%s", err, b.spec())
	}
}

// TestQuietCommand holds that what it writes is seen by nobody, and that in a type with
// sensitive attributes all are quiet outside of Set.
func TestQuietCommand(t *testing.T) {
	say := func(_ context.Context, c engine.Command) (*engine.Result, error) {
		c.Stdout([]byte("to all"))
		c.Stderr([]byte("to all"))
		return &engine.Result{ExitCode: 1}, nil
	}
	kind, err := provider.New(provider.Definition{Name: "apt_key", Doc: "Keys.", Attributes: []provider.Attribute{
		{Name: "name", Type: "String", Role: provider.Namevar, Doc: "The name."},
		{Name: "token", Type: "Sensitive[String]", Doc: "A secret."},
	}}, func() provider.Provider { return noKeys{} })
	if err != nil {
		t.Fatal(err)
	}
	get, set, open := newLogBench(provider.LogOptions{}), newLogBench(provider.LogOptions{}, "t"), newLogBench(provider.LogOptions{})
	get.rt.Type, set.rt.Type = kind, kind
	for name, c := range map[string]struct {
		*logBench
		*provider.Command
		lines int
	}{
		"in Get": {get, get.rt.Command("x"), 0}, "in Set": {set, set.rt.Command("x"), 2},
		"nothing to hide": {open, open.rt.Command("x"), 2}, "quiet": {open, open.rt.Command("x").Quiet(), 0},
	} {
		c.host.SetCommand(say)
		c.events = nil
		err := c.Run(t.Context())
		if n := strings.Count(c.spec(), ": to all\n"); n != c.lines || (c.lines == 0) == strings.Contains(err.Error(), "to all") {
			t.Errorf("%s: %d lines, %v:\n%s", name, n, err, c.spec())
		}
	}
}

// noKeys is a provider of nothing.
type noKeys struct{}

func (noKeys) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(func(provider.Record, error) bool) {}
}

func (noKeys) Set(context.Context, *provider.Runtime, []provider.Change) error { return nil }

// TestLongOutputOfErrors holds that errors and commands in messages are bounded.
func TestLongOutputOfErrors(t *testing.T) {
	b := newLogBench(provider.LogOptions{})
	b.host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		for i := range 10_000 {
			c.Stderr(fmt.Appendf(nil, "line %d", i))
		}
		return &engine.Result{ExitCode: 1}, nil
	})
	err := b.rt.Command("x").Run(t.Context(), strings.Repeat("y", 100_000))
	e, _ := errors.AsType[*provider.ExitError](err)
	if len(e.Stderr) > 4<<10 || !strings.HasSuffix(e.Stderr, "line 9998\nline 9999") || len(err.Error()) > 2000 {
		t.Errorf("%d bytes, %q", len(e.Stderr), err)
	}
}
