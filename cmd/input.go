package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// input says where the graph comes from. Every verb that takes a graph takes it
// by these flags.
type input struct {
	yaml     string
	catalog  string
	ordering choice
	puppet   puppet.Options
}

func (i *input) flags(cmd *cobra.Command) {
	cmd.Flags().Var(source{place{&i.yaml}, "name a folder with both, or a graph that includes the other"}, "yaml", "the graph: a YAML `file`, a folder of them, or - for standard input")
	_ = cmd.MarkFlagFilename("yaml", "yaml", "yml")
	cmd.Flags().Var(source{place{&i.catalog}, "a graph is made of one"}, "puppet-catalog", "the graph: a `file` with what puppet catalog compile prints, or - for standard input")
	_ = cmd.MarkFlagFilename("puppet-catalog", "json")
	fl := cmd.Flags()
	fl.StringSliceVar(&i.puppet.Tags, "tags", nil, "of a catalog: run only what has one of these `tags`, separated by commas")
	fl.BoolVar(&i.puppet.Lenient, "lenient", false, "of a catalog: leave out what mgmt can't do, with a warning each")
	choose(cmd, &i.ordering, "ordering", "", "of a catalog: the order of what nothing else orders", string(puppet.None), string(puppet.Manifest))
}

// graphArgs refuses the arguments of a verb that takes a graph. One behind a flag
// that needs no value may have been meant for that.
func graphArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var meant error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() != "bool" && f.NoOptDefVal != "" && f.Value.String() == f.NoOptDefVal {
			meant = fmt.Errorf("unexpected argument %q; a value of --%s is written with =, as in --%s=%s", args[0], f.Name, f.Name, args[0])
		}
	})
	if meant != nil {
		return meant
	}
	return fmt.Errorf("unexpected argument %q, a graph is named by --yaml or --puppet-catalog", args[0])
}

// frontend returns the one frontend that the flags name.
func (i *input) frontend(a *app) (gapi.Frontend, error) {
	switch {
	case i.yaml != "" && i.catalog != "":
		return nil, errors.New("a graph comes from --yaml or from --puppet-catalog, not from both")
	case i.catalog != "":
		i.puppet.Source, i.puppet.YAML = a.source(), yaml.Value
		i.puppet.Ordering = puppet.Ordering(i.ordering.word)
		return puppet.New(i.catalog, i.puppet), nil
	}
	for _, f := range []struct {
		name string
		used bool
	}{{"tags", len(i.puppet.Tags) > 0}, {"lenient", i.puppet.Lenient}, {"ordering", i.ordering.word == string(puppet.Manifest)}} {
		if f.used {
			return nil, fmt.Errorf("--%s is for a catalog, which --puppet-catalog names", f.name)
		}
	}
	if i.yaml == "" {
		return nil, errors.New("no graph is given, use --yaml FILE or --puppet-catalog FILE (- is standard input)")
	}
	return yaml.New(i.yaml, yaml.Options{Source: a.source()}), nil
}

// build reads the graph and checks it. A graph that can't be used is nil, and
// the findings say why; the error is another one.
func (i *input) build(ctx context.Context, a *app) (*engine.Graph, schema.Diagnostics, error) {
	d, err := i.declared(ctx, a)
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		return nil, ds, nil
	}
	if err != nil {
		return nil, nil, err
	}
	g, ds := gapi.Build(a.kinds(), d)
	return g, ds, nil
}

// declared reads the graph once.
func (i *input) declared(ctx context.Context, a *app) (*gapi.Declared, error) {
	front, err := i.frontend(a)
	if err != nil {
		return nil, err
	}
	env := gapi.Env{Registry: a.kinds(), NoWatch: true, Stdin: a.in}
	for d, err := range front.Graphs(ctx, env) {
		return d, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return nil, errors.New("there is no graph")
}

// lasting names the file or the folder of the graph, by which a later start knows it again; empty
// for what is read but once, such as a pipe.
func (i *input) lasting() string {
	path, err := filepath.Abs(cmp.Or(i.catalog, i.yaml))
	if err != nil || ownDescriptor(path) {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return ""
	}
	return path
}
