package exec

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("exec", func() engine.Res { return &Res{} })
}

var (
	_ engine.Res            = (*Res)(nil)
	_ engine.EdgeableRes    = (*Res)(nil)
	_ engine.RefreshableRes = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.SendableRes    = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
	_ declaration.Linted    = (*Res)(nil)
)

// defaultGrace is how long a command has between SIGTERM and SIGKILL when it has
// to end: short, so that the program ends within a second.
const defaultGrace = 500 * time.Millisecond

// Whether a run is a change.
const (
	always = "always"
	never  = "never"
)

// Res runs a command when its conditions say so. The reactor owns an instance, and
// calls Watch and CheckApply at the same time. They share run alone. A new value
// that is received for a parameter with nowatch restarts no watch.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Recvable
	traits.Refreshable
	traits.Sendable
	traits.Overlapping

	init *engine.Init
	run  *running

	// The command line. Everything in it can be read by each user of the machine.
	Cmd   string   `yaml:"cmd" lang:"cmd" doc:"The command; the name when absent. Without shell and args it is split into words, with quotes and backslashes as in a shell, and nothing else is expanded." mgmt:"identity,nowatch,nosecret=env|stdin"`
	Args  []string `yaml:"args" lang:"args" doc:"Arguments, each passed as it is. With them cmd is the program alone, spaces and all; with shell they are $1, $2 and so on." mgmt:"param,nowatch,nosecret=env|stdin"`
	Shell string   `yaml:"shell" lang:"shell" doc:"A shell that runs cmd, with -c." mgmt:"param,nowatch,nosecret=env|stdin"`

	// The surroundings of all commands of the resource.
	Cwd     string            `yaml:"cwd" lang:"cwd" doc:"The folder to run in, / when absent." mgmt:"param,nowatch"`
	Env     map[string]string `yaml:"env" lang:"env" doc:"The environment of all commands of this resource. Besides it there is only PATH. It is a place for secrets: unlike arguments, others can't see it." mgmt:"param"`
	Stdin   string            `yaml:"stdin" lang:"stdin" doc:"What cmd reads from its standard input; nothing when absent. It is a place for secrets, too." mgmt:"param,nowatch"`
	User    string            `yaml:"user" lang:"user" doc:"The user, by name or number, to run all commands as." mgmt:"param"`
	Group   string            `yaml:"group" lang:"group" doc:"The group, by name or number, to run all commands as." mgmt:"param"`
	Timeout time.Duration     `yaml:"timeout" lang:"timeout" doc:"How long a command (except watchcmd) may take before it is killed and has failed; 0 for no limit, a bare integer is seconds." mgmt:"param,unit=s,nowatch"`
	Sig     string            `yaml:"sig" lang:"sig" doc:"The signal that asks a command to end; SIGTERM when absent." mgmt:"param,enum=SIGTERM|SIGINT|SIGHUP|SIGQUIT|SIGUSR1|SIGUSR2|SIGKILL"`
	Grace   time.Duration     `yaml:"grace" lang:"grace" doc:"How long a command that has to end may go on after that signal before it and all its descendants are killed." mgmt:"param,unit=s"`

	Changes     string `yaml:"changes" lang:"changes" doc:"Whether a run is a change; never for a command that only reads. It is run to look then, also under noop and in a plan, and a run is not told." mgmt:"param,enum=always|never,nowatch"`
	RefreshOnly bool   `yaml:"refreshonly" lang:"refreshonly" doc:"Run only when notified." mgmt:"param,nowatch"`

	// The conditions, and the commands that ask them. Only these are run under noop.
	Creates        string   `yaml:"creates" lang:"creates" doc:"Do not run if this path exists. It is watched, and must exist after a run." mgmt:"param"`
	IfCmd          string   `yaml:"ifcmd" lang:"ifcmd" doc:"Run only if this command ends with exit status 0. It is run to look, also under noop." mgmt:"param,nowatch,nosecret=env"`
	IfCwd          string   `yaml:"ifcwd" lang:"ifcwd" doc:"The folder to run ifcmd in." mgmt:"param,nowatch"`
	IfShell        string   `yaml:"ifshell" lang:"ifshell" doc:"A shell that runs ifcmd." mgmt:"param,nowatch,nosecret=env"`
	IfEquals       *string  `yaml:"ifequals" lang:"ifequals" doc:"Do not run if ifcmd ends with exit status 0 and prints exactly this, to both its outputs together or to the standard one; one final newline does not count." mgmt:"param,nowatch"`
	IfEqualsStdout *string  `yaml:"ifequals_stdout" lang:"ifequals_stdout" doc:"As ifequals, but what ifcmd prints to its standard error does not count." mgmt:"param,nowatch"`
	NIfCmd         string   `yaml:"nifcmd" lang:"nifcmd" doc:"Do not run if this command ends with exit status 0. It is run to look, also under noop." mgmt:"param,nowatch,nosecret=env"`
	NIfCwd         string   `yaml:"nifcwd" lang:"nifcwd" doc:"The folder to run nifcmd in." mgmt:"param,nowatch"`
	NIfShell       string   `yaml:"nifshell" lang:"nifshell" doc:"A shell that runs nifcmd." mgmt:"param,nowatch,nosecret=env"`
	Mtimes         []string `yaml:"mtimes" lang:"mtimes" doc:"Files that must exist. They are watched. When the modification time of one differs from the last successful run, the command runs whatever the other conditions say." mgmt:"param"`

	DoneCmd   string `yaml:"donecmd" lang:"donecmd" doc:"A command to run after a successful run; if it fails, the run has failed." mgmt:"param,nowatch,nosecret=env"`
	DoneCwd   string `yaml:"donecwd" lang:"donecwd" doc:"The folder to run donecmd in." mgmt:"param,nowatch"`
	DoneShell string `yaml:"doneshell" lang:"doneshell" doc:"A shell that runs donecmd." mgmt:"param,nowatch,nosecret=env"`

	// The sources of events. Each event asks for a run.
	WatchCmd   string   `yaml:"watchcmd" lang:"watchcmd" doc:"A command that runs all the time; each line that it prints is an event. Its end is a failure of the watch." mgmt:"param,nosecret=env"`
	WatchCwd   string   `yaml:"watchcwd" lang:"watchcwd" doc:"The folder to run watchcmd in." mgmt:"param"`
	WatchShell string   `yaml:"watchshell" lang:"watchshell" doc:"A shell that runs watchcmd." mgmt:"param,nosecret=env"`
	WatchFiles []string `yaml:"watchfiles" lang:"watchfiles" doc:"Paths to watch; each change is an event. Of a folder, its direct content is watched too, but nothing further below." mgmt:"param"`

	// The form of the values that are sent, and the values for the time before the
	// first run.
	Trim       bool    `yaml:"trim" lang:"trim" doc:"Send the output without blanks and newlines at its ends, as a receiver of a name or a number wants it." mgmt:"param,nowatch"`
	SendOutput *string `yaml:"send_output" lang:"send_output" doc:"The output that is sent as long as there was no run from which to send." mgmt:"param,nowatch"`
	SendStdout *string `yaml:"send_stdout" lang:"send_stdout" doc:"As send_output, for stdout." mgmt:"param,nowatch"`
	SendStderr *string `yaml:"send_stderr" lang:"send_stderr" doc:"As send_output, for stderr." mgmt:"param,nowatch"`
}

