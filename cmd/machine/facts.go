package machine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// factsFlags are the flags of facts. With a target, the facts are those of another machine.
type factsFlags struct {
	output   cli.Output
	roles    []string
	hostname string
	// With a target, roles and hostname do not count: its own transport tells its facts.
	target   string
	programs bool
}

// NewFacts makes the verb facts. It asks no network and runs no program, so it is safe in
// any script.
func NewFacts(a *cli.App) *cobra.Command {
	f := &factsFlags{}
	cmd := &cobra.Command{
		Use:   "facts [NAME...]",
		Short: "Show the facts of this machine",
		Long: `Facts shows all facts of this machine, or the named ones; with one name, only its value.
It uses no network and runs no program. With --target, it connects to that target and
shows the facts that its transport reports.

` + factTable(),
		Example: `  mgmt facts
  mgmt facts os_family
  mgmt facts os osrelease -o json
  mgmt facts --programs -o yaml > web1.yaml   # for mgmt validate --facts web1.yaml`,
		ValidArgs: inputs.FactNames(),
		RunE:      func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	cli.Forms(cmd, &f.output, "output format", factsJSON{}, "text")
	inputs.FactFlags(cmd, &f.roles, &f.hostname)
	inputs.TargetFlag(a, cmd, &f.target)
	cli.TypesFlag(a, cmd)
	cmd.Flags().BoolVar(&f.programs, "programs", false, "also list the installed programs that backends look for, for mgmt validate --facts")
	cli.Exclude(cmd, "programs", "target")
	return cmd
}

// factsJSON are facts in JSON: those that were asked for. A target has those of its transport, and with --programs the list of them is there.
type factsJSON map[string]any

// JSONSchema implements cli.Described.
func (factsJSON) JSONSchema() map[string]any {
	texts := map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	props := map[string]any{inputs.ProgramsKey: texts}
	for _, f := range inputs.FactType().Fields {
		fact := map[string]any{"type": "string"}
		switch f.Type.Kind {
		case schema.KindBool:
			fact = map[string]any{"type": "boolean"}
		case schema.KindInt, schema.KindSize:
			fact = map[string]any{"type": "integer"}
		case schema.KindList:
			fact = maps.Clone(texts)
		}
		fact["description"] = f.Doc
		props[f.Key] = fact
	}
	return map[string]any{"type": "object", "properties": props}
}

// factTable lists the facts in the order in which they are declared.
func factTable() string {
	var lines []string
	for _, f := range inputs.FactType().Fields {
		lines = append(lines, fmt.Sprintf("  %-15s %s", f.Key, f.Doc))
	}
	return strings.Join(lines, "\n")
}

// run writes the facts of this machine, or of a target over its transport.
// Names are checked before a target is connected to, unless the target's own facts are
// asked for.
func (f *factsFlags) run(ctx context.Context, a *cli.App, names []string) error {
	if f.target != "" {
		all, err := inputs.TargetFacts(ctx, a, f.target)
		if err != nil {
			return err
		}
		return f.write(a, all, slices.Sorted(maps.Keys(all)), names)
	}
	for _, name := range names {
		if !slices.Contains(inputs.FactNames(), name) {
			return fmt.Errorf("there is no fact %q%s; mgmt facts shows all", name, cli.Meant(name, inputs.FactNames()))
		}
	}
	facts, err := host.ReadFacts("/", f.hostname, f.roles)
	if err != nil {
		return err
	}
	return f.write(a, facts.Map(), inputs.FactNames(), names)
}

// write writes those of the facts that are named, or all.
func (f *factsFlags) write(a *cli.App, all map[string]any, known, names []string) error {
	if len(names) == 0 {
		names = known
	}
	chosen := factsJSON{}
	for _, name := range names {
		// A target has the facts of its transport, whose names are not known before.
		if chosen[name] = all[name]; !slices.Contains(known, name) {
			return fmt.Errorf("the target has no fact %q%s", name, cli.Meant(name, known))
		}
	}
	if f.programs {
		names = append(slices.Clip(names), inputs.ProgramsKey)
		// The engine does not know programs as a fact. They are here for a file of facts alone.
		chosen[inputs.ProgramsKey], all[inputs.ProgramsKey] = inputs.Sought(a), inputs.Sought(a)
	}
	return f.output.Write(a.Out, chosen, func(w io.Writer) error {
		for _, name := range names {
			text := factText(all[name])
			if len(names) > 1 {
				text = fmt.Sprintf("%-15s %s", name+":", text)
			}
			if _, err := fmt.Fprintln(w, strings.TrimRight(render.Visible(text), " ")); err != nil {
				return err
			}
		}
		return nil
	})
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
