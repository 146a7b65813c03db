package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

type validateFlags struct {
	input  input
	format choice
}

// newValidate makes the verb validate.
func newValidate(a *app) *cobra.Command {
	f := &validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate [FILE|FOLDER]",
		Short: "Say everything that is wrong with a graph",
		Long: `Validate reads a graph and says everything that is wrong with it, all at once and
each with its place. It touches nothing. The findings go to standard output; with
errors among them it ends with code 1.

Whether a backend can do what the graph asks is checked for this machine. --facts checks it for
another one. Its file has facts by their names, as mgmt facts --programs -o yaml writes them on that machine;
each may be left out, and os_family and init are often enough. Without the key programs, every program
is taken to be there.

--models checks a folder of models, too; their faults come with those of the graph. Where the command line has --models
and no graph, the models are checked alone.`,
		Example: `  mgmt validate graph.yaml
  mgmt validate graph.yaml --format=github   # in a workflow
  mgmt validate graph.yaml --facts web1.yaml # can that machine do it?
  mgmt validate --models models              # the models alone
  generate | mgmt validate - --format=json`,
		Args: graphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.flags(cmd)
	a.typesFlag(cmd)
	a.modelsFlag(cmd)
	a.machineFlags(cmd)
	a.factsFlag(cmd)
	choose(cmd, &f.format, "format", "", "how to write the findings", "text", "json", "github")
	return cmd
}

// run builds the graph and writes all findings. It touches no file, package or service.
func (f *validateFlags) run(ctx context.Context, a *app) error {
	models := a.loadModels()
	if a.modelsAlone() {
		return f.models(a, models)
	}
	f.input.blind = true // a graph is judged and shown without its secrets
	g, ds, err := f.input.build(ctx, a)
	if err != nil {
		return errors.Join(models.Err(), err)
	}
	ds = append(models, ds...)
	if err := f.write(a, ds); err != nil {
		return err
	}
	if g == nil || models.Err() != nil {
		return withCode(exitUsage, errors.New(ds.Summary()))
	}
	if f.format.word == "text" {
		fmt.Fprintf(a.out, "ok: %s, %s\n", plural(g.Len(), "resource"), plural(g.EdgeCount(), "edge"))
	}
	return nil
}

// modelsAlone reports whether the command line names models and no graph. A graph of the configuration does not count: who
// writes models on another machine has none.
func (a *app) modelsAlone() bool {
	named := func(key string) bool { _, ok := a.flags[key]; return ok }
	return named("models") && !named("graph") && !named("puppet_catalog") && !named("ts")
}

// models writes the findings about models alone.
func (f *validateFlags) models(a *app, ds schema.Diagnostics) error {
	if err := f.write(a, ds); err != nil {
		return err
	}
	if ds.Err() != nil {
		return withCode(exitUsage, errors.New(ds.Summary()))
	}
	if f.format.word == "text" {
		fmt.Fprintf(a.out, "ok: %s\n", plural(len(a.modelNodes), "model"))
	}
	return nil
}

// write writes the findings in the chosen format.
func (f *validateFlags) write(a *app, ds schema.Diagnostics) error {
	if f.format.word == "text" {
		printDiagnostics(a.out, a.program(), ds)
		return nil
	}
	return gapi.WriteDiagnostics(a.out, f.format.word, helped(a.program(), ds))
}

// plural is a number with its noun.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
