package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// input says where the graph comes from. Every verb that takes a graph takes it
// by these flags.
type input struct {
	// At most one of the three is set, see several. Each is a path, or - for standard input.
	yaml    string
	catalog string
	ts      string
	check   choice // of the types of a program
	tsc     string
	// A program in TypeScript then runs on a host of its own, without an engine.
	once     bool // the verb ends when the graph was read
	typed    bool // the verb judges the graph, so tsc checks its types without being asked
	stored   bool // the daemon has its graph from its store where no other is given; see fromStore
	ordering choice
	// most and size bound a graph before it takes memory.
	most     resourceCount
	size     graphSize
	puppet   puppet.Options
	vars     []string // NAME=VALUE
	varFiles []string
	blind    bool   // a secret that can't be read makes an unknown value
	identity string // the file of an identity of age; empty for none

	// unseal decrypts by identity. It is made once, by secrets, so that the file is read once; nil without an identity.
	unseal func(text string) (string, error)
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
func (i *input) flags(cmd *cobra.Command) {
	bind(cmd, "graph", source{place{&i.yaml}, "name a folder with both, or a graph that includes the other"})
	_ = cmd.MarkFlagFilename("yaml", yaml.FlagExtensions("yaml")...)
	bind(cmd, "puppet_catalog", source{place{&i.catalog}, "a graph is made of one"})
	_ = cmd.MarkFlagFilename("puppet-catalog", yaml.FlagExtensions("puppet-catalog")...)
	i.programFlags(cmd)
	bind(cmd, "identity", place{&i.identity})
	_ = cmd.MarkFlagFilename("identity")
	bind(cmd, "ts", source{place{&i.ts}, "a graph is made by one program; that can import the other"})
	_ = cmd.MarkFlagFilename("ts", yaml.FlagExtensions("ts")...)
	bind(cmd, "tags", &i.puppet.Tags)
	bind(cmd, "lenient", &i.puppet.Lenient)
	bind(cmd, "puppet_modules", &i.puppet.Modules)
	bind(cmd, "ordering", &i.ordering)
	bind(cmd, "max_resources", &i.most)
	bind(cmd, "max_graph_size", &i.size)
}

// programFlags adds the flags for the inputs of a program and for its types.
func (i *input) programFlags(cmd *cobra.Command) {
	// A value of --var may have a comma, which a slice flag of pflag would split at.
	varList := pflag.NewFlagSet("", pflag.ContinueOnError)
	varList.StringArrayVar(&i.vars, "var", nil, "")
	bind(cmd, "var", varList.Lookup("var").Value)
	bind(cmd, "vars", &i.varFiles)
	_ = cmd.MarkFlagFilename("vars", yaml.FlagExtensions("yaml")...)
	bind(cmd, "ts_check", &i.check)
	bind(cmd, "tsc", place{&i.tsc})
	_ = cmd.MarkFlagFilename("tsc")
}

// programOnly refuses the flags of a program where no graph is one. Settings from elsewhere are written for many verbs.
func (i *input) programOnly(a *app) (errs []error) {
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

// frontend returns the one frontend that the flags name.
// It opens no file of a graph: the frontend does so when its sequence is read.
func (i *input) frontend(a *app) (gapi.Frontend, error) {
	switch {
	case i.several():
		return nil, errors.New("a graph comes from --yaml, from --puppet-catalog or from --ts, and not from two of them")
	case i.catalog != "":
		i.puppet.Source, i.puppet.YAML = a.source(), yaml.Value
		i.puppet.Ordering = puppet.Ordering(i.ordering.word)
		if i.puppet.Modules == nil {
			i.puppet.Modules = modulePath
		}
		i.puppet.MaxResources, i.puppet.MaxBytes = int(i.most), int64(i.size)
		return puppet.New(i.catalog, i.puppet), nil
	}
	// The flags of a catalog would have no effect on another graph, which a user should hear of.
	if err := i.catalogOnly(a); err != nil {
		return nil, err
	}
	if i.ts != "" {
		return i.program(a)
	}
	if i.yaml == "" {
		switch _, err := a.asking().Stat(context.Background(), defaultGraph); {
		case !errors.Is(err, fs.ErrNotExist):
			i.yaml = defaultGraph
		case i.stored:
			// The graph is empty. Objects and deploys of the store come in by the frontends around
			// it.
			return static.New(&gapi.Declared{Name: "store"}), nil
		default:
			return nil, errors.New("no graph is given, use --yaml FILE, --puppet-catalog FILE or --ts FILE (- is standard input), or just FILE; the default, " + defaultGraph +
				", is not there; a daemon with --world or --trusted-keys takes its graph from its store, and needs no other")
		}
	}
	o, err := i.options(a)
	if err != nil {
		return nil, err
	}
	return yaml.New(i.yaml, o), nil
}

// fromStore reports whether a daemon takes objects or deploys from a store that its user has named. The default store alone does not
// count: a user who forgets to name the graph has to hear of it.
func fromStore(r config.Resolved) bool {
	return r["world"].Source != config.SourceDefault || len(r["trusted_keys"].Texts) > 0
}

// options returns how a graph in YAML is read: the sources of its files, and the inputs of its expressions.
// An error is one of --var alone. Faults of the files come with the graph.
func (i *input) options(a *app) (o yaml.Options, err error) {
	o = i.limits(a)
	o.Source = a.source()
	o.VarFiles = i.varFiles
	i.secrets(&o)
	// A later setting of a variable wins over an earlier one, so flags come after the environment.
	for _, entry := range os.Environ() {
		if set, ours := strings.CutPrefix(entry, varPrefix); ours {
			name, value, _ := strings.Cut(set, "=")
			// Shared says that other graphs have the variable, too: a graph without variables goes
			// without it.
			o.Vars = append(o.Vars, expand.Setting{Name: name, Text: value, From: varPrefix + name, Shared: true})
		}
	}
	for _, set := range i.vars {
		name, value, ok := strings.Cut(set, "=")
		if !ok {
			return o, fmt.Errorf("--var %s: write --var NAME=VALUE", set)
		}
		o.Vars = append(o.Vars, expand.Setting{Name: name, Text: value, From: "--var " + name})
	}
	return o, nil
}

// secrets says where the secrets of a graph come from on this machine. It holds for the graphs of deploys, too. A deploy
// carries its secrets encrypted, and this host trusts the key that has signed it.
func (i *input) secrets(o *yaml.Options) {
	o.Blind = i.blind
	o.Credentials = os.Getenv("CREDENTIALS_DIRECTORY")
	if !i.blind { // a verb that judges a graph runs nothing of it
		o.Program = secretsOf
	}
	if i.identity != "" && i.unseal == nil {
		i.unseal = trust.UnsealBy(i.identity)
	}
	o.Unseal = i.unseal
}

// varPrefix begins the names of the environment variables that set variables of the graph.
const varPrefix = "MGMT_VAR_"

// several reports whether more than one flag names a graph. Each source replaces the whole graph, so the others would be
// ignored without a word.
func (i *input) several() bool {
	n := 0
	for _, path := range []string{i.yaml, i.catalog, i.ts} {
		if path != "" {
			n++
		}
	}
	return n > 1
}

// catalogOnly refuses the flags of a catalog for another graph. In a file or in the environment they may wait for a
// catalog, since those are written once for many runs.
func (i *input) catalogOnly(a *app) error {
	for _, f := range []struct {
		name string
		used bool
	}{{"tags", len(i.puppet.Tags) > 0}, {"lenient", i.puppet.Lenient}, {"ordering", i.ordering.word == string(puppet.Manifest)}} {
		if f.used && a.settled[f.name].Source != config.SourceFile && a.settled[f.name].Source != config.SourceEnvironment {
			return fmt.Errorf("--%s is for a catalog, which --puppet-catalog names", f.name)
		}
	}
	return nil
}

// limits returns how large a graph in YAML may be.
// They hold for graphs from elsewhere, too.
func (i *input) limits(a *app) yaml.Options {
	return yaml.Options{
		MaxResources: int(i.most), MaxBytes: int64(i.size), Hostname: a.storeName(),
		Facts: func() map[string]any { return a.system()(nil).Facts },
	}
}

// build reads the graph and checks it. A graph that can't be used is nil, and
// the findings say why; the error is another one.
// It is for verbs that check or draw: the thorough checks cost more than a daemon pays at
// each reading.
func (i *input) build(ctx context.Context, a *app) (*engine.Graph, schema.Diagnostics, error) {
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
func (i *input) declared(ctx context.Context, a *app) (*gapi.Declared, error) {
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

// lasting names the file or the folder of the graph, by which a later start knows it again. It is
// empty for an input that is read but once, such as a pipe.
// A later run of that name holds its first graph too, if that lacks resources of this one.
func (i *input) lasting() string {
	if i.stored && cmp.Or(i.catalog, i.ts, i.yaml) == "" {
		return "store"
	}
	path, err := filepath.Abs(cmp.Or(i.catalog, i.ts, i.yaml))
	if err != nil || ownDescriptor(path) {
		return ""
	}
	if info, err := (&gapi.Asker{}).Stat(context.Background(), path); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return ""
	}
	return path
}
