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
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

// app is one invocation of the program.
type app struct {
	name     string // as the program was started; mgmt when empty
	in       io.Reader
	out, err io.Writer
	exit     func(int) // ends the process at once
	journal  string    // the socket of systemd's journal, when not where it always is

	early <-chan os.Signal // a SIGHUP that came before the daemon listened; nil for none

	config  string          // the configuration file, where the flag names one
	flags   config.Resolved // the settings that the flags of the verb give
	settled config.Resolved // those that any source gives

	types       string // a folder of types that are written as data
	guarded     bool   // the verb acts: what others can write is refused, see guardFlag
	trustOthers bool   // but not so

	transports    *provider.Transports // provider.DefaultTransports when nil
	targets       *provider.Targets    // of the folder; nil for none
	targetsFolder string
	pluginsFolder string
	plugins       *plugin.Set // of pluginsFolder; nil without one
	modelsFolder  string
	models        *model.Registry    // of the stored objects; nil before its first use, see tables
	modelNodes    []*schema.Node     // the files of modelsFolder that models was made of
	list          []*provider.Target // that were read last, of with

	registry  *engine.Registry // the kinds; engine.DefaultRegistry when nil
	sets      kindset          // how they were made
	roles     []string         // the purposes of the machine
	machine   *virtual.System  // another machine to check for; nil for this one
	factsFile string           // where its facts are

	backends string           // a folder of descriptions of backends that are programs
	catalog  *virtual.Catalog // the virtual modules; virtual.DefaultCatalog when nil
}

// kinds returns the kinds that there are.
func (a *app) kinds() *engine.Registry {
	if a.registry != nil {
		return a.registry
	}
	return engine.DefaultRegistry()
}

// The exit codes; see docs/reference/cli.md.
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
func withCode(code int, err error) error {
	if code == exitOK && err == nil {
		return nil
	}
	return &codeError{code, err}
}

// main runs the program and returns its exit code.
func (a *app) main(ctx context.Context, args []string) int {
	root := newRoot(a)
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
		fmt.Fprintln(a.err, a.program()+": "+msg+a.moduleHint(err))
	}
	if e, ok := errors.AsType[*codeError](err); ok {
		return e.code
	}
	return exitUsage
}

// newRoot makes the program with all its verbs. Help lists them by their use and not by
// the alphabet.
func newRoot(a *app) *cobra.Command {
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
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newRun(a), newValidate(a), newPlan(a), newTest(a), newGraph(a), newDoc(a), newSchema(a), newIDL(a), newTS(a),
		newResource(a), newImport(a), newInterface(a), newCall(a), newFacts(a), newEval(a), newPlugin(a),
		newStatus(a), newWhy(a), newEvents(a), newLog(a), newPause(a), newResume(a), newRetry(a), newApply(a), newReload(a),
		newAPI(a), newHosts(a), newDeploy(a), newDeploys(a),
		newInit(a), newFmt(a), newConfig(a), newCompletion(a), newVersion(a), newReference(a), newManpage(a), newExitCodes(),
	)
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
