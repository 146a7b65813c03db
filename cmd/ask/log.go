package ask

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
)

// The events that the daemon tells at once; see docs/objects.md.
const (
	// mostEvents is for log, and mostRuns for why.
	mostEvents = 1000
	mostRuns   = 100
)

// logVerb has the flags of log. The times are texts that only the reading of them judges.
type logVerb struct {
	remote.Daemon
	color    cli.Choice
	resource string
	outcomes []string
	// since is inclusive and until is not, as help says.
	since, until string
	n            int
}

// NewLog makes the verb log.
// It shows 100 events if nothing else is said.
func NewLog(a *cli.App) *cobra.Command {
	f := &logVerb{}
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show past events",
		Long: `Log shows the running daemon's history, newest last: changes and their reasons,
failures, and graphs that took effect, even before its last start. Runs that had
nothing to do are not recorded. If no daemon answers, log reads the history that
the last one left in the state folder, and says so.

A time is a duration before now (2h), a date (2026-01-02), or a date and time
(2026-01-02T15:04:05).

` + cli.SelectionHelp,
		Example: `  mgmt log --since 2h
  mgmt log --resource 'file[/etc/motd]' -n 5
  mgmt log --resource 'file[/etc/nginx/*],svc[nginx]' --outcome failed
  mgmt log --outcome failed -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.Flags(cmd, control.Log{})
	fl := cmd.Flags()
	fl.StringVar(&f.resource, "resource", "", "show only events of resources in this `selection`")
	outcomeFlag(cmd, &f.outcomes)
	fl.StringVar(&f.since, "since", "", "show only events at or after this `time`")
	fl.StringVar(&f.until, "until", "", "show only events before this `time`")
	fl.IntVarP(&f.n, "number", "n", 100, fmt.Sprintf("number of events to show, at most %d", mostEvents))
	cli.ColorFlag(cmd, &f.color)
	_ = cmd.RegisterFlagCompletionFunc("resource", f.CompleteResource)
	return cmd
}

// when reads a time that a flag gives.
// A duration counts back from now; a date without a time is its first moment here, in
// local time.
// The zero time stands for an empty text, which means no bound.
// A negative duration is refused, since it would lie ahead.
func when(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateTime} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s=%s is not a time, write 2h, 2026-01-02 or 2026-01-02T15:04:05", flag, text)
}

// run asks the daemon, or reads the history that the last daemon has left. It says which
// of them it was.
func (f *logVerb) run(ctx context.Context, a *cli.App) error {
	if err := cli.CheckCount(f.n, mostEvents); err != nil {
		return err
	}
	// Both times count from one moment, so that a span has the wanted length.
	now := time.Now()
	since, err := when("since", f.since, now)
	if err != nil {
		return err
	}
	until, err := when("until", f.until, now)
	if err != nil {
		return err
	}
	q := control.Query{Resource: f.resource, Outcomes: outcomesOf(f.outcomes), Since: since, Until: until, Limit: f.n}
	var list *control.Log
	_, err = f.Ask(a, func(who remote.Answerer) (err error) {
		list, err = who.Log(ctx, q)
		return err
	})
	if err != nil {
		return remote.Explained(err)
	}
	return f.Output.Write(a.Out, list, func(w io.Writer) error {
		s := cli.StyleOf(f.color, a)
		for _, e := range list.Events {
			if _, err := fmt.Fprintln(w, render.EventText(e, s)); err != nil {
				return err
			}
		}
		// The note goes to standard error: the events alone are the result.
		if list.More {
			fmt.Fprintf(a.Err, "there are older ones: -n %d shows more\n", min(10*f.n, mostEvents))
		}
		return nil
	})
}
