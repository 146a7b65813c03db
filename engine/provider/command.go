package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Command is a program that a provider runs: with arguments as they are and no shell, in
// the folder /, with nothing but PATH and what Env adds in its environment. It is looked
// for each time that it runs, so that it may come to be meanwhile.
//
//	aptKey := rt.Command("apt-key").Env("LC_ALL", "C")
//	err := aptKey.Run(ctx, "del", id)
//	for line, err := range aptKey.ReadOnly().Lines(ctx, "list") { ... }
//
// Where nothing may be altered (Runtime.Noop) it does not run, and succeeds without
// output, unless it is ReadOnly.
//
// The command, and its end, are logged at debug. So is its standard output, where that is not
// given to the provider. Its standard error is a warning. In a type with sensitive attributes
// its output is logged in Set only: elsewhere its secret parts can't be known.
//
// A Command is immutable: the methods that alter it return another one. It is valid as
// long as the Runtime. A wait for it gives the place among the parallel runs back.
type Command struct {
	rt       *Runtime
	program  string
	env      []string
	stdin    []byte
	timeout  time.Duration
	most     int // bytes of standard output
	readOnly bool
	quiet    bool
	err      error // of the methods that altered it
}

// Command returns a command by its name, which is looked for in PATH, or by its
// absolute path. That there is none is the error of its runs.
func (rt *Runtime) Command(program string) *Command {
	c := &Command{rt: rt, program: program, quiet: rt.Log.book.entries == nil && rt.Type.sensitive()}
	if program == "" || strings.Contains(program, "/") && !strings.HasPrefix(program, "/") {
		c.err = fmt.Errorf("command %q: it must be a name or an absolute path", program)
	}
	return c
}

// sensitive reports whether the type has attributes that are sensitive, or hold
// sensitive values.
func (k *Kind) sensitive() bool {
	return k != nil && slices.ContainsFunc(k.attrs, func(a compiled) bool { return a.secret || a.covert })
}

// with returns a copy that f has altered.
func (c *Command) with(f func(*Command)) *Command {
	d := *c
	d.env = slices.Clone(c.env)
	f(&d)
	return &d
}

// Env adds a variable to the environment; the last one of a name counts.
func (c *Command) Env(key, value string) *Command {
	return c.with(func(d *Command) {
		if key == "" || strings.Contains(key, "=") {
			d.err = fmt.Errorf("command %q: %q can't be the name of a variable", c.program, key)
		}
		d.env = append(d.env, key+"="+value)
	})
}

// SecretEnv adds a secret variable. Only the same user and root can see it.
func (c *Command) SecretEnv(key string, value schema.Secret) *Command {
	c.rt.Log.learn(Record{"": value})
	return c.Env(key, value.Reveal())
}

// Stdin sets the standard input of the command; by default nothing.
func (c *Command) Stdin(text string) *Command {
	return c.with(func(d *Command) { d.stdin = []byte(text) })
}

// SecretStdin is Stdin for a secret.
func (c *Command) SecretStdin(text schema.Secret) *Command {
	c.rt.Log.learn(Record{"": text})
	return c.Stdin(text.Reveal())
}

// Timeout sets after how long the command is killed, with an error; by default when
// the context ends.
func (c *Command) Timeout(d time.Duration) *Command {
	return c.with(func(e *Command) { e.timeout = d })
}

// MaxOutput sets after how many bytes of standard output the command is killed, with an
// error; by default there is no end.
func (c *Command) MaxOutput(bytes int) *Command {
	return c.with(func(d *Command) { d.most = bytes })
}

// ReadOnly says that the command alters nothing, so that it runs under noop too.
func (c *Command) ReadOnly() *Command {
	return c.with(func(d *Command) { d.readOnly = true })
}

// Quiet keeps the output of the command out of logs and errors.
func (c *Command) Quiet() *Command {
	return c.with(func(d *Command) { d.quiet = true })
}

// Run runs the command to its end. An exit status other than 0, and a signal, is an
// *ExitError; that there is no such command a *CommandNotFoundError.
func (c *Command) Run(ctx context.Context, args ...string) error {
	return c.run(ctx, args, nil)
}

// Try is Run for a command whose exit status means something: it is returned, and
// not an error. A signal is an error still.
func (c *Command) Try(ctx context.Context, args ...string) (status int, err error) {
	err = c.run(ctx, args, nil)
	if e, ok := errors.AsType[*ExitError](err); ok && e.Signal == "" {
		return e.Code, nil
	}
	return 0, err
}

// Lines runs the command and yields the lines of its standard output as they come. An
// error, as that of Run, is the last that it yields. The command does not get ahead of the reader by
// more than a pipe and a line. To stop reading kills it, and waits for its end.
func (c *Command) Lines(ctx context.Context, args ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		s := c.stream(ctx, args)
		defer s.stop()
		for line := range s.lines {
			if !yield(line, nil) {
				return
			}
		}
		if s.err != nil {
			yield("", s.err)
		}
	}
}

// stream is a command whose lines are read.
type stream struct {
	cancel context.CancelCauseFunc
	lines  chan string // closed at its end
	err    error       // then
}

// errEnough ends a command whose reader stops.
var errEnough = errors.New("no more of it is read")

// stream starts the command on a goroutine that has ended when lines is closed; it must
// be read until then.
func (c *Command) stream(ctx context.Context, args []string) *stream {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{cancel: cancel, lines: make(chan string)}
	go func() {
		defer close(s.lines)
		defer callsafe.Recover("Host.Command", &s.err)
		s.err = c.run(ctx, args, func(line []byte) { s.lines <- string(line) })
	}()
	return s
}

// stop ends the command, if it still runs, and waits for that.
func (s *stream) stop() {
	s.cancel(errEnough)
	for range s.lines {
	}
}
