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
	w := &whyWriter{style: cli.StyleOf(f.color, a), past: past}
	for i, why := range list {
		write := f.Output.Write
		if i > 0 {
			write = f.Output.Again
		}
		err := write(a.Out, why, func(io.Writer) error {
			if i > 0 {
				w.line(0, "")
			}
			w.all(why)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if _, err := a.Out.Write([]byte(w.String())); err != nil {
		return err
	}
	if more > 0 {
		fmt.Fprintf(a.Err, "and %d more: select fewer to see them\n", more)
	}
	return nil
}

// whyWriter writes runs and their causes for people.
// It is a buffer, so its methods return no errors. Each level is indented by two blanks.
type whyWriter struct {
	strings.Builder
	style render.Style
	past  bool // no daemon runs
}

// line writes an indented line.
func (w *whyWriter) line(depth int, text string) {
	w.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// all writes the state of a resource and its runs, the newest first. A resource without runs gets
// a line that says so.
func (w *whyWriter) all(why *control.Why) {
	head := w.style.Name(render.Visible(why.Resource)) + " is no longer in the graph"
	switch {
	case w.past:
		head = w.style.Name(render.Visible(why.Resource)) + ", as the last daemon has left it"
	case why.Status != nil:
		head = w.style.Name(render.Visible(why.Resource)) + " " + standText(why.Status, w.style)
	}
	if why.Member != "" {
		head += ", and runs for " + render.Visible(why.Member)
	}
	w.line(0, head)
	if len(why.Runs) == 0 {
		w.line(0, "no run of it is known: it has not run yet, or long ago with nothing to do")
	}
	for _, e := range why.Runs {
		w.line(0, "")
		w.event(0, e)
	}
}

// event writes one event, its changes, and its causes. A cause that is an event itself is written
// below, with its own causes.
func (w *whyWriter) event(depth int, e *control.Event) {
	// An event without a run is a graph, a pause or a start, and has no changes.
	if e.Run == 0 {
		w.line(depth, render.EventText(e, w.style))
		return
	}
	text := w.style.Dim(w.style.Moment(e.At)) + " " + w.style.Name(render.Visible(e.Resource)) + " " + render.RunText(e, w.style)
	if e.Seconds > 0 {
		text += w.style.Dim(" in " + render.RoundTime(render.SpanOf(e.Seconds)).String())
	}
	w.line(depth, text)
	for i := range e.Changes {
		w.change(depth+1, &e.Changes[i])
	}
	// The daemon bounds how deep the causes go, so the recursion ends.
	for i := range e.Triggers {
		t := &e.Triggers[i]
		w.line(depth+1, "because "+render.CauseText(t, e))
		if t.By != nil {
			w.event(depth+2, t.By)
		}
	}
}

// change writes one change, with a diff below it for texts of several lines.
// The diff has the form that the verb plan gives it.
func (w *whyWriter) change(depth int, c *control.Change) {
	change := render.ChangeOf(c)
	w.line(depth, w.style.Paint(render.Yellow, render.ChangeLine(change)))
	from, to, ok := render.Texts(change)
	if !ok {
		return
	}
	var diff strings.Builder
	render.WriteDiff(&diff, w.style, from, to)
	for line := range strings.Lines(diff.String()) {
		w.WriteString(strings.Repeat("  ", depth) + line)
	}
}