// Sends has the values that an exec sends: the output of its last successful run.
type Sends struct {
	Output string `yaml:"output" lang:"output" doc:"Everything that was printed, as it came."`
	Stdout string `yaml:"stdout" lang:"stdout" doc:"The standard output of the command."`
	Stderr string `yaml:"stderr" lang:"stderr" doc:"The standard error of the command."`
}

// running is what one instance knows of its own runs. It begins anew with each
// instance, so a changed exec without conditions runs once. events and armed belong
// to Watch, all else to CheckApply; events is read by both.
type running struct {
	events atomic.Uint64 // counted by Watch
	taken  uint64        // the events that a successful run has answered
	stamp  string        // of watchfiles, before the last successful run
	done   bool          // there was a successful run
	unkept *lastRun      // of the last successful run, as long as it can't be written down
	armed  bool          // Watch has been armed before; of Watch alone
}

// Default returns a resource with the default grace.
func (x *Res) Default() engine.Res { return &Res{Grace: defaultGrace} }

// Validate returns all faults at once. It looks at no file, so a command that does
// not exist fails only when it is run.
func (x *Res) Validate() error {
	var errs []error
	for _, c := range x.commands() {
		if c.line == "" && c.what != "cmd" {
			continue
		}
		if _, err := c.argv(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.what, err))
		}
		if c.cwd != "" && !filepath.IsAbs(c.cwd) {
			errs = append(errs, fmt.Errorf("the folder %q of %s is not an absolute path", c.cwd, c.what))
		}
	}
	errs = append(errs, x.validatePaths()...)
	errs = append(errs, x.validateRest()...)
	return errors.Join(errs...)
}

