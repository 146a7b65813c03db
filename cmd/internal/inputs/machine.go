package inputs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// MachineFlags adds the flags for facts that the program does not know by itself: the purpose and the name
// of the machine, and the backends that are programs. They count before the verb runs, and
// before its arguments are completed.
func MachineFlags(a *cli.App, cmd *cobra.Command) {
	FactFlags(cmd, &a.Folders.Roles, &a.Folders.Hostname)
	cli.Bind(cmd, "backends", (*cli.Place)(&a.Folders.Backends))
	_ = cmd.MarkFlagDirname("backends")
	a.NeedKinds(cmd)
}

// Modules returns the virtual modules and their backends.
func Modules(a *cli.App) *virtual.Catalog { return cmp.Or(a.Set.Catalog(), virtual.DefaultCatalog()) }

// System returns the facts of this machine, or of the machine in --facts.
func System(a *cli.App) virtual.SystemFunc { return a.Folders.System() }

// Build builds a declared graph and checks it against the facts of the machine. It does no I/O.
// If the findings contain an error, the graph is nil.
func Build(a *cli.App, d *gapi.Declared) (*resgraph.Graph, schema.Diagnostics) {
	g, ds := gapi.Build(a.Kinds(), d)
	return gapi.CheckMachine(g, ds, func() engine.Machine { return System(a)(nil) }, nil)
}

// Transform makes the graph that would run. This machine is asked what resources are beyond their
// parameters, unless the graph is for another one. The host is closed before it returns. The notes
// get the reasons of edges and groups.
func Transform(ctx context.Context, a *cli.App, g *resgraph.Graph, o transform.Options, n *transform.Notes) (_ *resgraph.Graph, err error) {
	// A graph for another machine must not ask this one. A program for another system than Linux
	// has no host to ask.
	if a.Folders.Machine == nil && !unix.Portable {
		h, err := host.New(ctx, host.Options{Roles: a.Folders.Roles, Hostname: a.Folders.Hostname})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		o.Host = h
	}
	return transform.Run(ctx, g, transform.Steps(o), n)
}

// Options are what every verb tells the engine: the kinds, the facts of the machine, and
// the place of messages.
// Each verb adds the rest, such as the state folder. Without more, the engine keeps its state in
// a temporary folder and shares a store in memory with itself.
func Options(a *cli.App, log *slog.Logger) mgmt.Options {
	return mgmt.Options{
		Registry: a.Kinds(), Roles: a.Folders.Roles, Hostname: a.Folders.Hostname, Backends: a.Set.Catalog(), Program: "mgmt", Version: cli.Version(), Logger: log, Stdin: a.In,
		World: mgmt.Share(nil),
	}
}
