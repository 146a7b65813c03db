package cmd

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
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/gapi/typescript"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// inputFlags say where the graph comes from. Every verb that takes a graph takes it by these flags.
type inputFlags struct {
	input.Config
	check    choice // of the types of a program
	ordering choice

	blind bool // a secret that can't be read makes an unknown value
	once  bool // the verb ends when the graph was read, and has no engine that could run a program
	typed bool // the verb judges the graph, so tsc checks its types without being asked
}

// resourceCount is the value of --max-resources; 0 for the default.
type resourceCount int

// String returns the number as Set takes it.
func (n *resourceCount) String() string {
	return strconv.Itoa(cmp.Or(int(*n), gapi.DefaultMaxResources))
}

// Type is the word that help shows.
func (n *resourceCount) Type() string { return "int" }

// Set implements pflag.Value.
func (n *resourceCount) Set(text string) error {
	// 32 bits fit an int on every system.
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil || v < 1 {
		return errors.New("write a whole number from 1 to 2147483647")
	}
	*n = resourceCount(v)
	return nil
}

// graphSize is the value of --max-graph-size; 0 for the default.
type graphSize int64

// String returns the size as Set takes it.
func (s *graphSize) String() string {
	if *s == 0 {
		return defaultGraphSize
	}
	return schema.Size(*s).String()
}

// Type is the word that help shows.
func (s *graphSize) Type() string { return "size" }

// Set implements pflag.Value.
func (s *graphSize) Set(text string) error {
	v, err := parseGraphSize(text)
	*s = graphSize(v)
	return err
}

// flags adds the flags that name a graph. Two sources exclude each other, and the error
// says how to combine them.
func (i *inputFlags) flags(cmd *cobra.Command) {
	bind(cmd, "graph", once(&i.YAML, "name a folder with both, or a graph that includes the other"))
	_ = cmd.MarkFlagFilename("yaml", yaml.FlagExtensions("yaml")...)
	bind(cmd, "puppet_catalog", once(&i.Catalog, "a graph is made of one"))
	_ = cmd.MarkFlagFilename("puppet-catalog", yaml.FlagExtensions("puppet-catalog")...)
	i.programFlags(cmd)
	bind(cmd, "identity", (*place)(&i.Identity))
	_ = cmd.MarkFlagFilename("identity")
	bind(cmd, "ts", once(&i.TS, "a graph is made by one program; that can import the other"))
	_ = cmd.MarkFlagFilename("ts", yaml.FlagExtensions("ts")...)
	bind(cmd, "tags", &i.Tags)
	bind(cmd, "lenient", &i.Lenient)
	bind(cmd, "puppet_modules", &i.Modules)
	bind(cmd, "ordering", &i.ordering)
	bind(cmd, "max_resources", (*resourceCount)(&i.MaxResources))
	bind(cmd, "max_graph_size", (*graphSize)(&i.MaxBytes))
}

// programFlags adds the flags for the inputs of a program and for its types.
func (i *inputFlags) programFlags(cmd *cobra.Command) {
	// A value of --var may have a comma, which a slice flag of pflag would split at.
	varList := pflag.NewFlagSet("", pflag.ContinueOnError)
	varList.StringArrayVar(&i.Vars, "var", nil, "")
	bind(cmd, "var", varList.Lookup("var").Value)
	bind(cmd, "vars", &i.VarFiles)
	_ = cmd.MarkFlagFilename("vars", yaml.FlagExtensions("yaml")...)
	bind(cmd, "ts_check", &i.check)
	bind(cmd, "tsc", (*place)(&i.Compiler))
	_ = cmd.MarkFlagFilename("tsc")
}

// programOnly refuses the flags of a program where no graph is one. Settings from elsewhere are written for many verbs.
func (i *inputFlags) programOnly(a *app) (errs []error) {
	for _, f := range []struct{ key, text string }{
		{"var", "--var is for a program: each host computes the variables of a graph in YAML"},
		{"vars", "--vars is for a program: each host computes the variables of a graph in YAML"},
		{"ts_check", "--check is for a program, and no graph here is one"},
		{"tsc", "--tsc is for a program, and no graph here is one"},
	} {
		if _, given := a.flags[f.key]; given {
			errs = append(errs, errors.New(f.text))
		}
	}
	return errs
}

