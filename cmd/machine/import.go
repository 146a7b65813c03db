package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// importFlags are the flags of import, which reads the machine and alters nothing on it.
type importFlags struct {
	log     show.Flags
	backend string
	target  string
}

// NewImport makes the verb import.
// The graph goes to standard output, and notes to standard error.
// It reads with the rights of the user. A thing that only root can see is a failure, which
// standard error tells.
func NewImport(a *cli.App) *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   "import KIND [NAME...]",
		Short: "Generate a graph from the current state of this machine",
		Long: `Import prints a graph that declares every resource of a kind, or the named ones, as it
is now. A plan of that graph shows no change. Comments replace read-only values and
secrets. For a kind with several backends, --backend selects one, for the graph, too.

A named resource that does not exist is declared absent, or left out if the kind cannot
declare that, with a note on standard error.

The exit code is 0 if the graph is complete, and 4 if a resource could not be read, or not
enough of it for a graph that loads: standard error names it, and the graph has the rest.`,
		Example: `  mgmt import file /etc/hosts /etc/resolv.conf > base.yaml
  mgmt plan base.yaml`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeThing(a, cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args[0], args[1:]) },
	}
	f.log.Flags(cmd)
	inputs.BackendFlag(a, cmd, &f.backend, func(args []string) []string { return inputs.BackendsOf(a, args) })
	inputs.TargetFlag(a, cmd, &f.target)
	cli.TypesFlag(a, cmd)
	inputs.MachineFlags(a, cmd)
	cli.GuardFlag(a, cmd)
	return cmd
}

// run writes a graph of the present state. Each resource is loaded again before it is
// written, so the result is a graph that validates.
// An empty result with a failure writes nothing at all, so that no empty graph is taken
// for a finding.
func (f *importFlags) run(ctx context.Context, a *cli.App, kind string, names []string) error {
	see, err := f.look(a, kind, names)
	if err != nil {
		return err
	}
	s := &looking{log: &f.log, a: a}
	out, none := yaml.NewWriter(a.Out), true
	err = s.each(ctx, see, func(seen look.Observation) error {
		if err := f.loads(a, seen.Shown); err != nil {
			s.failed(err)
			// The others are still written, and the exit code tells of it in the end.
			return nil
		}
		if len(names) > 0 {
			f.missing(a, seen.Shown)
		}
		none = false
		return out.Add(seen.Shown)
	})
	// Close writes the end of the graph, or an empty graph where nothing was found.
	if err == nil && (s.code == cli.ExitOK || !none) {
		err = out.Close()
	}
	return s.end(err)
}

// missing notes that there is no such thing. A graph that says so removes the thing later, which a slip in a name must not do without a word.
// A list of all things has none that are missing, so this is for named ones. The verb has not failed: a graph may be meant to keep a
// thing away.
func (f *importFlags) missing(a *cli.App, shown gapi.Shown) {
	graph := ""
	k, err := lookKind(a, shown.Kind)
	if err == nil && shown.Absent {
		graph = "it is left out"
	} else if err == nil {
		key, value := k.Type.Absence()
		if slices.ContainsFunc(shown.Attrs, func(at gapi.ShownAttr) bool { return key != "" && at.Key == key && at.Value == value }) {
			graph = "the graph has it with " + key + ": " + value
		}
	}
	if graph != "" {
		fmt.Fprintf(a.Err, "%s: note: %s is not there: %s\n", a.Program(), render.Visible(schema.Ref{Kind: shown.Kind, Name: shown.Name}.String()), graph)
	}
}

// loads reads the text of a thing again before it is written. The error names
// required parameters that can't be seen: of an archive, its inputs.
// It is the same reading as that of run, so a graph that passes will also be taken.
// Build does no I/O, so nothing on the machine is asked again.
func (f *importFlags) loads(a *cli.App, shown gapi.Shown) error {
	if shown.Absent {
		return nil
	}
	var text bytes.Buffer
	if err := yaml.NewWriter(&text).Add(shown); err != nil {
		return err
	}
	d, err := yaml.Load("-", yaml.Options{}, &text)
	if err == nil {
		_, ds := inputs.Build(a, d)
		if i := slices.IndexFunc(ds, func(d schema.Diagnostic) bool { return d.Severity == schema.Error }); i >= 0 {
			err = errors.New(ds[i].Message)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: not all that it is made of can be seen, and a graph without that does not load: %w",
			schema.Ref{Kind: shown.Kind, Name: shown.Name}, err)
	}
	return nil
}

// look says how to find what is to be imported.
// A name twice would be a graph that does not load, so it is refused before anything is
// read.
func (f *importFlags) look(a *cli.App, kind string, names []string) (func(context.Context, *look.Inspector) observations, error) {
	k, err := lookKind(a, kind)
	switch {
	case err != nil:
		return nil, err
	// A kind without targets would look at this machine, and not at the named one.
	case inputs.Targetable(k, f.target) != nil:
		return nil, inputs.Targetable(k, f.target)
	case len(names) == 0:
		if err := mayList(k); err != nil {
			return nil, err
		}
		return func(ctx context.Context, l *look.Inspector) observations {
			return l.List(ctx, inputs.AnyOf(k.Name, f.backend, f.target))
		}, nil
	}
	if err := mayShow(k); err != nil {
		return nil, err
	}
	var targets []look.Target
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" || seen[name] {
			return nil, fmt.Errorf("the name %q is empty or given twice", name)
		}
		seen[name] = true
		targets = append(targets, look.Target{Declaration: inputs.On(inputs.Asked(gapi.Declaration{Kind: k.Name, Name: name}, f.backend), f.target)})
	}
	return func(ctx context.Context, l *look.Inspector) observations { return l.Read(ctx, targets...) }, nil
}