// Lint warns of each command that needs a shell and has none: its program would get the signs of a shell as
// arguments. Arguments of their own are meant as they are. Only the first word is
// told, since the others have the same remedy. A received command has no text here, and so no warning.
func (x *Res) Lint() (found schema.Diagnostics) {
	for _, c := range x.commands() {
		if c.shell != "" || len(c.args) > 0 {
			continue
		}
		if word := command.Operator(c.line); word != "" {
			found = append(found, schema.Diagnostic{Path: c.what, Message: fmt.Sprintf(
				"%s: without a shell, %q is an argument of the program; write %sshell: /bin/sh, or the word in quotes", c.what, word, strings.TrimSuffix(c.what, "cmd"))})
		}
	}
	return found
}

// Relative paths are refused, for there is no folder that they could be relative to.
func (x *Res) validatePaths() []error {
	var errs []error
	check := func(key string, paths ...string) {
		for _, p := range paths {
			if !filepath.IsAbs(p) {
				errs = append(errs, fmt.Errorf("%s: %q is not an absolute path", key, p))
			}
		}
	}
	if x.Creates != "" {
		check("creates", x.Creates)
	}
	check("mtimes", x.Mtimes...)
	check("watchfiles", x.WatchFiles...)
	return errs
}

// The values of variables may be secrets, so an error names the key alone.
func (x *Res) validateRest() []error {
	var errs []error
	for k, v := range x.Env {
		switch {
		case k == "" || strings.ContainsAny(k, "=\x00"):
			errs = append(errs, fmt.Errorf("env: %q is no name of a variable", k))
		case strings.Contains(v, "\x00"):
			errs = append(errs, fmt.Errorf("env.%s holds a zero byte", k))
		}
	}
	if !slices.Contains([]string{"", always, never}, x.Changes) {
		errs = append(errs, fmt.Errorf("changes is %q, it must be always or never", x.Changes))
	}
	if x.Changes == never && x.Creates != "" {
		errs = append(errs, errors.New("changes is never, and creates says what a run makes"))
	}
	if x.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout is %s, it must not be negative", x.Timeout))
	}
	if x.Grace < 0 {
		errs = append(errs, fmt.Errorf("grace is %s, it must not be negative", x.Grace))
	}
	if x.IfEquals != nil && x.IfCmd == "" {
		errs = append(errs, errors.New("ifequals needs an ifcmd"))
	}
	if x.IfEqualsStdout != nil && x.IfCmd == "" {
		errs = append(errs, errors.New("ifequals_stdout needs an ifcmd"))
	}
	return errs
}

// Init keeps the handle. A new instance has not run. It starts nothing, and reads
// nothing: the record of the last run is read by the first look.
func (x *Res) Init(init *engine.Init) error {
	x.init, x.run = init, &running{}
	return nil
}

// Cleanup has nothing to release: commands end with the method that ran them. The
// record of the last run stays in VarDir for the next instance.
func (x *Res) Cleanup() error { return nil }

// Cmp compares the parameters. A difference makes a new instance, which counts as
// never run, while last.json is still there for its output.
func (x *Res) Cmp(r engine.Res) error { return engine.CmpFields(x, r) }

// Sends returns an empty value of the type that is sent. The engine reads its fields
// to check the graph's edges.
func (x *Res) Sends() any { return &Sends{} }
