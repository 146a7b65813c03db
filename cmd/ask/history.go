package ask

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
)

// NewHistory makes the verb history.
func NewHistory(a *cli.App) *cobra.Command {
	f := &struct {
		remote.Daemon
		color cli.Choice
	}{}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the graphs that took effect",
		Long: `History lists the graphs that took effect on the running daemon, the newest first:
the number of each, when and on whose behalf it took effect, where it came from, and
how many resources it added (+), changed (~) and removed (-). The daemon keeps the
last 100, also over restarts. A * marks the graph that a rollback has pinned.

mgmt diff shows how two of them differ, and mgmt rollback returns to one. For what the
resources did, see mgmt log.`,
		Example: `  mgmt history`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := f.Client().Graphs(cmd.Context())
			if err != nil {
				return remote.Explained(err)
			}
			return f.Output.Write(a.Out, list, func(w io.Writer) error { return historyText(w, cli.StyleOf(f.color, a), list) })
		},
	}
	f.Flags(cmd, control.GraphList{})
	cli.ColorFlag(cmd, &f.color)
	return cmd
}

func historyText(w io.Writer, s render.Style, list *control.GraphList) error {
	t := render.Table{{"NUMBER", "TIME", "RESOURCES", "CHANGES", "BY", "SOURCE"}}
	for i, g := range list.Graphs {
		number, source := strconv.Itoa(g.Number), render.OneLine(cmp.Or(g.Path, "-"))
		if g.Rollback != 0 {
			source = fmt.Sprintf("rollback to %d", g.Rollback)
			if list.Pinned != nil && i == 0 {
				number += "*"
			}
		}
		if g.Reason != "" {
			source += ": " + render.OneLine(g.Reason)
		}
		t.Row(number, s.Moment(g.At), g.Resources, fmt.Sprintf("+%d ~%d -%d", g.Added, g.Changed, g.Removed), render.OneLine(cmp.Or(g.By, "-")), source)
	}
	if len(list.Graphs) > 0 {
		return t.Write(w)
	}
	_, err := fmt.Fprintln(w, "no graph is kept yet")
	return err
}

// NewDiff makes the verb diff.
func NewDiff(a *cli.App) *cobra.Command {
	f := &struct {
		remote.Daemon
		color cli.Choice
	}{}
	cmd := &cobra.Command{
		Use:   "diff N [M]",
		Short: "Show how two graphs that took effect differ",
		Long: `Diff shows which resources the graph M has, has not, or declares in another way than
the graph N. Without M it is the newest one. Mgmt history lists the numbers. Secrets
are not shown.

Only root and the daemon's user may do this.`,
		Example: `  mgmt diff 3
  mgmt diff 3 5`,
		Args: numbers(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := 0
			if len(args) == 2 {
				to, _ = strconv.Atoi(args[1])
			}
			from, _ := strconv.Atoi(args[0])
			d, err := f.Client().Difference(cmd.Context(), from, to)
			if err != nil {
				return remote.Explained(err)
			}
			return f.Output.Write(a.Out, d, func(w io.Writer) error { return diffText(w, cli.StyleOf(f.color, a), d) })
		},
	}
	f.Flags(cmd, control.GraphDiff{})
	cli.ColorFlag(cmd, &f.color)
	return cmd
}

// numbers checks that the arguments are numbers of graphs.
func numbers(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("write mgmt %s: mgmt history lists the numbers", cmd.Use)
		}
		for _, arg := range args {
			if n, err := strconv.Atoi(arg); err != nil || n < 1 {
				return fmt.Errorf("%q is not the number of a graph: mgmt history lists them", arg)
			}
		}
		return nil
	}
}

