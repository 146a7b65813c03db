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
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// machineFlags adds the flags for facts that the program does not know by itself: the purpose and the name
// of the machine, and the backends that are programs. They count before the verb runs, and
// before its arguments are completed.
func (a *app) machineFlags(cmd *cobra.Command) {
	factFlags(cmd, &a.roles, &a.hostname)
	bind(cmd, "backends", place{&a.backends})
	_ = cmd.MarkFlagDirname("backends")
	a.before(cmd, a.bindMachine)
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
// The default has the backends that are compiled in.
// bindMachine sets the field where a folder has more of them, and a test may set its own.
func (a *app) modules() *virtual.Catalog { return cmp.Or(a.catalog, virtual.DefaultCatalog()) }

// system has the facts of this machine, or of the machine for which a verb checks.
// The facts are read when the function is called, and not before.
func (a *app) system() virtual.SystemFunc {
	if a.machine != nil {
		return func(virtual.Facts) virtual.System { return *a.machine }
	}
	return virtual.LocalSystem((&host.FactReader{Roles: a.roles, Hostname: a.hostname}).Facts)
}

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
	if a.machine == nil && !unix.Portable {
		h, err := host.New(ctx, host.Options{Roles: a.roles, Hostname: a.hostname})
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
		Registry: a.kinds(), Roles: a.roles, Hostname: a.hostname, Backends: a.catalog, Program: "mgmt", Version: version(), Logger: log, Stdin: a.in,
		World: mgmt.Share(nil),
	}
}

// bindMachine has the kinds choose among all backends, and by the roles and the name of the machine. It is the first step of the kinds.
func (a *app) bindMachine() schema.Diagnostics {
	// A reload comes here again, so the steps of the reading before are taken back first.
	a.begin()
	if a.backends == "" && a.hostname == "" && len(a.roles) == 0 && a.machine == nil {
		return nil
	}
	nodes, ds := a.backendFiles()
	if ds.Err() != nil {
		return ds
	}
	s := &a.sets.backed
	// The step is made anew where its files or the kinds below it are others. A machine of
	// --facts is always judged anew, since madeOf does not compare facts.
	if from := a.kinds(); a.machine != nil || !s.madeOf(from, nodes) {
		c, found := a.withBackends(nodes)
		if ds = append(ds, found...); ds.Err() != nil {
			return ds
		}
		kinds, err := virtual.Rebind(from, c, a.system())
		if err != nil {
			ds.Errorf(schema.Pos{}, "%v", err)
			return ds
		}
		*s = step{from: from, nodes: nodes, kinds: kinds, catalog: c}
	}
	a.catalog, a.registry = s.catalog, s.kinds
	return ds
}

// backendFiles reads the descriptions of the folder. Without a folder there are none.
func (a *app) backendFiles() ([]*schema.Node, schema.Diagnostics) {
	if a.backends == "" {
		return nil, nil
	}
	nodes, ds := yaml.Documents(a.backends, yaml.Options{Source: a.source(), Ours: gapi.HasKey("name", "module", "command", "interface"), Form: "backend or interface"})
	return nodes, a.from("backends", ds)
}

// withBackends returns a catalog of its own, with backends of files too.
// Interfaces come first, whatever the order of files is, since a backend refers to one.
// The catalog below is shared by all readings, so it is cloned and never altered. The findings
// are those of all files together.
func (a *app) withBackends(nodes []*schema.Node) (c *virtual.Catalog, ds schema.Diagnostics) {
	c = a.modules().Clone()
	for _, n := range nodes {
		if virtual.IsDeclaration(n) {
			ds = append(ds, declare(c, n)...)
		}
	}
	if len(nodes) == 0 {
		return c, ds
	}
	// Facts cost the reading of some files, so they are read only where a backend needs its lint.
	facts := a.system()(nil).Facts
	for _, n := range nodes {
		if !virtual.IsDeclaration(n) {
			ds = append(ds, addBackend(c, n, facts)...)
		}
	}
	return c, ds
}

// declare adds an interface that a file declares. An error of the catalog gets the place of the
// key interface.
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
// An unknown module has the place of the key module, a name that is taken that of the key name.
// Lints are warnings: the program may be installed later.
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
