package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// whyFlags are the flags of why.
// n is how many runs are shown, from 1 to mostRuns; 3 by default.
type whyFlags struct {
	remote.Daemon
	color cli.Choice
	// n counts the runs themselves, and not the runs behind them.
	n int
}

// NewWhy makes the verb why.
// It shows a resource also after it has left the graph, as long as the history has it.
// It ends with 1 where neither a daemon nor a history knows the resource.
func NewWhy(a *cli.App) *cobra.Command {
	f := &whyFlags{}
	cmd := &cobra.Command{
		Use:   "why SELECTION",
		Short: "Show why a resource ran last, and what it changed",
		Long: `Why shows the last runs of each selected resource, newest first, with the changes
and the cause of each run. The cause is an event (with its file or bus, and how many
events were combined), a new graph, time, the end of a pause, or another resource
that notified this one or sent it a value, followed by its own cause.

A change is intended if the graph asks for something new, corrective if the machine
has drifted, and cascade if another resource caused it.

If no daemon answers, why reads the history that the last one left in the state
folder, and says so.

` + cli.SelectionHelp + `
With -o json, each resource is a document of its own.`,
		Example: `  mgmt why 'file[/etc/motd]'
  mgmt why state:failed
  mgmt why 'exec[restart]' -n 10
  mgmt why 'file[/etc/motd]' -o json`,
		Args:              resourceArg(1),
		ValidArgsFunction: f.CompleteResource,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args[0]) },
	}
	f.Flags(cmd, control.Why{})
	cmd.Flags().IntVarP(&f.n, "number", "n", 3, "number of runs to show")
	cli.ColorFlag(cmd, &f.color)
	return cmd
}

// resourceArg wants one resource, or with least 0 at most one.
// It judges the number of words alone: the daemon decides whether there is such a resource.
func resourceArg(least int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("missing resource, write: %s kind[name]", cmd.CommandPath())
		case len(args) > 1:
			return fmt.Errorf("unexpected argument %q: write one selection, with commas for several resources, and in quotes where it has * or &", args[1])
		case len(args) == 1 && args[0] == "":
			return fmt.Errorf("empty resource name, write: %s kind[name]", cmd.CommandPath()) // of a script's unset variable: not everything is meant
		default:
			return nil
		}
	}
}

// unknown adds to the daemon's error about a resource how one is written, where
// the word is not so and nothing like it is in the graph.
// Other errors pass with the explanation that all verbs give.
func unknown(err error, word string) error {
	e, ok := errors.AsType[*control.Error](err)
	if _, bad := schema.ParseRef(word); ok && bad != nil && e.Status == http.StatusNotFound && e.Hint == "" {
		return fmt.Errorf("%w; a resource is written 'kind[name]', and mgmt status --all lists them", err)
	}
	return remote.Explained(err)
}

// run asks the daemon, or the history that the last daemon has left.
// Of many selected resources, the first ones are shown.
func (f *whyFlags) run(ctx context.Context, a *cli.App, resource string) error {
	if err := cli.CheckCount(f.n, mostRuns); err != nil {
		return err
	}
	var list []*control.Why
	more := 0
	past, err := f.Ask(a, func(who remote.Answerer) error {
		names, left, err := remote.Picked(ctx, who, resource)
		if err != nil {
			return err
		}
		list, more = nil, left
		for _, name := range names {
			why, err := who.Why(ctx, name, f.n)
			if err != nil {
				return err
			}
			list = append(list, why)
		}
		return nil
	})
	if err != nil {
		return unknown(err, resource)
	}
	var texts strings.Builder
	for i, why := range list {
		write := f.Output.Write
		if i > 0 {
			write = f.Output.Again
		}
		err := write(a.Out, why, func(io.Writer) error {
			if i > 0 {
				texts.WriteByte('\n')
			}
			texts.WriteString(render.WhyText(why, cli.StyleOf(f.color, a), past))
			return nil
		})
		if err != nil {
			return err
		}
	}
	if _, err := io.WriteString(a.Out, texts.String()); err != nil {
		return err
	}
	if more > 0 {
		fmt.Fprintf(a.Err, "and %d more: select fewer to see them\n", more)
	}
	return nil
}
