package inputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/gapi/typescript"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Flags say where the graph comes from. Every verb that takes a graph takes it by these flags.
type Flags struct {
	input.Config
	Check    cli.Choice // of the types of a program
	Ordering cli.Choice

	Blind bool // a secret that can't be read makes an unknown value
	once  bool // the verb ends when the graph was read, and has no engine that could run a program
	Typed bool // the verb judges the graph, so tsc checks its types without being asked
}

// ResourceCount is the value of --max-resources; 0 for the default.
type ResourceCount int

// String returns the number as Set takes it.
func (n *ResourceCount) String() string {
	return strconv.Itoa(cmp.Or(int(*n), gapi.DefaultMaxResources))
}

// Type is the word that help shows.
func (n *ResourceCount) Type() string { return "int" }

// Set implements pflag.Value.
func (n *ResourceCount) Set(text string) error {
	// 32 bits fit an int on every system.
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil || v < 1 {
		return errors.New("write a whole number from 1 to 2147483647")
	}
	*n = ResourceCount(v)
	return nil
}

// GraphSize is the value of --max-graph-size; 0 for the default.
type GraphSize int64

// String returns the size as Set takes it.
func (s *GraphSize) String() string {
	if *s == 0 {
		return cli.DefaultGraphSize
	}
	return schema.Size(*s).String()
}

// Type is the word that help shows.
func (s *GraphSize) Type() string { return "size" }

// Set implements pflag.Value.
func (s *GraphSize) Set(text string) error {
	v, err := cli.ParseGraphSize(text)
	*s = GraphSize(v)
	return err
}

// Flags adds the flags that name a graph. Two sources exclude each other, and the error
// says how to combine them.
func (i *Flags) Flags(cmd *cobra.Command) {
	cli.Bind(cmd, "graph", cli.Once(&i.YAML, "name a folder with both, or a graph that includes the other"))
	_ = cmd.MarkFlagFilename("yaml", yaml.FlagExtensions("yaml")...)
	cli.Bind(cmd, "puppet_catalog", cli.Once(&i.Catalog, "a graph is made of one"))
	_ = cmd.MarkFlagFilename("puppet-catalog", yaml.FlagExtensions("puppet-catalog")...)
	i.ProgramFlags(cmd)
	cli.Bind(cmd, "identity", (*cli.Place)(&i.Identity))
	_ = cmd.MarkFlagFilename("identity")
	cli.Bind(cmd, "ts", cli.Once(&i.TS, "a graph is made by one program; that can import the other"))
	_ = cmd.MarkFlagFilename("ts", yaml.FlagExtensions("ts")...)
	cli.Bind(cmd, "tags", &i.Tags)
	cli.Bind(cmd, "lenient", &i.Lenient)
	cli.Bind(cmd, "puppet_modules", &i.Modules)
	cli.Bind(cmd, "ordering", &i.Ordering)
	cli.Bind(cmd, "max_resources", (*ResourceCount)(&i.MaxResources))
	cli.Bind(cmd, "max_graph_size", (*GraphSize)(&i.MaxBytes))
}

// ProgramFlags adds the flags for the inputs of a program and for its types.
func (i *Flags) ProgramFlags(cmd *cobra.Command) {
	// A value of --var may have a comma, which a slice flag of pflag would split at.
	varList := pflag.NewFlagSet("", pflag.ContinueOnError)
	varList.StringArrayVar(&i.Vars, "var", nil, "")
	cli.Bind(cmd, "var", varList.Lookup("var").Value)
	cli.Bind(cmd, "vars", &i.VarFiles)
	_ = cmd.MarkFlagFilename("vars", yaml.FlagExtensions("yaml")...)
	cli.Bind(cmd, "ts_check", &i.Check)
	cli.Bind(cmd, "tsc", (*cli.Place)(&i.Compiler))
	_ = cmd.MarkFlagFilename("tsc")
}

// ProgramOnly refuses the flags of a program where no graph is one. Settings from elsewhere are written for many verbs.
func (i *Flags) ProgramOnly(a *cli.App) (errs []error) {
	for _, f := range []struct{ key, text string }{
		{"var", "--var is for a program: each host computes the variables of a graph in YAML"},
		{"vars", "--vars is for a program: each host computes the variables of a graph in YAML"},
		{"ts_check", "--check is for a program, and no graph here is one"},
		{"tsc", "--tsc is for a program, and no graph here is one"},
	} {
		if _, given := a.Flags[f.key]; given {
			errs = append(errs, errors.New(f.text))
		}
	}
	return errs
}

// GraphArgs takes the argument of a verb that takes a graph as the value of --yaml, or of --ts. One behind
// a flag that needs no value may have been meant for that.
// The word after a flag such as --noop is an argument and not its value; the error says
// so when no such file exists.
func GraphArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := args[0]
	other := ""
	for _, flag := range []string{"yaml", "puppet-catalog", "ts"} {
		if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
			other = "--" + flag + " " + f.Value.String()
		}
	}
	// The word is judged first, and no file is opened: a wrong call costs nothing.
	_, missing := (&gapi.Asker{}).Stat(cmd.Context(), name)
	switch value := valueMeant(cmd, name); {
	// The graph is named already, so the word can only be the value of the flag before it.
	case value != nil && (other != "" || len(args) > 1):
		return value
	case value != nil && !looksLikeFile(name) && errors.Is(missing, fs.ErrNotExist):
		return fmt.Errorf("%w; and there is no file of that name", value)
	case other != "":
		return fmt.Errorf("unexpected argument %q: %s names the graph already", name, other)
	case len(args) > 1:
		return fmt.Errorf("unexpected argument %q: the graph is %s already; name a folder with both, or a graph that includes the other", args[1], name)
	case name == "":
		return errors.New("empty graph name: write a file, a folder, or - for standard input")
	}
	flag := "yaml"
	if n := yaml.NotationOf(name); cmd.Flags().Lookup(n.Flag) != nil {
		flag = n.Flag
	}
	return cmd.Flags().Set(flag, name)
}

