package plan

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// renderFlags are those of render.
type renderFlags struct {
	input inputs.Flags
	// positions adds a comment with file, line and column to each resource.
	positions bool
	explained string // RESOURCE.KEY; empty for the whole graph
}

// NewRender makes the verb render.
// The output is a graph again: validate accepts it, apart from values that were left out.
func NewRender(a *cli.App) *cobra.Command {
	f := &renderFlags{}
	cmd := &cobra.Command{
		Use:   "render [FILE|FOLDER]",
		Short: "Print a graph with all values computed",
		Long: `Render prints a graph as YAML after evaluating all expressions, loops, conditions,
defaults, includes and modules. The graph may also be a program or a catalog. A
comment replaces each secret. Render changes nothing. If the graph has errors,
render prints what it can read, writes the errors to standard error, and exits
with code 1.

With --positions, a comment gives the source position of each resource. With
--explain, render shows one value with its position and line in the source.`,
		Example: `  mgmt render graph.yaml
  mgmt render graph.yaml --facts web1.yaml --positions
  mgmt render graph.yaml --explain 'file[/etc/motd].content'
  mgmt render --puppet-catalog catalog.json > graph.yaml`,
		Args: inputs.GraphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.Flags(cmd)
	cli.TypesFlag(a, cmd)
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	cmd.Flags().StringVar(&f.explained, "explain", "", "show one value and its source: `RESOURCE.KEY`")
	cmd.Flags().BoolVar(&f.positions, "positions", false, "show where each resource is declared")
	return cmd
}

// run writes the graph, and tells what is wrong with it.
// A graph that could not be read at all gives its errors and no text.
// The code is 1 for a graph with errors, and the graph is written all the same where it could be
// read.
func (f *renderFlags) run(ctx context.Context, a *cli.App) error {
	f.input.Blind = true // a graph is judged and shown without its secrets
	d, err := f.input.Declared(ctx, a)
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		render.PrintDiagnostics(a.Err, a.Program(), ds)
		return cli.WithCode(cli.ExitUsage, nil)
	}
	if err != nil {
		return err
	}
	if f.explained != "" {
		return f.explain(a, d)
	}
	secret := func(d *gapi.Declaration, key string) bool { return inputs.IsSecret(a, d, key) }
	if err := yaml.Render(a.Out, d, yaml.Rendering{IsSecret: secret, Positions: f.positions}); err != nil {
		return err
	}
	// The faults of the builder count, too: a graph that mgmt run would refuse is no success.
	_, ds := inputs.Build(a, d)
	render.PrintDiagnostics(a.Err, a.Program(), ds)
	if ds.Err() != nil {
		return cli.WithCode(cli.ExitUsage, nil)
	}
	return nil
}
