package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/received"
)

// step is one of the commands of an exec. It is made from the parameters at each
// use, so a received value counts at once. Only cmd has arguments and an input.
type step struct {
	what, line, shell, cwd string // what is the key of the parameter
	args                   []string
	stdin                  string
}

// mainCommand is cmd, which is the name where the graph does not say it. Only it
// reads stdin.
func (x *Res) mainCommand() step {
	c := step{what: "cmd", line: x.Cmd, shell: x.Shell, cwd: x.Cwd, args: x.Args, stdin: x.Stdin}
	if c.line == "" {
		c.line = x.Name()
	}
	return c
}

func (x *Res) ifCommand() step {
	return step{what: "ifcmd", line: x.IfCmd, shell: x.IfShell, cwd: x.IfCwd}
}

func (x *Res) nifCommand() step {
	return step{what: "nifcmd", line: x.NIfCmd, shell: x.NIfShell, cwd: x.NIfCwd}
}

func (x *Res) doneCommand() step {
	return step{what: "donecmd", line: x.DoneCmd, shell: x.DoneShell, cwd: x.DoneCwd}
}

func (x *Res) watchCommand() step {
	return step{what: "watchcmd", line: x.WatchCmd, shell: x.WatchShell, cwd: x.WatchCwd}
}

// commands are all commands; a command that is not given has an empty line.
// Checks and edges go through this list, so that no command is forgotten.
func (x *Res) commands() []step {
	return []step{x.mainCommand(), x.ifCommand(), x.nifCommand(), x.doneCommand(), x.watchCommand()}
}

// argv returns the argument list. With a shell the arguments begin at $1, so $0 is
// the shell's own name. Without a shell and arguments the line is split by quotes
// alone. An error is about the text, so Validate can call it.
func (c step) argv() ([]string, error) {
	switch {
	case strings.TrimSpace(c.line) == "":
		return nil, errors.New("there is no command")
	case c.shell != "":
		argv := []string{c.shell, "-c", c.line}
		if len(c.args) > 0 {
			argv = append(append(argv, c.shell), c.args...)
		}
		return argv, nil
	case len(c.args) > 0:
		return append([]string{c.line}, c.args...), nil
	}
	words, err := command.Words(c.line)
	if err == nil && (len(words) == 0 || words[0] == "") {
		err = errors.New("there is no command")
	}
	return words, err
}

// environ returns the environment of all commands, sorted. It has PATH unless the
// graph gives one, and nothing of the program's own environment: that may have
// secrets, and differs between a terminal and a service.
func (x *Res) environ() []string {
	env := make([]string, 0, len(x.Env)+1)
	if _, ok := x.Env["PATH"]; !ok {
		env = append(env, "PATH="+command.DefaultPath)
	}
	for _, k := range slices.Sorted(maps.Keys(x.Env)) {
		env = append(env, k+"="+x.Env[k])
	}
	return env
}

// hostCommand returns the command for the host. It takes user, group, signal and grace from
// the resource: all commands of one exec have the same.
func (x *Res) hostCommand(c step) (engine.Command, error) {
	argv, err := c.argv()
	if err != nil {
		return engine.Command{}, fmt.Errorf("%s: %w", c.what, err)
	}
	return engine.Command{
		Argv: argv, Dir: c.cwd, Env: x.environ(), Stdin: []byte(c.stdin),
		User: x.User, Group: x.Group, Signal: x.Sig, Grace: x.Grace,
	}, nil
}

// runCommand runs one command to its end or to the timeout. An exit status is not an
// error, a signal is. stderr may be nil. ctx ends it as the timeout does: with the
// signal, and with SIGKILL for all its descendants after the grace.
func (x *Res) runCommand(ctx context.Context, c step, stderr func([]byte)) (*engine.Result, error) {
	hc, err := x.hostCommand(c)
	if err != nil {
		return nil, err
	}
	hc.Stderr = stderr
	if x.Timeout > 0 {
		var cancel context.CancelFunc
		cause := fmt.Errorf("still running after %s (timeout), killed", x.Timeout)
		ctx, cancel = clock.WithTimeout(ctx, engine.ClockOf(x.init.Host), x.Timeout, cause)
		defer cancel()
	}
	res, err := x.init.Host.Command(ctx, hc)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", c.what, err)
	case res.Signal != "" || res.ExitCode < 0:
		return nil, fmt.Errorf("%s was ended by the signal %s", c.what, res.Signal)
	}
	return res, nil
}

// apply runs cmd and donecmd, and looks at the file that it should have created. The
// result is what loadLast finds later. A missing file after the run is a verdict,
// since the command believes itself successful. An output of more than outputMax is
// kept as cut, and not in part.
func (x *Res) apply(ctx context.Context) (*lastRun, error) {
	c := engine.ClockOf(x.init.Host)
	start := c.Now()
	res, err := x.mustRun(ctx, x.mainCommand())
	if err != nil {
		return nil, err
	}
	if x.DoneCmd != "" {
		if _, err := x.mustRun(ctx, x.doneCommand()); err != nil {
			return nil, err
		}
	}
	if x.Creates != "" {
		switch there, err := x.exists(x.Creates); {
		case err != nil:
			return nil, err
		case !there:
			return nil, failure.Verdict(fmt.Errorf("cmd ended well, but %s does not exist after it", x.Creates))
		}
	}
	x.init.Log.Debug("command ended", "took", clock.Since(c, start).Round(time.Millisecond))
	if res.Truncated {
		x.init.Logf("it printed more than the %s that are kept: nothing is sent", outputMax)
		return &lastRun{Cut: true}, nil
	}
	return &lastRun{Output: res.Output, Stdout: res.Stdout, Stderr: res.Stderr}, nil
}

// mustRun runs a command that has to end with exit status 0. A failure has the last
// lines of standard error in it, or of standard output where there are none. The
// failure is a verdict: the command has spoken, and was not only cut off.
func (x *Res) mustRun(ctx context.Context, c step) (*engine.Result, error) {
	var t command.Tail
	res, err := x.runCommand(ctx, c, t.Add)
	if err != nil {
		return nil, x.withTail(err, &t)
	}
	if res.ExitCode != 0 {
		err := fmt.Errorf("%s ended with exit status %d", c.what, res.ExitCode)
		if t.Empty() {
			t.AddAll(res.Stdout)
		}
		return nil, failure.Verdict(x.withTail(err, &t))
	}
	return res, nil
}

// withTail adds the last output of a command. A command with a secret may print a part of it, or
// something made from it, which no redactor could recognise.
func (x *Res) withTail(err error, t *command.Tail) error {
	switch {
	case t.Empty():
		return err
	case received.TaintedAny(x.init):
		return fmt.Errorf("%w; what it printed is not shown, since a secret is received here", err)
	default:
		return fmt.Errorf("%w: %s", err, x.unsaid(t.String()))
	}
}

// unsaid returns the output of a command without its input: the values of variables
// but PATH, and the text that it read. Values shorter than MinHidden would hit many
// words by chance, and are not looked for.
func (x *Res) unsaid(text string) string {
	hidden := secrets.Texts{Least: command.MinHidden}
	for name, value := range x.Env {
		if name != "PATH" {
			hidden.Add(value)
		}
	}
	hidden.Add(x.Stdin)
	return hidden.Clean(text)
}