// looksLikeFile reports whether a word is hardly anything but the name of a graph.
func looksLikeFile(word string) bool {
	return word == "-" || strings.Contains(word, "/") || yaml.NotationOf(word).Name != ""
}

// valueMeant returns the error of an argument that was meant as the value of a flag that needs none.
func valueMeant(cmd *cobra.Command, arg string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() != "bool" && f.NoOptDefVal != "" && f.Value.String() == f.NoOptDefVal {
			err = fmt.Errorf("unexpected argument %q; a value of --%s is written with =, as in --%s=%s", arg, f.Name, f.Name, arg)
		}
	})
	return err
}

// Open returns the input that the flags name. The flags of a catalog would have no effect on another graph, which a user should hear of.
func (i *Flags) Open(a *cli.App) (*input.Input, error) {
	if err := i.CatalogOnly(a); err != nil {
		return nil, err
	}
	return i.Unchecked(a), nil
}

// Given returns the Config of the flags.
func (i *Flags) Given() input.Config {
	c := i.Config
	c.Check, c.Ordering = typescript.Check(i.Check.Word), puppet.Ordering(i.Ordering.Word)
	return c
}

func (i *Flags) Unchecked(a *cli.App) *input.Input {
	c, e := i.Given(), Surroundings(a)
	e.Blind, e.Typed = i.Blind, i.Typed
	if i.once {
		e.Run, e.Said = runOnce, func(line string) { fmt.Fprintln(a.Err, render.Visible(line)) }
	}
	return input.New(c, e)
}

// Surroundings are what every input of the program has around it.
func Surroundings(a *cli.App) input.Env {
	return input.Env{
		From: a.Source(), Programs: a.Programs(), Hostname: storeName(a), Facts: func() map[string]any { return System(a)(nil).Facts },
		Environ: os.Environ(), Trusted: trustedProject, Called: cli.FlagOf,
	}
}

// Frontend returns the one frontend that the flags name.
func (i *Flags) Frontend(a *cli.App) (gapi.Frontend, error) {
	in, err := i.Open(a)
	if err != nil {
		return nil, err
	}
	return in.Frontend()
}

// FromStore reports whether a daemon takes objects or deploys from a store that its user has named. The default store alone does not
// count: a user who forgets to name the graph has to hear of it.
func FromStore(r config.Resolved) bool {
	return r["world"].Source != config.SourceDefault || len(r["trusted_keys"].Texts) > 0
}

// Options returns how a graph in YAML is read.
func (i *Flags) Options(a *cli.App) (yaml.Options, error) { return i.Unchecked(a).Options() }

// CatalogOnly refuses the flags of a catalog for another graph. In a file or in the environment they may wait for a
// catalog, since those are written once for many runs.
func (i *Flags) CatalogOnly(a *cli.App) error {
	if i.Catalog != "" {
		return nil
	}
	for _, f := range []struct {
		name string
		used bool
	}{{"tags", len(i.Tags) > 0}, {"lenient", i.Lenient}, {"ordering", i.Ordering.Word == string(puppet.Manifest)}} {
		if f.used && a.Settled[f.name].Source != config.SourceFile && a.Settled[f.name].Source != config.SourceEnvironment {
			return fmt.Errorf("--%s is for a catalog, which --puppet-catalog names", f.name)
		}
	}
	return nil
}

// Build reads the graph and checks it. A graph that can't be used is nil, and
// the findings say why; the error is another one.
// It is for verbs that check or draw: the thorough checks cost more than a daemon pays at
// each reading.
func (i *Flags) Build(ctx context.Context, a *cli.App) (*resgraph.Graph, schema.Diagnostics, error) {
	d, err := i.Declared(ctx, a)
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		return nil, ds, nil
	}
	if err != nil {
		return nil, nil, err
	}
	// The declaration may be shared, so the flag is set in a copy.
	asked := *d
	asked.Thorough = true
	g, ds := Build(a, &asked)
	return g, ds, nil
}

// Declared reads the graph once.
// A frontend yields one graph for each reading; the first one is taken, as a whole.
func (i *Flags) Declared(ctx context.Context, a *cli.App) (*gapi.Declared, error) {
	i.once = true
	front, err := i.Frontend(a)
	if err != nil {
		return nil, err
	}
	NoMachine(a)
	env := gapi.Env{Registry: a.Kinds, NoWatch: true, Stdin: a.In, Hostname: storeName(a)}
	for d, err := range front.Graphs(ctx, env) {
		// The loop ends with the first graph, and the frontend with it: no watch is left.
		return d.Complete(), err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return nil, errors.New("there is no graph")
}
