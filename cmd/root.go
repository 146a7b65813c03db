package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/gapi"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

// app is one invocation of the program.
//
// It is made by the program or a test, and no second one shares its fields: there is no global
// state. One goroutine uses it, apart from the readers of signals.
type app struct {
	name     string // as the program was started; mgmt when empty
	in       io.Reader
	out, err io.Writer
	// exit is os.Exit in the program. A test gives a function that remembers the code.
	exit    func(int) // ends the process at once
	journal string    // the socket of systemd's journal, when not where it always is

	asker *gapi.Asker // see asking

	early <-chan os.Signal // a SIGHUP that came before the daemon listened; nil for none

	config string // the configuration file, where the flag names one
	// flags and settled are set by configure, before the verb runs. A reload reads all sources
	// again, and takes the flags from here.
	flags   config.Resolved // the settings that the flags of the verb give
	settled config.Resolved // those that any source gives

	guarded     bool // the verb acts: what others can write is refused, see guardFlag
	trustOthers bool // but not so

	folders   kinds.Options // what the kinds are made of, by the flags
	set       *kinds.Set    // the kinds, as loadKinds has made them; nil before
	factsFile string        // with the facts of another machine to check for; empty for this one
}

// The exit codes; see docs/reference/cli/README.md.
// A caller may test single bits: 2 says that something changed, and 4 that something failed.
// The codes 128 and more are those of a shell for a signal: the third signal ends the program
// with one.
const (
	exitOK     = 0
	exitUsage  = 1
	exitChange = 2
	exitFailed = 4
	exitTime   = 5
	exitPipe   = 128 + int(syscall.SIGPIPE) // as the shell reports a process that was ended by that
)

// codeError is an error with an exit code of its own. An empty message is not
// printed.
type codeError struct {
	code int
	err  error
}

// Error is empty for a code without an error: then nothing is printed.
func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the error behind the code.
func (e *codeError) Unwrap() error { return e.err }

// withCode returns an error that ends the program with a code, nil for exitOK.
// An error that has a code already keeps it inside; main takes the outer one.
func withCode(code int, err error) error {
	if code == exitOK && err == nil {
		return nil
	}
	return &codeError{code, err}
}

// main runs the program and returns its exit code.
// An error is printed once, here, with the name of the program before it. Errors without a code
// are usage errors. An error may have the words of a file or of a daemon, so they are made visible.
// It does not end the process, so that a test may call it. The order of the cases matters: an
// error of the output counts as one only where a reader is still there.
func (a *app) main(ctx context.Context, args []string) int {
	root := newRoot(a, args)
	root.SetArgs(args)
	err := unknownVerb(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	switch {
	case err == nil:
		return exitOK
	case a.leftAlone(err):
		return exitPipe
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintln(a.err, visibleLines(a.program()+": "+called(a.program(), msg)+a.moduleHint(err)))
	}
	if e, ok := errors.AsType[*codeError](err); ok {
		return e.code
	}
	return exitUsage
}

// verbEntry makes one command of the program.
type verbEntry struct {
	name string // as the command's Use begins; a test compares them
	// make declares the verb and its flags. All work is in the function that runs it.
	make  func(*app) *cobra.Command
	whole bool // the command reads the other ones
}

// verbs are the commands, in the order in which help lists them: by their use, and not by the alphabet.
// It is not altered at run time.
var verbs = []verbEntry{
	{name: "run", make: newRun},
	{name: "validate", make: newValidate},
	{name: "plan", make: newPlan},
	{name: "test", make: newTest},
	{name: "graph", make: newGraph},
	{name: "doc", make: newDoc},
	{name: "schema", make: newSchema},
	{name: "idl", make: newIDL},
	{name: "ts", make: newTS},
	{name: "resource", make: newResource},
	{name: "import", make: newImport},
	{name: "interface", make: newInterface},
	{name: "call", make: newCall},
	{name: "facts", make: newFacts},
	{name: "eval", make: newEval},
	{name: "render", make: newRender},
	{name: "data", make: newData},
	{name: "module", make: newModule},
	{name: "secret", make: newSecret},
	{name: "plugin", make: newPlugin},
	{name: "status", make: newStatus},
	{name: "why", make: newWhy},
	{name: "events", make: newEvents},
	{name: "log", make: newLog},
	{name: "pause", make: newPause},
	{name: "resume", make: newResume},
	{name: "retry", make: newRetry},
	{name: "apply", make: newApply},
	{name: "reload", make: newReload},
	{name: "api", make: newAPI},
	{name: "hosts", make: newHosts},
	{name: "deploy", make: newDeploy},
	{name: "deploys", make: newDeploys},
	{name: "init", make: newInit},
	{name: "fmt", make: newFmt},
	{name: "lsp", make: newLSP},
	{name: "config", make: newConfig},
	{name: "completion", make: newCompletion, whole: true},
	{name: "version", make: newVersion},
	{name: "reference", make: newReference, whole: true},
	{name: "manpage", make: newManpage, whole: true},
	{name: "exit-codes", make: func(*app) *cobra.Command { return newExitCodes() }},
}

// verbsFor returns the verbs that a call needs: one, where the first argument names it. The flags of all verbs cost a
// millisecond of each start. Help, completion and the hint for a wrong word need them all.
func verbsFor(args []string) []verbEntry {
	if len(args) > 0 {
		for i, v := range verbs {
			if v.name == args[0] && !v.whole {
				return verbs[i : i+1]
			}
		}
	}
	return verbs
}

// newRoot makes the program with the verbs that a call with these arguments needs; see verbsFor.
// cobra prints neither usage nor errors by itself, since main does. The verb help is the one of
// cobra.
func newRoot(a *app, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   a.program(),
		Short: "Keep a machine in the state that a graph of resources describes",
		Long: `mgmt keeps a machine in the state that a graph of resources describes, and
repairs it the moment it drifts.`,
		Example: `  mgmt init                       # write a first graph
  mgmt plan graph.yaml            # what would change?
  mgmt run graph.yaml             # make it so, and keep it so
  mgmt status                     # how does it stand?`,
		Version:           currentVersion().String(), // the flag --version, as many expect it
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	// The streams are those of the app, so that a test gets all output.
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	for _, v := range verbsFor(args) {
		root.AddCommand(v.make(a))
	}
	// The order matters: a later step wraps the functions of the steps before it. So the
	// configuration is read before all else of a verb.
	needsLinux(root)
	a.configFlag(root)
	a.configureAll(root)
	sayArgs(root)
	helpArgs(root)
	if a.program() != product {
		rename(root, a.program())
	}
	return root
}
