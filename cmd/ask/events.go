package ask

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
)

// eventsFlags are the flags of events. since is a number of the daemon; 0 for the next event.
type eventsFlags struct {
	remote.Daemon
	color cli.Choice
	// since is the id of an event; 0 begins with the oldest event that the daemon keeps.
	since    uint64
	resource string
	outcomes []string
}

// NewEvents makes the verb events. Without --since it begins with the next event.
// The numbers go on over a restart of the daemon, so a script can store the last one.
func NewEvents(a *cli.App) *cobra.Command {
	f := &eventsFlags{}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Stream events as they happen",
		Long: `Events shows the running daemon's events, such as changes, failures and new
graphs, as they happen, until the daemon exits. Each event has a number (the id
with -o json). With --since, the stream starts after that event, even if the
daemon has restarted since.

` + cli.SelectionHelp + `
Modules, labels and states are taken when events starts.`,
		Example: `  mgmt events
  mgmt events --outcome changed,failed
  mgmt events -o json --since 4711`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var after *uint64
			if cmd.Flags().Changed("since") {
				after = &f.since
			}
			return f.run(cmd.Context(), a, after)
		},
	}
	f.Flags(cmd, control.Event{})
	fl := cmd.Flags()
	fl.Uint64Var(&f.since, "since", 0, "start after the event with this `id`; 0 is before the oldest one kept")
	fl.StringVar(&f.resource, "resource", "", "show only events of resources in this `selection`")
	outcomeFlag(cmd, &f.outcomes)
	cli.ColorFlag(cmd, &f.color)
	_ = cmd.RegisterFlagCompletionFunc("resource", f.CompleteResource)
	return cmd
}

// outcomeFlag adds a flag that takes words for events.
// The help lists all words of the daemon.
func outcomeFlag(cmd *cobra.Command, list *[]string) {
	var words []string
	for _, o := range control.Outcomes() {
		words = append(words, string(o))
	}
	cmd.Flags().StringSliceVar(list, "outcome", nil, "show only events of these `kinds`: "+cli.OrList(words))
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// outcomesOf turns words into outcomes; the flags have checked them.
func outcomesOf(words []string) []control.Outcome {
	var list []control.Outcome
	for _, w := range words {
		list = append(list, control.Outcome(w))
	}
	return list
}

// run writes events until the daemon ends or the user interrupts. Where the daemon ends it
// tells the number to go on from.
// Each event is written as it comes, in JSON on a line of its own.
// The daemon keeps a bounded history and a bounded queue for each reader. An event of the kind
// dropped tells what is missing.
func (f *eventsFlags) run(ctx context.Context, a *cli.App, after *uint64) error {
	s, last := cli.StyleOf(f.color, a), uint64(0)
	q := control.Query{Resource: f.resource, Outcomes: outcomesOf(f.outcomes)}
	for e, err := range f.Client().Events(ctx, q, after) {
		switch {
		// The code is 1, so that a script that follows a daemon can tell the end of it from its own
		// interruption.
		case errors.Is(err, control.ErrEnded) && last > 0:
			return fmt.Errorf("%w; to continue: mgmt events --since %d", err, last)
		case err != nil:
			return remote.Explained(err)
		}
		err = f.Output.Item(a.Out, e, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, render.EventText(e, s))
			return err
		})
		if err != nil {
			return err
		}
		// An event that only memory knows has the id 0.
		last = max(last, e.ID)
	}
	return nil
}
