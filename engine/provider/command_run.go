package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// CommandNotFoundError says that a command is not on this machine. It fails the
// resources that need it; the next run looks again.
type CommandNotFoundError struct {
	Program string // as it was given
	Err     error  // of the Host
}

// Error names the command, and where it was looked for.
func (e *CommandNotFoundError) Error() string {
	if strings.HasPrefix(e.Program, "/") {
		return fmt.Sprintf("the command %s is not there; install it, or have it installed by a resource before this one", e.Program)
	}
	return fmt.Sprintf("the command %q is in none of %s; install it, or have it installed by a resource before this one", e.Program, searchPath)
}

// Unwrap returns the error of the Host.
func (e *CommandNotFoundError) Unwrap() error { return e.Err }

// ExitError says that a command has failed. It holds no secrets.
type ExitError struct {
	Argv   []string
	Code   int    // -1 for a signal
	Signal string // the name of the signal that ended it, or nothing
	Stderr string // the end of its output
}

// Error returns the command, its end, and the last line of standard error.
func (e *ExitError) Error() string {
	how := fmt.Sprintf("ended with exit status %d", e.Code)
	if e.Signal != "" {
		how = "was ended by " + e.Signal
	}
	text := fmt.Sprintf("'%s' %s", commandLine(e.Argv), how)
	if said := strings.TrimSpace(e.Stderr); said != "" {
		text += ": " + said[strings.LastIndexByte(said, '\n')+1:]
	}
	return text
}

// execution is one run of a Command.
type execution struct {
	*Command
	log    *Logger // in the context in which the command was started
	argv   []string
	shown  []string // argv without secrets
	stdout func([]byte)

	cancel context.CancelCauseFunc
	count  int    // bytes of standard output
	over   error  // there were too many
	tail   string // of standard error, without secrets
}

// run runs the command. stdout is given the lines of standard output; nil logs them.
func (c *Command) run(ctx context.Context, args []string, stdout func([]byte)) error {
	x := &execution{Command: c, log: c.rt.Log.Fork(), argv: slices.Concat([]string{c.program}, args), stdout: stdout}
	for _, arg := range x.argv {
		x.shown = append(x.shown, x.log.clean(arg))
	}
	if err := x.check(); err != nil {
		return err
	}
	skip := c.rt.Noop && !c.readOnly
	x.event(Event{Phase: PhaseExecute, Noop: skip})
	if skip {
		return nil
	}
	began := x.log.now()
	err := x.execute(ctx)
	shown := err
	if errors.Is(err, errEnough) {
		shown = nil
	}
	x.event(Event{Phase: PhaseExecuted, Duration: x.log.now().Sub(began), Err: shown})
	return err
}

func (x *execution) event(e Event) {
	e.Level, e.Message = slog.LevelDebug, commandLine(x.shown)
	x.log.book.mu.Lock()
	defer x.log.book.mu.Unlock()
	x.log.emit(&logCall{}, e)
}

// minSecretArg is the length from which a secret is recognized in an argument.
const minSecretArg = 6

// check refuses commands that can't be run, and secrets where others could see
// them.
func (x *execution) check() error {
	if x.err != nil {
		return x.err
	}
	for i, arg := range x.argv {
		if x.log.holdsSecret(arg) {
			return fmt.Errorf("command %q: argument %d holds a secret, which other users could see: give it by SecretStdin or SecretEnv", x.program, i)
		}
	}
	return nil
}

// holdsSecret reports whether a text holds a secret that is too long for an
// accident, or the printed form of a Secret.
func (l *Logger) holdsSecret(s string) bool {
	clean := l.clean(s)
	found := strings.Count(clean, schema.Redacted)
	return found > 0 && len(s)-len(clean)+found*len(schema.Redacted) >= found*minSecretArg
}

// clean returns a text without secrets.
func (l *Logger) clean(s string) string {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	return l.book.cleanText(s)
}

func (l *Logger) now() time.Time { return l.book.opt.Now() }

func (x *execution) execute(ctx context.Context) error {
	ctx, x.cancel = context.WithCancelCause(ctx)
	defer x.cancel(nil)
	if x.timeout > 0 {
		cause := fmt.Errorf("'%s' was still running after %s, and was killed", commandLine(x.shown), x.timeout)
		timed, cancel := clock.WithTimeout(ctx, engine.ClockOf(x.rt.Host), x.timeout, cause)
		defer cancel()
		ctx = timed
	}
	// A streamed output need not be kept.
	res, err := x.rt.Host.Command(ctx, engine.Command{
		Argv: x.argv, Env: slices.Concat([]string{"PATH=" + searchPath}, x.env), Stdin: x.stdin,
		Stdout: x.out, Stderr: x.warn, MaxOutput: 1,
	})
	switch {
	case x.over != nil:
		return x.over
	case errors.Is(err, exec.ErrNotFound):
		return &CommandNotFoundError{Program: x.program, Err: err}
	case err != nil:
		return err
	case res.ExitCode != 0:
		return &ExitError{Argv: x.shown, Code: res.ExitCode, Signal: res.Signal, Stderr: strings.TrimSuffix(x.tail, "\n")}
	}
	return nil
}

// out takes a line of standard output.
func (x *execution) out(line []byte) {
	if x.count += len(line) + 1; x.most > 0 && x.count > x.most {
		x.over = fmt.Errorf("'%s' has written more than %d bytes, and was killed", commandLine(x.shown), x.most)
		x.cancel(x.over)
		return
	}
	switch {
	case x.stdout != nil:
		x.stdout(line)
	case !x.quiet:
		x.log.Debug(string(line))
	}
}

// warn takes a line of standard error.
func (x *execution) warn(line []byte) {
	if !x.quiet {
		x.tail += x.log.clean(string(line)) + "\n"
		x.tail = x.tail[max(0, len(x.tail)-maxStderr):]
		x.log.Warning(string(line))
	}
}

// maxStderr bounds the part of standard error that an ExitError repeats, in bytes.
const maxStderr = 4 << 10

// maxCommandLine bounds a command in a message, in bytes.
const maxCommandLine = 1000

// commandLine writes a command for people: arguments other than plain words are quoted.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '\'' || r == '"' }) {
			words[i] = strconv.Quote(arg)
		}
	}
	s := strings.Join(words, " ")
	if len(s) > maxCommandLine {
		s = strings.ToValidUTF8(s[:maxCommandLine], "") + "..."
	}
	return s
}
