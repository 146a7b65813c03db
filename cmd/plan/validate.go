package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	folder string // of models
	input  inputs.Flags
	policy inputs.PolicyFlag
	format cli.Findings
}

// NewValidate makes the verb validate.
func NewValidate(a *cli.App) *cobra.Command {
	f := &validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate [FILE|FOLDER]",
		Short: "Report every error in a graph",
		Long: `Validate reports every finding in a graph at once, each with its position, on
standard output. It changes nothing. The exit code is 1 if a finding is an error.

Backends are checked against this machine, or with --facts against another one.
That file holds the output of mgmt facts --programs -o yaml from the other
machine. Every fact in it is optional; os_family and init are often enough.
Without the key programs, every program counts as installed.

FILE or FOLDER may be a module. Its description is checked, and its resources if
every input has a default. References out of the module are allowed.

With --models, validate checks a folder of models, too, or nothing else if the
command line names no graph.`,
		Example: `  mgmt validate graph.yaml
  mgmt validate graph.yaml --format=github   # in a workflow
  mgmt validate graph.yaml --facts web1.yaml # can that machine do it?
  mgmt validate modules/nginx                # a module
  mgmt validate --models models              # the models alone
  generate | mgmt validate - --format=json`,
		Args: inputs.GraphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.Flags(cmd)
	cli.TypesFlag(a, cmd)
	cli.ModelsFlag(cmd, &f.folder)
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	f.policy.Flag(cmd)
	f.format.Flag(cmd, "format of the findings")
	return cmd
}

// run builds the graph and writes all findings. It touches no file, package or service.
// Findings of models come first. Warnings alone do not change the exit code.
func (f *validateFlags) run(ctx context.Context, a *cli.App) error {
	models := a.LoadModels(f.folder)
	if modelsAlone(a) {
		return f.models(a, models)
	}
	f.input.Blind, f.input.Typed = true, true // a graph is judged and shown without its secrets
	// The inputs of a module have no values yet, so it is judged by itself.
	if dir := yaml.ModuleAt(f.input.YAML, yaml.Options{Source: a.Source()}); dir != "" {
		return f.module(a, dir, models)
	}
	g, ds, err := f.input.Build(ctx, a)
	if err != nil {
		return errors.Join(models.Err(), err)
	}
	g, ds = f.policy.Judge(ctx, a, g, append(models, ds...))
	if err := f.format.Write(a, ds); err != nil {
		return err
	}
	// All findings are on standard output by now. The summary of them goes to standard error.
	if g == nil || models.Err() != nil {
		return cli.WithCode(cli.ExitUsage, errors.New(ds.Summary()))
	}
	if f.format.Text() {
		fmt.Fprintf(a.Out, "ok: %s, %s\n", render.Plural(g.Len(), "resource"), render.Plural(g.EdgeCount(), "edge"))
	}
	return nil
}

// module judges a module: its description, and its resources where each of its inputs has a default. Without its inputs the resources are
// not known, so its tests do the rest.
// The findings are written like those of a graph, with the same exit codes and in the same forms. A note goes to standard error, where no
// program reads it for a finding.
func (f *validateFlags) module(a *cli.App, dir string, ds schema.Diagnostics) error {
	o, err := f.input.Options(a)
	if err != nil {
		return err
	}
	o.Vars, o.VarFiles, o.Registry = nil, nil, a.Kinds // they do not reach into a module
	m, found := yaml.Module(dir, o)
	open := ""
	if found.Err() == nil {
		if i := slices.IndexFunc(m.Inputs.Fields, func(in *schema.Field) bool { return in.Required }); i >= 0 {
			open = m.Inputs.Fields[i].Key
		}
	}
	resources := ""
	if found.Err() == nil && open == "" {
		var n int
		n, found = moduleResources(a, dir, o)
		resources = ", " + render.Plural(n, "resource")
	}
	if err := f.format.Write(a, append(ds, found...)); err != nil {
		return err
	}
	if err := errors.Join(ds.Err(), found.Err()); err != nil {
		return cli.WithCode(cli.ExitUsage, errors.New(append(ds, found...).Summary()))
	}
	if !f.format.Text() {
		return nil
	}
	fmt.Fprintf(a.Out, "ok: module %s, %s, %s%s\n", m.Name, render.Plural(len(m.Inputs.Fields), "input"), render.Plural(len(m.Outputs.Fields), "output"), resources)
	if open != "" {
		fmt.Fprintf(a.Err, "%s: note: the input %s has no default, so the resources were not checked: tests give inputs, see mgmt test %s\n", a.Program(), open, dir)
	}
	return nil
}

// moduleResources judges the resources of a module that needs no inputs, and counts them. It asks for all notes, as
// the judgement of a graph does.
// It blocks on nothing but the reading of the files of the module.
func moduleResources(a *cli.App, dir string, o yaml.Options) (int, schema.Diagnostics) {
	d, err := yaml.ModuleAlone(dir, o)
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		return 0, ds
	}
	d.Thorough = true
	_, ds := inputs.Build(a, d)
	return len(d.Resources), ds
}

// modelsAlone reports whether the command line names models and no graph. A graph of the configuration does not count: who
// writes models on another machine has none.
func modelsAlone(a *cli.App) bool {
	named := func(key string) bool { _, ok := a.Flags[key]; return ok }
	return named("models") && !named("graph") && !named("puppet_catalog") && !named("ts")
}

// models writes the findings about models alone.
func (f *validateFlags) models(a *cli.App, ds schema.Diagnostics) error {
	if err := f.format.Write(a, ds); err != nil {
		return err
	}
	if ds.Err() != nil {
		return cli.WithCode(cli.ExitUsage, errors.New(ds.Summary()))
	}
	if f.format.Text() {
		fmt.Fprintf(a.Out, "ok: %s\n", render.Plural(len(a.Set.Models()), "model"))
	}
	return nil
}
