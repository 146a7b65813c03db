package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

type importFlags struct {
	log     logFlags
	backend string
}

func newImport(a *app) *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   "import KIND [NAME...]",
		Short: "Write a graph of things as they are on this machine",
		Long: `Import looks at the things of a kind, or at those that are named, and writes a graph
in which each is declared as it is now. Planning that graph shows no change. What can
only be read, and what is secret, is left out; a comment says so. Of a kind that several
backends do, --backend names the one that looks; the graph asks for it, too.

It ends with code 0 when all was written, 4 when something could not be seen: standard
error says what, and the graph has the rest.`,
		Example: `  mgmt import file /etc/hosts /etc/resolv.conf > base.yaml
  mgmt plan --yaml base.yaml`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeThing,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args[0], args[1:]) },
	}
	f.log.flags(cmd)
	a.backendFlag(cmd, &f.backend, a.backendsOf)
	a.typesFlag(cmd)
	a.machineFlags(cmd)
	return cmd
}

func (f *importFlags) run(ctx context.Context, a *app, kind string, names []string) error {
	look, err := f.look(a, kind, names)
	if err != nil {
		return err
	}
	s := &looking{log: &f.log, a: a}
	out := yaml.NewWriter(a.out)
	err = s.each(ctx, look, func(sight mgmt.Sight) error { return out.Add(sight.Shown) })
	if err == nil {
		err = out.Close()
	}
	return s.end(err)
}

// look says how to find what is to be imported.
func (f *importFlags) look(a *app, kind string, names []string) (func(context.Context, *mgmt.Looker) sights, error) {
	k, err := a.lookKind(kind)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		if err := mayList(k); err != nil {
			return nil, err
		}
		return func(ctx context.Context, l *mgmt.Looker) sights { return l.List(ctx, anyOf(k.Name, f.backend)) }, nil
	}
	if err := mayShow(k); err != nil {
		return nil, err
	}
	var targets []mgmt.Target
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" || seen[name] {
			return nil, fmt.Errorf("the name %q is empty or given twice", name)
		}
		seen[name] = true
		targets = append(targets, mgmt.Target{Declaration: asked(gapi.Declaration{Kind: k.Name, Name: name}, f.backend)})
	}
	return func(ctx context.Context, l *mgmt.Looker) sights { return l.Read(ctx, targets...) }, nil
}
