package cmd

import (
	"cmp"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// machineFlags adds the flags for facts that the program does not know by itself: the purpose
// of the machine, and the backends that are programs. They count before the verb runs, and
// before its arguments are completed.
func (a *app) machineFlags(cmd *cobra.Command) {
	roleFlag(cmd, &a.roles)
	bind(cmd, "backends", place{&a.backends})
	_ = cmd.MarkFlagDirname("backends")
	a.before(cmd, a.bindMachine)
}

// before has load called before a verb runs, which does not if that finds an error, and
// before its arguments are completed, where errors would disturb.
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
func (a *app) modules() *virtual.Catalog { return cmp.Or(a.catalog, virtual.DefaultCatalog()) }

// system is what this machine is, or the one that a verb checks for.
func (a *app) system() func() virtual.System {
	if a.machine != nil {
		return func() virtual.System { return *a.machine }
	}
	return virtual.LocalSystem((&host.FactReader{Roles: a.roles}).Facts)
}

// options are what every verb tells the engine: the kinds, the facts of the machine, and
// the place of messages.
func (a *app) options(log *slog.Logger) mgmt.Options {
	return mgmt.Options{
		Registry: a.kinds(), Roles: a.roles, Backends: a.catalog, Program: "mgmt", Version: version(), Logger: log, Stdin: a.in,
	}
}

// bindMachine has the kinds choose among all backends, and by the roles.
func (a *app) bindMachine() schema.Diagnostics {
	if a.backends == "" && len(a.roles) == 0 && a.machine == nil {
		return nil
	}
	c, ds := a.allBackends()
	if ds.Err() != nil {
		return ds
	}
	kinds, err := virtual.Rebind(a.kinds(), c, a.system())
	if err != nil {
		ds.Errorf(schema.Pos{}, "%v", err)
		return ds
	}
	a.catalog, a.registry = c, kinds
	return ds
}

// allBackends returns a catalog of its own, with the backends of the folder too.
func (a *app) allBackends() (*virtual.Catalog, schema.Diagnostics) {
	c := a.modules().Clone()
	if a.backends == "" {
		return c, nil
	}
	nodes, ds := yaml.Documents(a.backends, yaml.Options{Source: a.source()})
	for _, n := range nodes {
		if virtual.IsDeclaration(n) {
			ds = append(ds, declare(c, n)...)
		}
	}
	facts := a.system()().Facts
	for _, n := range nodes {
		if !virtual.IsDeclaration(n) {
			ds = append(ds, addBackend(c, n, facts)...)
		}
	}
	return c, ds
}

// declare adds an interface that a file declares.
func declare(c *virtual.Catalog, n *schema.Node) schema.Diagnostics {
	i, ds := virtual.Declared(n)
	if ds.Err() == nil {
		if err := c.Declare(i); err != nil {
			ds.Errorf(n.At("interface").Pos, "%v", err)
		}
	}
	return ds
}

// addBackend adds a backend that a file describes. Each error has its place in the file.
func addBackend(c *virtual.Catalog, n *schema.Node, facts virtual.Facts) schema.Diagnostics {
	b, ds := virtual.External(n)
	if ds.Err() != nil {
		return ds
	}
	if _, err := c.Interface(b.Module); err != nil {
		ds.Errorf(n.At("module").Pos, "backend %s: %v", b.Name, err)
	} else if err := c.Add(b); err != nil {
		ds.Errorf(n.At("name").Pos, "backend %s: %v", b.Name, err)
	}
	for _, f := range b.Lint(facts) {
		ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Pos: n.At(f.Key).Pos, Message: f.String()})
	}
	return ds
}