// graphArgs takes the argument of a verb that takes a graph as the value of --yaml, or of --ts. One behind
// a flag that needs no value may have been meant for that.
// The word after a flag such as --noop is an argument and not its value; the error says
// so when no such file exists.
func graphArgs(cmd *cobra.Command, args []string) error {
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
		return errors.New("the name of the graph is empty: name a file, a folder, or - for standard input")
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

// open returns the input that the flags name. The flags of a catalog would have no effect on another graph, which a user should hear of.
func (i *inputFlags) open(a *app) (*input.Input, error) {
	if err := i.catalogOnly(a); err != nil {
		return nil, err
	}
	return i.unchecked(a), nil
}

// config returns the Config of the flags.
func (i *inputFlags) config() input.Config {
	c := i.Config
	c.Check, c.Ordering = typescript.Check(i.check.word), puppet.Ordering(i.ordering.word)
	return c
}

func (i *inputFlags) unchecked(a *app) *input.Input {
	c, e := i.config(), a.surroundings()
	e.Blind, e.Typed = i.blind, i.typed
	if i.once {
		e.Run, e.Said = runOnce, func(line string) { fmt.Fprintln(a.err, visible(line)) }
	}
	return input.New(c, e)
}

// surroundings are what every input of the program has around it.
func (a *app) surroundings() input.Env {
	return input.Env{
		From: a.source(), Programs: a.programs(), Hostname: a.storeName(), Facts: func() map[string]any { return a.system()(nil).Facts },
		Environ: os.Environ(), Trusted: trustedProject,
	}
}

// frontend returns the one frontend that the flags name.
func (i *inputFlags) frontend(a *app) (gapi.Frontend, error) {
	in, err := i.open(a)
	if err != nil {
		return nil, err
	}
	return in.Frontend()
}

// fromStore reports whether a daemon takes objects or deploys from a store that its user has named. The default store alone does not
// count: a user who forgets to name the graph has to hear of it.
func fromStore(r config.Resolved) bool {
	return r["world"].Source != config.SourceDefault || len(r["trusted_keys"].Texts) > 0
}

// options returns how a graph in YAML is read.
func (i *inputFlags) options(a *app) (yaml.Options, error) { return i.unchecked(a).Options() }

// catalogOnly refuses the flags of a catalog for another graph. In a file or in the environment they may wait for a
// catalog, since those are written once for many runs.
func (i *inputFlags) catalogOnly(a *app) error {
	if i.Catalog != "" {
		return nil
	}
	for _, f := range []struct {
		name string
		used bool
	}{{"tags", len(i.Tags) > 0}, {"lenient", i.Lenient}, {"ordering", i.ordering.word == string(puppet.Manifest)}} {
		if f.used && a.settled[f.name].Source != config.SourceFile && a.settled[f.name].Source != config.SourceEnvironment {
			return fmt.Errorf("--%s is for a catalog, which --puppet-catalog names", f.name)
		}
	}
	return nil
}

// build reads the graph and checks it. A graph that can't be used is nil, and
// the findings say why; the error is another one.
// It is for verbs that check or draw: the thorough checks cost more than a daemon pays at
// each reading.
func (i *inputFlags) build(ctx context.Context, a *app) (*engine.Graph, schema.Diagnostics, error) {
	d, err := i.declared(ctx, a)
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		return nil, ds, nil
	}
	if err != nil {
		return nil, nil, err
	}
	// The declaration may be shared, so the flag is set in a copy.
	asked := *d
	asked.Thorough = true
	g, ds := a.build(&asked)
	return g, ds, nil
}

// declared reads the graph once.
// A frontend yields one graph for each reading; the first one is taken, as a whole.
func (i *inputFlags) declared(ctx context.Context, a *app) (*gapi.Declared, error) {
	i.once = true
	front, err := i.frontend(a)
	if err != nil {
		return nil, err
	}
	a.noMachine()
	env := gapi.Env{Registry: a.kinds, NoWatch: true, Stdin: a.in, Hostname: a.storeName()}
	for d, err := range front.Graphs(ctx, env) {
		// The loop ends with the first graph, and the frontend with it: no watch is left.
		return d.Complete(), err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return nil, errors.New("there is no graph")
}
