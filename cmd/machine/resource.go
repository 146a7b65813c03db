package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/manifest"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// resourceFlags are the flags of resource. With noop or watch it alters nothing.
//
// The verb needs no daemon: it looks, or sets, in its own process with the rights of the user.
type resourceFlags struct {
	log    show.Flags
	output cli.Output
	// file is a path, - for standard input, and empty for none.
	file string
	// backend and target are names that the graph of the verb has as a metaparameter and an
	// attribute.
	backend string
	target  string
	noop    bool
	watch   bool
}

// NewResource makes the verb resource.
// The flags that exclude each other are declared here, so that completion leaves them out too.
func NewResource(a *cli.App) *cobra.Command {
	f := &resourceFlags{}
	cmd := &cobra.Command{
		Use:   "resource [KIND [NAME [PARAMETER=VALUE...]]]",
		Short: "Show or set a single resource of this machine",
		Long: `Resource shows the current state of a resource, or of all resources of a kind, or sets
one, without a graph. Without arguments, it lists the kinds that it supports.

A parameter has one of these forms:

  mode=0644          text, read by the type of the parameter; after = it may be empty
  list:='["a"]'      JSON, for lists, maps and null
  list:=@FILE        JSON from a file
  password@FILE      content of a file; @- is standard input. The value is a secret and
                     is never shown. Secret parameters accept only this form.

For a kind with several backends, such as svc, --backend overrides the one that suits
the machine; mgmt interface list shows them.

Resource sets values once; it does not keep them set, and saves no state. It then shows
the result, as text that -f can set again.

The exit code is 0 if something was shown or was already as wanted, 2 if something was
changed (with --noop: would be), 4 if something failed, 6 for both, and 1 for bad usage.`,
		Example: `  mgmt resource                               # the kinds that can be looked at
  mgmt resource file /etc/motd
  mgmt resource file /etc/motd mode=0644 owner=root --noop
  mgmt resource file /etc/app.key content@- < key
  mgmt resource file /etc/motd --watch -o json
  mgmt resource user app --backend files
  mgmt resource file /etc/motd > motd; mgmt resource -f motd`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeResource(a, cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	f.log.Flags(cmd)
	fl := cmd.Flags()
	cli.Forms(cmd, &f.output, "output format", cli.OneOf{observationJSON{}, []observationJSON{}, []lookJSON{}}, "text")
	fl.VarP((*cli.Place)(&f.file), "file", "f", "set the values in this `file`, or - for standard input")
	fl.BoolVar(&f.noop, "noop", false, "show what would change, and change nothing")
	fl.BoolVar(&f.watch, "watch", false, "show the resource again whenever it changes, until interrupted")
	cli.Exclude(cmd, "watch", "noop")
	cli.Exclude(cmd, "watch", "file")
	inputs.BackendFlag(a, cmd, &f.backend, func(args []string) []string { return inputs.BackendsOf(a, args) })
	inputs.TargetFlag(a, cmd, &f.target)
	cli.TypesFlag(a, cmd)
	inputs.MachineFlags(a, cmd)
	cli.GuardFlag(a, cmd)
	return cmd
}

// run lists, shows, sets or follows, by the number of arguments and the flags.
// A text of -f sets several things, an argument with parameters sets one. The declaration is read
// before the machine is touched.
func (f *resourceFlags) run(ctx context.Context, a *cli.App, args []string) error {
	if err := f.check(a, args); err != nil {
		return err
	}
	if f.file != "" {
		targets, err := f.read(a, args)
		if err != nil {
			return f.log.Diagnose(a, err)
		}
		return f.set(ctx, a, targets)
	}
	if len(args) == 0 {
		return f.kinds(a)
	}
	k, err := lookKind(a, args[0])
	if err == nil {
		err = inputs.Targetable(k, f.target)
	}
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if err := mayList(k); err != nil {
			return err
		}
		return f.list(ctx, a, k)
	}
	if err := mayShow(k); err != nil {
		return err
	}
	t, err := readTarget(a, k, args[1], args[2:])
	t.Declaration = inputs.On(inputs.Asked(t.Declaration, f.backend), f.target)
	switch {
	case err != nil:
		return err
	case f.watch:
		return f.follow(ctx, a, t)
	case len(args) > 2:
		return f.set(ctx, a, []look.Target{t})
	}
	return f.show(ctx, a, []look.Target{t}, 0)
}

// check refuses flags that mean nothing with so many arguments.
// The errors are usage errors: nothing has been read or altered by then.
func (f *resourceFlags) check(a *cli.App, args []string) error {
	switch {
	case f.backend != "" && f.file == "" && len(args) == 0:
		return fmt.Errorf("--backend needs a kind that backends do: %s interface list has them", a.Program())
	case f.target != "" && len(args) == 0:
		return errors.New("--target needs a kind; in a text that -f names, target is an attribute")
	case f.watch && len(args) < 2:
		return errors.New("--watch needs a kind and the name of one thing")
	case f.watch && len(args) > 2:
		return errors.New("--watch only looks: set the parameters first, then watch")
	case f.noop && f.file == "" && len(args) < 3:
		return errors.New("--noop says what setting something would change, and nothing is to be set: name a kind, a thing and its parameters")
	}
	return nil
}

// lookKind returns a kind that can be looked at. The case of the name does not matter. A kind that
// is neither readable nor listable is an error, which names the other ways.
// The error of an unknown name has a near one, where there is such a name.
func lookKind(a *cli.App, name string) (engine.Kind, error) {
	k, err := a.Kinds().Kind(strings.ToLower(name))
	if err != nil {
		return k, fmt.Errorf("%w; %s resource lists the kinds that can be looked at", err, a.Program())
	}
	if !k.Abilities.Readable && !k.Abilities.Listable {
		return k, fmt.Errorf("of the kind %[1]s there is nothing to look at: put it into a graph, and %[2]s plan says what it would do; "+
			"%[2]s resource lists the kinds that can be looked at", k.Name, a.Program())
	}
	return k, nil
}

// mayShow refuses a kind without any thing to look at.
func mayShow(k engine.Kind) error {
	if k.Abilities.Readable {
		return nil
	}
	return fmt.Errorf("of the kind %s, one thing alone can't be looked at: mgmt resource %s lists all", k.Name, k.Name)
}

// mayList refuses a kind whose things can't be found.
func mayList(k engine.Kind) error {
	if k.Abilities.Listable {
		return nil
	}
	return fmt.Errorf("not all things of the kind %s can be listed: name one, as in mgmt resource %s NAME", k.Name, k.Name)
}

// read reads the text of -f. If other users can write its file, root refuses it, as it refuses a
// graph. The first fault of the syntax is the only one. Faults of kinds are returned together,
// with their places. The targets are sorted by kind, and keep their order within one, as the writer
// of YAML needs it.
func (f *resourceFlags) read(a *cli.App, args []string) ([]look.Target, error) {
	if len(args) > 1 {
		return nil, fmt.Errorf("unexpected argument %q: with -f, the text says what to set", args[1])
	}
	text, err := cli.ReadSource(a, f.file, a.Source()) // it says what to do, as a graph does
	if err != nil {
		return nil, err
	}
	list, err := manifest.Parse(f.file, string(text))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s sets nothing", f.file)
	}
	var targets []look.Target
	var wrong schema.Diagnostics
	for _, d := range list {
		k, err := lookKind(a, d.Kind)
		if err == nil {
			err = mayShow(k)
		}
		switch {
		case err != nil:
			wrong.Errorf(d.KindPos, "%v", err)
		case len(args) > 0 && !strings.EqualFold(args[0], k.Name):
			wrong.Errorf(d.KindPos, "this is a %s, not a %s", k.Name, args[0])
		}
		targets = append(targets, look.Target{Declaration: inputs.Asked(dollar(d), f.backend)})
	}
	sorted.Stable(targets, func(x, y look.Target) int { return strings.Compare(x.Kind, y.Kind) })
	return targets, wrong.Err()
}
