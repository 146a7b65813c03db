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
		Short: "Write a graph out, with all values computed",
		Long: `Render writes the graph in YAML as it is after all expressions, loops, conditions, defaults,
includes and modules. It writes the graph of a program and of a catalog, too. A secret is left
out, and a comment says so. It touches nothing. A graph with errors is written as far as it can
be read, the errors go to standard error, and the exit code is 1.

With --positions each resource has a comment with its place in the source. With --explain it shows one
value, and the place and the line of the source that it is from.`,
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
	cmd.Flags().BoolVar(&f.positions, "positions", false, "say where each resource is declared")
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
	if err := yaml.Render(a.Out, d, yaml.Rendering{IsSecret: func(d *gapi.Declaration, key string) bool { return inputs.IsSecret(a, d, key) }, Positions: f.positions}); err != nil {
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