func diffText(w io.Writer, s render.Style, d *control.GraphDiff) error {
	var b strings.Builder
	for _, r := range d.Resources {
		fmt.Fprintf(&b, "%s%s\n", s.Name(render.Visible(r.Resource)), map[engine.Verb]string{engine.Created: " is new", engine.Deleted: " is gone"}[r.Verb])
		if r.Verb != engine.Updated {
			continue
		}
		render.WriteChanges(&b, s, r.Changes)
	}
	if len(d.Resources) == 0 {
		fmt.Fprintf(&b, "graph %d and graph %d declare the same\n", d.From, d.To)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// NewRollback makes the verb rollback.
func NewRollback(a *cli.App) *cobra.Command {
	f := &struct {
		verdictFlags
		reason string
	}{}
	cmd := &cobra.Command{
		Use:   "rollback N",
		Short: "Return to an earlier graph, and stay there",
		Long: `Rollback puts the graph N of mgmt history into effect again, with the values that it
had then. The graph file stays as it is. The daemon stays with the graph N, also over
restarts, until the file, or whatever the graph comes from, has another graph, or until
mgmt resume. What the resources did beyond their declarations is not undone.

The exit codes, and --wait, are those of mgmt apply. Only root and the daemon's user
may do this.`,
		Example: `  mgmt rollback 3 --reason 'the new pool is too small'
  mgmt rollback 3 --wait
  mgmt resume                     # back to the graph file`,
		Args: numbers(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, _ := strconv.Atoi(args[0])
			v, err := f.Client().Rollback(cmd.Context(), control.RollbackRequest{Number: n, Reason: f.reason})
			return f.end(cmd.Context(), a, v, err)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "reason for the rollback, a `text` for the history")
	return cmd
}

// NewUndo makes the verb undo.
func NewUndo(a *cli.App) *cobra.Command {
	f := &struct {
		verdictFlags
		since       cli.Seconds
		dryRun, yes bool
		reason      string
	}{}
	cmd := &cobra.Command{
		Use:   "undo {RUN | SELECTION | --since TIME}",
		Short: "Undo changes, and keep them undone",
		Long: `Undo brings back the state from before a change that the running daemon has made. It
says first what it undoes, and what can't be undone and why, and asks on a terminal;
elsewhere --yes answers.

Of selected resources it undoes the last change, or with --since all of that time. With
--since alone it undoes all changes of that time, of all resources. RUN is the number
of a run of this daemon, as mgmt log -o json has it: it undoes what that run, and later
ones of its resource, have changed.

What was undone stays so, also over restarts, until the graph file, or whatever the
graph comes from, has another graph, or until mgmt resume. An undo is a change as
others are: it can wait for an approval, it is in the log, and it can be undone.

The exit codes, and --wait, are those of mgmt apply. Only root and the daemon's user
may do this.

` + cli.SelectionHelp,
		Example: `  mgmt undo --since 10m --dry-run
  mgmt undo 'file[/etc/nginx/*]' --since 1h --reason 'the site is down'
  mgmt undo 4711 --yes
  mgmt resume 'file[/etc/nginx/nginx.conf]'   # as the graph says again`,
		Args:              resourceArg(0),
		ValidArgsFunction: f.CompleteResource,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := control.UndoRequest{Since: time.Duration(f.since).Seconds(), DryRun: true, Reason: f.reason}
			switch {
			case len(args) == 1 && isNumber(args[0]):
				n, err := strconv.ParseUint(args[0], 10, 64)
				if err != nil || f.since != 0 {
					return errors.New("a run says by itself since when to undo: leave --since out")
				}
				req.Run = n
			case len(args) == 1:
				req.Resource = args[0]
			case f.since == 0:
				return errors.New("say what to undo: a run, resources, or a time, as in mgmt undo --since 10m")
			}
			ctx := cmd.Context()
			plan, err := f.Client().Undo(ctx, req)
			if err != nil {
				return remote.Explained(err)
			}
			s := cli.StyleOf(f.color, a)
			if f.dryRun || len(plan.Undo) == 0 {
				return f.Output.Write(a.Out, plan, func(w io.Writer) error { return undoText(w, s, plan) })
			}
			if !f.yes {
				if err := undoText(a.Err, s, plan); err != nil {
					return err
				}
				if err := cli.Confirm(a, false, "Undo this?"); err != nil {
					return err
				}
			}
			req.DryRun = false
			if plan, err = f.Client().Undo(ctx, req); err != nil {
				return remote.Explained(err)
			}
			if f.yes && !f.Output.Document() {
				if err := undoText(a.Out, s, plan); err != nil {
					return err
				}
			}
			if plan.Verdict == nil {
				return nil
			}
			return f.end(ctx, a, plan.Verdict, nil)
		},
	}
	f.flags(cmd, control.UndoPlan{})
	fl := cmd.Flags()
	fl.Var(&f.since, "since", "undo all changes of this `time` until now")
	fl.BoolVar(&f.dryRun, "dry-run", false, "only say what would be undone, and what can't be")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.StringVar(&f.reason, "reason", "", "reason for the undo, a `text` for status")
	return cmd
}

// undoText says what an undo does, and what it can't.
func undoText(w io.Writer, s render.Style, plan *control.UndoPlan) error {
	var b strings.Builder
	for _, u := range plan.Undo {
		fmt.Fprintf(&b, "%s goes back to its state of %s", s.Name(render.Visible(u.Resource)), s.Moment(u.Before))
		if u.Changes > 1 {
			fmt.Fprintf(&b, ", %d changes ago", u.Changes)
		}
		b.WriteString("\n")
	}
	for _, c := range plan.Cannot {
		fmt.Fprintf(&b, "%s %s: %s\n", s.Name(render.Visible(c.Resource)), s.Paint(render.Yellow, "can't be undone"), render.Visible(c.Why))
	}
	if len(plan.Undo) == 0 {
		b.WriteString("there is nothing to undo\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
