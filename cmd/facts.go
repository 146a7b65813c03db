package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// factsFlags are the flags of facts. With a target, the facts are those of another machine.
type factsFlags struct {
	output   choice
	roles    []string
	hostname string
	// With a target, roles and hostname do not count: its own transport tells its facts.
	target   string
	programs bool
}

// newFacts makes the verb facts. It asks no network and runs no program, so it is safe in
// any script.
func newFacts(a *app) *cobra.Command {
	f := &factsFlags{}
	cmd := &cobra.Command{
		Use:   "facts [NAME...]",
		Short: "Show what is known of this machine",
		Long: `Facts shows the facts of this machine, all of them or the named ones. With one name
only the value is shown. Nothing is asked of a network, and no program is run. With --target it shows the
facts of that target, as its transport has them; then it connects to the target.

` + factTable(),
		Example: `  mgmt facts
  mgmt facts os_family
  mgmt facts os osrelease -o json
  mgmt facts --programs -o yaml > web1.yaml   # for mgmt validate --facts web1.yaml`,
		ValidArgs: factNames(),
		RunE:      func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	forms(cmd, &f.output, "how to write them", "text")
	factFlags(cmd, &f.roles, &f.hostname)
	a.targetFlag(cmd, &f.target)
	a.typesFlag(cmd)
	cmd.Flags().BoolVar(&f.programs, "programs", false, "list the programs too that backends look for and that are there, for mgmt validate --facts")
	exclude(cmd, "programs", "target")
	return cmd
}

// factFlags adds the flags for the facts that the user chooses: the purposes of the machine, and its name. Each verb
// that reads a graph has both, so that all verbs see the same machine as the daemon does.
// The roles are a fact (roles), and expressions and backends may depend on them.
func factFlags(cmd *cobra.Command, roles *[]string, hostname *string) {
	list := pflag.NewFlagSet("", pflag.ContinueOnError)
	// The flag takes a word as it is. A slice flag of pflag would split it at commas.
	list.StringArrayVar(roles, "role", nil, "")
	bind(cmd, "role", list.Lookup("role").Value)
	bind(cmd, "hostname", hostname)
}

// factType is the type of the facts.
func factType() *schema.Type {
	t, err := schema.Of(&engine.Facts{})
	if err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	return t
}

// factNames are the names of the facts of a machine, for checks and for completion.
// They are those of engine.Facts, in the order of its fields.
func factNames() []string { return factType().Keys() }

// factTable lists the facts in the order in which they are declared.
func factTable() string {
	var lines []string
	for _, f := range factType().Fields {
		lines = append(lines, fmt.Sprintf("  %-15s %s", f.Key, f.Doc))
	}
	return strings.Join(lines, "\n")
}

// run writes the facts of this machine, or of a target over its transport.
// Names are checked before a target is connected to, unless the target's own facts are
// asked for.
func (f *factsFlags) run(ctx context.Context, a *app, names []string) error {
	if f.target != "" {
		all, err := a.targetFacts(ctx, f.target)
		if err != nil {
			return err
		}
		return f.write(a, all, slices.Sorted(maps.Keys(all)), names)
	}
	for _, name := range names {
		if !slices.Contains(factNames(), name) {
			return fmt.Errorf("there is no fact %q%s; mgmt facts shows all", name, meant(name, factNames()))
		}
	}
	facts, err := host.ReadFacts("/", f.hostname, f.roles)
	if err != nil {
		return err
	}
	return f.write(a, facts.Map(), factNames(), names)
}

// write writes those of the facts that are named, or all.
func (f *factsFlags) write(a *app, all map[string]any, known, names []string) error {
	if len(names) == 0 {
		names = known
	}
	chosen := map[string]any{}
	for _, name := range names {
		// A target has the facts of its transport, whose names are not known before.
		if chosen[name] = all[name]; !slices.Contains(known, name) {
			return fmt.Errorf("the target has no fact %q%s", name, meant(name, known))
		}
	}
	if f.programs {
		names = append(slices.Clip(names), programsKey)
		// The engine does not know programs as a fact. They are here for a file of facts alone.
		chosen[programsKey], all[programsKey] = a.sought(), a.sought()
	}
	switch f.output.word {
	case "json":
		return writeJSON(a.out, chosen)
	case "yaml":
		return writeYAML(a.out, chosen)
	}
	for _, name := range names {
		text := factText(all[name])
		if len(names) > 1 {
			text = fmt.Sprintf("%-15s %s", name+":", text)
		}
		if _, err := fmt.Fprintln(a.out, strings.TrimRight(visible(text), " ")); err != nil {
			return err
		}
	}
	return nil
}

// factText writes a fact on one line.
// A list is joined with commas, without brackets.
func factText(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = fmt.Sprint(item)
	}
	return strings.Join(items, ", ")
}
