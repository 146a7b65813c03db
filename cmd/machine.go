package cmd

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// machineFlags adds the flags for facts that the program does not know by itself: the purpose and the name
// of the machine, and the backends that are programs. They count before the verb runs, and
// before its arguments are completed.
func (a *app) machineFlags(cmd *cobra.Command) {
	factFlags(cmd, &a.folders.Roles, &a.folders.Hostname)
	bind(cmd, "backends", (*place)(&a.folders.Backends))
	_ = cmd.MarkFlagDirname("backends")
	a.needKinds(cmd)
}

// before has load called before a verb runs, which does not if that finds an error, and
// before its arguments are completed, where errors would disturb.
// The function that is added last runs first, since each one wraps those before it. Warnings are
// printed and stop nothing. An error ends the verb with code 1, after its lines are printed.
func (a *app) before(cmd *cobra.Command, load func() schema.Diagnostics) {
	next := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		ds := load()
		printDiagnostics(a.err, a.program(), ds)
		switch {
		case ds.Err() != nil:
			return withCode(exitUsage, nil)
		case next != nil:
			return next(cmd, args)
		}
		return nil
	}
	if complete := cmd.ValidArgsFunction; complete != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			load()
			return complete(cmd, args, word)
		}
	}
}

// modules returns the virtual modules and their backends.
func (a *app) modules() *virtual.Catalog { return cmp.Or(a.set.Catalog(), virtual.DefaultCatalog()) }

// system has the facts of this machine, or of the machine for which a verb checks.
func (a *app) system() virtual.SystemFunc { return a.folders.System() }

// build makes a declared graph, and judges it for the machine.
// Build does no I/O. The facts of the machine come in only for the judgement.
// The graph is nil where there is an error among the findings. They then are the whole answer.
func (a *app) build(d *gapi.Declared) (*engine.Graph, schema.Diagnostics) {
	g, ds := gapi.Build(a.kinds(), d)
	return gapi.CheckMachine(g, ds, func() engine.Machine { return a.system()(nil) }, nil)
}

// transform makes the graph that would run. This machine is asked what resources are beyond their
// parameters, unless the graph is for another one. The host is closed before it returns. The notes
// get the reasons of edges and groups.
func (a *app) transform(ctx context.Context, g *engine.Graph, o transform.Options, n *transform.Notes) (_ *engine.Graph, err error) {
	// A graph for another machine must not ask this one. A program for another system than Linux
	// has no host to ask.
	if a.folders.Machine == nil && !unix.Portable {
		h, err := host.New(ctx, host.Options{Roles: a.folders.Roles, Hostname: a.folders.Hostname})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		o.Host = h
	}
	return transform.Run(ctx, g, transform.Steps(o), n)
}

// options are what every verb tells the engine: the kinds, the facts of the machine, and
// the place of messages.
// Each verb adds the rest, such as the state folder. Without more, the engine keeps its state in
// a temporary folder and shares a store in memory with itself.
func (a *app) options(log *slog.Logger) mgmt.Options {
	return mgmt.Options{
		Registry: a.kinds(), Roles: a.folders.Roles, Hostname: a.folders.Hostname, Backends: a.set.Catalog(), Program: "mgmt", Version: version(), Logger: log, Stdin: a.in,
		World: mgmt.Share(nil),
	}
}
