package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/api"
	"github.com/reactivegraph/mgmt/cmd/ask"
	"github.com/reactivegraph/mgmt/cmd/author"
	"github.com/reactivegraph/mgmt/cmd/fleet"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/machine"
	"github.com/reactivegraph/mgmt/cmd/mcp"
	"github.com/reactivegraph/mgmt/cmd/plan"
	"github.com/reactivegraph/mgmt/cmd/run"
	"github.com/reactivegraph/mgmt/cmd/secret"
	"github.com/reactivegraph/mgmt/cmd/top"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

// execute runs the program and returns its exit code.
// An error is printed once, here, with the name of the program before it. Errors without a code
// are usage errors. An error may have the words of a file or of a daemon, so they are made visible.
// It does not end the process, so that a test may call it. The order of the cases matters: an
// error of the output counts as one only where a reader is still there.
func execute(ctx context.Context, a *cli.App, args []string) int {
	root := newRoot(a, args)
	root.SetArgs(args)
	err := cli.UnknownVerb(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	switch {
	case err == nil:
		return cli.ExitOK
	case cli.LeftAlone(a, err):
		return cli.ExitPipe
	}
	if msg := cli.ErrorText(err); msg != "" {
		fmt.Fprintln(a.Err, render.VisibleLines(a.Program()+": "+render.Called(a.Program(), msg)+cli.ModuleHint(a, err)))
	}
	if e, ok := errors.AsType[*cli.CodeError](err); ok {
		return e.Code
	}
	return cli.ExitUsage
}

// verbEntry makes one command of the program.
type verbEntry struct {
	name string // as the command's Use begins; a test compares them
	// make declares the verb and its flags. All work is in the function that runs it.
	make    func(*cli.App) *cobra.Command
	machine bool // it works on a machine, or asks the daemon on one: it needs Linux
	whole   bool // the command reads the other ones
}

// verbs are the commands, in the order in which help lists them: by their use, and not by the alphabet.
// It is not altered at run time.
var verbs = []verbEntry{
	{name: "run", make: run.New, machine: true},
	{name: "validate", make: plan.NewValidate},
	{name: "plan", make: plan.NewPlan, machine: true},
	{name: "test", make: plan.NewTest},
	{name: "graph", make: plan.NewGraph},
	{name: "doc", make: author.NewDoc},
	{name: "schema", make: author.NewSchema},
	{name: "idl", make: author.NewIDL},
	{name: "ts", make: author.NewTS},
	{name: "resource", make: machine.NewResource, machine: true},
	{name: "import", make: machine.NewImport, machine: true},
	{name: "interface", make: machine.NewInterface},
	{name: "call", make: machine.NewCall, machine: true},
	{name: "facts", make: machine.NewFacts, machine: true},
	{name: "eval", make: plan.NewEval},
	{name: "render", make: plan.NewRender},
	{name: "data", make: plan.NewData},
	{name: "module", make: author.NewModule},
	{name: "secret", make: secret.New},
	{name: "plugin", make: newPlugin, machine: true},
	{name: "status", make: ask.NewStatus, machine: true},
	{name: "top", make: top.New, machine: true},
	{name: "why", make: ask.NewWhy, machine: true},
	{name: "events", make: ask.NewEvents, machine: true},
	{name: "log", make: ask.NewLog, machine: true},
	{name: "pause", make: ask.NewPause, machine: true},
	{name: "resume", make: ask.NewResume, machine: true},
	{name: "retry", make: ask.NewRetry, machine: true},
	{name: "notify", make: ask.NewNotify, machine: true},
	{name: "history", make: ask.NewHistory, machine: true},
	{name: "diff", make: ask.NewDiff, machine: true},
	{name: "rollback", make: ask.NewRollback, machine: true},
	{name: "web", make: ask.NewWeb, machine: true},
	{name: "undo", make: ask.NewUndo, machine: true},
	{name: "apply", make: ask.NewApply, machine: true},
	{name: "reload", make: ask.NewReload, machine: true},
	{name: "api", make: api.New, machine: true},
	{name: "proposals", make: ask.NewProposals, machine: true},
	{name: "approve", make: ask.NewApprove, machine: true},
	{name: "reject", make: ask.NewReject, machine: true},
	{name: "mcp", make: mcp.New, machine: true},
	{name: "hosts", make: fleet.NewHosts, machine: true},
	{name: "deploy", make: fleet.NewDeploy, machine: true},
	{name: "deploys", make: fleet.NewDeploys, machine: true},
	{name: "init", make: author.NewInit},
	{name: "fmt", make: author.NewFmt},
	{name: "lsp", make: author.NewLSP},
	{name: "config", make: newConfig},
	{name: "completion", make: newCompletion, whole: true},
	{name: "version", make: newVersion},
	{name: "reference", make: newReference, whole: true},
	{name: "manpage", make: newManpage, whole: true},
	{name: "exit-codes", make: func(*cli.App) *cobra.Command { return newExitCodes() }},
}

// newPlugin makes the verb plugin, some of whose verbs ask a daemon.
func newPlugin(a *cli.App) *cobra.Command {
	cmd := author.NewPlugin(a)
	cmd.AddCommand(ask.NewPluginStatus(a), ask.NewPluginRestart(a))
	return cmd
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
func newRoot(a *cli.App, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   a.Program(),
		Short: "Keep a machine in the state that a graph of resources describes",
		Long: `mgmt keeps a machine in the state that a graph of resources describes, and
repairs it the moment it drifts.`,
		Example: `  mgmt init                       # write a first graph
  mgmt plan graph.yaml            # what would change?
  mgmt run graph.yaml             # make it so, and keep it so
  mgmt status                     # what is its status?`,
		Version:           cli.CurrentVersion().String(), // the flag --version, as many expect it
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	// The streams are those of the app, so that a test gets all output.
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(cli.FlagError)
	for _, v := range verbsFor(args) {
		cmd := v.make(a)
		if v.machine {
			cli.NeedsLinux(cmd)
		}
		root.AddCommand(cmd)
	}
	// The order matters: a later step wraps the functions of the steps before it. So the
	// configuration is read before all else of a verb.
	a.ConfigFlag(root)
	a.ConfigureAll(root)
	cli.SayArgs(root)
	cli.HelpArgs(root)
	if a.Program() != render.Product {
		cli.Rename(root, a.Program())
	}
	return root
}
