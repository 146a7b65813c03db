package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// statusFlags are the flags of status. Apply uses them, too, for its wait: the same words mean
// the same there.
type statusFlags struct {
	remote.Daemon
	color  cli.Choice
	all    bool
	states []string
	// selects is empty for the resources that are not ok.
	selects string
	watch   bool
	// wait is empty or converged. timeout bounds it, one minute by default, and has no meaning
	// without it.
	wait    string
	timeout cli.Seconds
	// exitCode ends with the code of the answer. Without it, an answer ends with code 0, unless a
	// wait was in vain.
	exitCode bool
	dump     bool
}

// NewStatus makes the verb status.
// The dump is for people who look for a fault, so no other flag goes with it.
func NewStatus(a *cli.App) *cobra.Command {
	f := &statusFlags{timeout: cli.Seconds(time.Minute)}
	cmd := &cobra.Command{
		Use:   "status [SELECTION]",
		Short: "Show the status of the running daemon and its resources",
		Long: `Status counts the running daemon's resources by state, and lists each one that is
not ok with its error and next retry, the resource that blocks it, or its pause.
With a selection, it lists and counts the selected resources; --state limits them
by state. A resource that is being retried or checked is listed in its last
settled state. An ok resource that is being changed is not settled.

With --wait=converged, status waits until the graph has settled, even if the daemon
is still starting, and exits with code 5 on timeout.

With --exit-code, status exits as run does: 0 everything is as declared, 2 something
would change or is held, 4 something failed or is blocked, 6 for both, 1 the newest
graph was refused, 5 something has not settled yet. State that was lost with the
state folder counts as failed. With a selection, only the selected resources count.
The selection is evaluated at each look, so with --watch it may match nothing for a
while.

` + cli.SelectionHelp + `

With --dump, status shows what each unsettled resource is doing or waiting for. Use
it if the daemon seems stuck.`,
		Example: `  mgmt status
  mgmt status 'file[/etc/nginx/*]' --state failed
  mgmt status --watch
  mgmt status --wait converged --timeout 5m --exit-code
  mgmt status -o json --all | jq '.resources[] | select(.changes > 0)'`,
		Args:              resourceArg(0),
		ValidArgsFunction: f.CompleteResource,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.selects = strings.Join(args, "") // there is one at most
			return f.run(cmd.Context(), a)
		},
	}
	f.Flags(cmd, control.Status{})
	fl := cmd.Flags()
	fl.BoolVar(&f.all, "all", false, "list every resource, even if it is ok or there are many")
	fl.StringSliceVar(&f.states, "state", nil, "list the resources in these `states`")
	fl.BoolVar(&f.watch, "watch", false, "keep showing the status; without a terminal, only when it changes")
	fl.StringVar(&f.wait, "wait", "", "wait until the graph is in this `state`: converged")
	fl.Var(&f.timeout, "timeout", "maximum time to wait")
	fl.BoolVar(&f.exitCode, "exit-code", false, "report the status as the exit code")
	fl.BoolVar(&f.dump, "dump", false, "show what each unsettled resource is doing or waiting for")
	cli.ColorFlag(cmd, &f.color)
	_ = cmd.RegisterFlagCompletionFunc("wait", cobra.FixedCompletions([]string{"converged"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(selection.States(), cobra.ShellCompDirectiveNoFileComp))
	cli.Exclude(cmd, "watch", "wait")
	cli.Exclude(cmd, "watch", "exit-code")
	cli.Exclude(cmd, "all", "state")
	for _, other := range []string{"all", "state", "watch", "wait", "exit-code"} {
		cli.Exclude(cmd, "dump", other)
	}
	return cmd
}

// run asks for the state, and waits for convergence where it is told to. With --exit-code
// the code says how it stands.
// Wrong words are refused before the daemon is asked. A wait that runs out ends with ExitTime, and
// the state is written all the same.
func (f *statusFlags) run(ctx context.Context, a *cli.App) error {
	if f.wait != "" && f.wait != "converged" {
		return fmt.Errorf("--wait=%s: write --wait=converged", f.wait)
	}
	for _, word := range f.states {
		if !slices.Contains(selection.States(), word) {
			return fmt.Errorf("--state=%s: write %s%s", word, cli.OrList(selection.States()), cli.Meant(word, selection.States()))
		}
	}
	if f.dump && f.selects != "" {
		return errors.New("--dump covers all resources: omit the selection")
	}
	if f.dump {
		return remote.Explained(f.writeDump(ctx, a))
	}
	if f.watch {
		return remote.Explained(f.follow(ctx, a))
	}
	st, err := f.ask(ctx)
	if err != nil {
		// The time was over before a daemon answered. That is the code of a wait, and not that of
		// a wrong use.
		if f.wait != "" && isStarting(err) {
			return cli.WithCode(cli.ExitTime, fmt.Errorf("after %s: %w", time.Duration(f.timeout), remote.Explained(err)))
		}
		return unknown(err, f.selects)
	}
	if st.Converged && st.Selected != nil && st.Selected.None != "" {
		return unknown(&control.Error{Status: http.StatusNotFound, Text: st.Selected.None}, f.selects)
	}
	if err := f.write(a, st); err != nil {
		return err
	}
	switch {
	case f.wait != "" && !st.Converged:
		return cli.WithCode(cli.ExitTime, fmt.Errorf("not converged after %s", time.Duration(f.timeout)))
	case f.exitCode && st.Selected != nil:
		return cli.WithCode(st.Selected.ExitCode, nil)
	case f.exitCode:
		return cli.WithCode(st.Code(), nil)
	default:
		return nil
	}
}

// writeDump writes the daemon's own words.
// It asks once and does not wait. Control characters of names are made visible.
func (f *statusFlags) writeDump(ctx context.Context, a *cli.App) error {
	if f.Output.Document() {
		return errors.New("--dump writes text only: omit -o " + f.Output.Form())
	}
	dump, err := f.Client().Dump(ctx)
	if err != nil {
		return err
	}
	for line := range strings.Lines(dump) {
		if _, err := fmt.Fprintln(a.Out, render.Visible(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// query is the request of the flags.
// Without words of states the daemon chooses: each resource that is not ok. What a selection has may come later, and go.
func (f *statusFlags) query() control.StatusQuery {
	return control.StatusQuery{States: f.states, All: f.all, Select: f.selects, Empty: f.watch || f.wait != ""}
}

// ask asks once, or until the graph has converged or the time is over.
// Each request waits in the daemon for at most 30 s, and a daemon that is starting is
// asked again every 50 ms. An error other than that ends the wait.
func (f *statusFlags) ask(ctx context.Context) (*control.Status, error) {
	c, q := f.Client(), f.query()
	if f.wait == "" {
		return c.Status(ctx, q)
	}
	for end := time.Now().Add(time.Duration(f.timeout)); ; {
		left := time.Until(end)
		q.Wait = min(max(left, 0), cli.OneWait)
		st, err := c.Status(ctx, q)
		// At the end of the time the last answer counts, so the user sees how things stand.
		if err == nil && (st.Converged || left <= 0) {
			return st, nil
		}
		if err != nil && (left <= 0 || !isStarting(err)) {
			return nil, err
		}
		select {
		case <-time.After(min(cli.RetryEvery, max(left, 0))):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// isStarting reports whether a daemon may answer later: there is none, or it has just come or
// gone. The status 503 is that of a daemon without an engine at this moment.
func isStarting(err error) bool {
	if e, ok := errors.AsType[*control.Error](err); ok {
		return e.Status == http.StatusServiceUnavailable
	}
	_, none := errors.AsType[*control.NoDaemonError](err)
	return none
}

// write writes the answer.
func (f *statusFlags) write(a *cli.App, st *control.Status) error {
	return f.Output.Write(a.Out, st, func(w io.Writer) error { return f.writeText(a, w, st) })
}

func (f *statusFlags) writeText(a *cli.App, w io.Writer, st *control.Status) error {
	_, err := io.WriteString(w, f.text(st, cli.StyleOf(f.color, a), time.Now()))
	return err
}

// follow shows the status again and again: on a terminal in place, elsewhere as
// often as it says something else.
// It asks once a second, and ends with the error of the signal that stopped it.
func (f *statusFlags) follow(ctx context.Context, a *cli.App) error {
	c, tty := f.Client(), cli.TerminalSize(a.Out) != nil
	last := ""
	for {
		st, err := c.Status(ctx, f.query())
		if err != nil {
			return err
		}
		inPlace := tty && !f.Output.Document()
		if said := unhurried(st); inPlace || said != last {
			last = said
			err = f.Output.Again(a.Out, st, func(w io.Writer) error {
				if !inPlace {
					return f.writeText(a, w, st)
				}
				_, err := io.WriteString(w, redrawn(f.text(st, cli.StyleOf(f.color, a), time.Now()), a))
				return err
			})
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(cli.WatchEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unhurried is what a status says, but for what time alone changes.
// Times, spans and counts of runs are left out.
func unhurried(st *control.Status) string {
	var b strings.Builder
	fmt.Fprint(&b, st.PID, st.Generation, st.Converged, st.Counts, st.Refused, st.Held, st.Pinned != nil, st.Undone, st.Awaits, st.StoreLost != nil, st.StateLost != nil, st.StateLost.Bad())
	if st.Selected != nil {
		fmt.Fprint(&b, st.Selected.None)
	}
	for _, r := range st.Resources {
		fmt.Fprint(&b, r.Resource, r.State, r.Doing, r.Error, r.BlockedBy, r.Until, r.Pause != nil)
	}
	return b.String()
}

// redrawn returns the characters that put a text in the place of the one before on
// a terminal.
// A status longer than the terminal is cut, since a terminal that scrolls can not be
// written in place.
func redrawn(text string, a *cli.App) string {
	width, height := 80, 24
	if f, ok := a.Out.(interface{ Fd() uintptr }); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			width, height = w, h
		}
	}
	list := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(list) >= height && height > 1 {
		list = append(list[:height-2:height-2], fmt.Sprintf("(%d more lines)", len(list)-height+2))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range list {
		// A line with colours is not cut, since a cut could end inside of an escape.
		if !strings.Contains(line, "\x1b") {
			line = render.Cut(line, width)
		}
		b.WriteString(line + eraseRest + "\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}

// eraseRest erases to the end of the line, which an earlier text may have filled.
const eraseRest = "\x1b[K"

// maxShown is how many resources are named unless all are asked for.
const maxShown = 50

// text is a status for people.
// It names at most 50 resources, because a person reads the first of them. Resources
// under one pause of everything are one line.
func (f *statusFlags) text(st *control.Status, s render.Style, now time.Time) string {
	var b strings.Builder
	name := render.Visible(st.Graph)
	if st.Generation == 0 {
		name = "no graph yet"
	}
	fmt.Fprintf(&b, "%s, generation %d: %s\n", s.Name(name), st.Generation, render.CountWords(st.Counts))
	fmt.Fprintf(&b, "%s; mgmt %s, pid %d, up %s\n", render.RestText(st, s, now), render.Visible(st.Version.Version), st.PID, render.RoundTime(now.Sub(st.Started)))
	switch {
	case st.Selected == nil:
		b.WriteString(watchesText(st.Watches, s))
	case st.Selected.None != "":
		b.WriteString(render.Visible(st.Selected.None) + "\n")
	default:
		fmt.Fprintf(&b, "selected: %s\n", render.CountWords(st.Selected.Counts))
	}
	if st.Refused != "" {
		fmt.Fprintf(&b, "%s: %s\n", s.Paint(render.Red, "the newest graph was refused, the last good one stays in effect"), render.Visible(st.Refused))
	}
	if p := st.Pinned; p != nil {
		fmt.Fprintf(&b, "%s to graph %d, until the input has another graph, or mgmt resume%s\n", s.Paint(render.Yellow, "rolled back"), p.Number, pinnedText(p.By, p.Reason))
	}
	for _, u := range st.Undone[:min(len(st.Undone), maxShown)] {
		fmt.Fprintf(&b, "%s is undone until the input has another graph, or mgmt resume%s\n", s.Name(render.Visible(u.Resource)), pinnedText(u.By, u.Reason))
	}
	if more := len(st.Undone) - maxShown; more > 0 {
		fmt.Fprintf(&b, "and %d more are undone\n", more)
	}
	if st.Held != "" {
		fmt.Fprintf(&b, "%s %s\n", s.Paint(render.Yellow, "the newest graph is"), render.Visible(st.Held))
	}
	if len(st.Awaits) > 0 {
		fmt.Fprintf(&b, "%s %s\n", s.Paint(render.Yellow, "a newer graph waits for what has to be brought about before it leaves:"), render.Visible(strings.Join(st.Awaits, ", ")))
	}
	if lost := st.StoreLost; lost != nil {
		how := "has been out of reach"
		if lost.Refused {
			how = "has refused this host"
		}
		fmt.Fprintf(&b, "%s %s for %s, and the last state goes on: %s\n", s.Paint(render.Yellow, "the store"), how, render.RoundTime(now.Sub(lost.Since)), render.Visible(lost.Error))
	}
	b.WriteString(stateLostText(st.StateLost, s, now))
	b.WriteString(noticesText(st.Notices, s, now))
	shown, more := 0, 0
	var all *control.Pause
	for i := range st.Resources {
		r := &st.Resources[i]
		switch {
		// Under a pause of everything each resource would be a line with the same words.
		case r.Pause != nil && r.Pause.All && r.State == resgraph.StatePaused.String() && !f.all:
			all = r.Pause
		case shown == maxShown && !f.all:
			more++
		default:
			shown++
			b.WriteString(s.Name(render.Visible(r.Resource)) + " " + render.StandText(r, s) + "\n")
		}
	}
	if all != nil {
		b.WriteString("everything " + render.PauseText(all, s) + "\n")
	}
	for _, p := range st.Absent {
		b.WriteString(s.Name(render.Visible(p.Resource)) + ", which is not in the graph, " + render.PauseText(p.Pause, s) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "and %d more, which --all names\n", more)
	}
	return b.String()
}

// stateLostText says what became of a state folder that was removed, replaced or shut, and how to go on.
func stateLostText(l *control.StateLost, s render.Style, now time.Time) string {
	if l == nil {
		return ""
	}
	list := func(names []string) string {
		if more := len(names) - maxLostShown; more > 0 {
			return render.Visible(strings.Join(names[:maxLostShown], ", ")) + fmt.Sprintf(" and %d more", more)
		}
		return render.Visible(strings.Join(names, ", "))
	}
	folder := func(color string, what string) string {
		return fmt.Sprintf("%s %s", s.Paint(color, "the state folder"), what)
	}
	ago := render.RoundTime(now.Sub(l.Since))
	var b strings.Builder
	switch {
	case l.Error != "":
		b.WriteString(folder(render.Red, fmt.Sprintf("can't be used for %s, and what was kept there is lost when mgmt ends, unless that is mended before: %s\n", ago, render.Visible(l.Error))))
	case l.Bad():
		b.WriteString(folder(render.Red, fmt.Sprintf("was removed or replaced %s ago, and a part of it is lost\n", ago)))
	default:
		return folder(render.Yellow, fmt.Sprintf("was removed or replaced %s ago, and was written anew with all that was in it\n", ago))
	}
	if len(l.Lost) > 0 {
		b.WriteString("  lost, bring it back from a backup: " + list(l.Lost) + "\n")
	}
	if len(l.Other) > 0 {
		b.WriteString("  other files are there now, which count from the next start on: " + list(l.Other) + "\n")
	}
	return b.String()
}

// maxLostShown is how many lost files are named.
const maxLostShown = 10

// watchesText counts the folders by what tells of their changes, and names those of which no event tells everything.
// Nothing watched is no line.
func watchesText(w *control.Watches, s render.Style) string {
	switch {
	case w == nil:
		return ""
	case w.Error != "":
		return s.Paint(render.Yellow, "watches") + ": " + render.Visible(w.Error) + "\n"
	}
	var parts []string
	for _, source := range slices.Sorted(maps.Keys(w.Counts)) {
		how := " by " + render.Visible(source)
		if source == "poll" {
			how = " polled"
		}
		parts = append(parts, strconv.Itoa(w.Counts[source])+how)
	}
	if len(parts) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "watched folders: %s\n", strings.Join(parts, ", "))
	for _, f := range w.Folders {
		switch {
		case f.Source == "poll":
			fmt.Fprintf(&b, "  %s is polled%s\n", render.Visible(f.Path), remoteText(f))
		case f.Remote != "":
			fmt.Fprintf(&b, "  %s%s\n", render.Visible(f.Path), remoteText(f))
		}
	}
	if w.More > 0 {
		fmt.Fprintf(&b, "  and %d more, which --all names\n", w.More)
	}
	return b.String()
}

// remoteText says what no event tells of.
func remoteText(f control.Folder) string {
	switch {
	case f.Remote == "":
		return ""
	case f.Source == "poll":
		return ", " + render.Visible(f.Remote)
	}
	return " is " + render.Visible(f.Remote) + ": changes made elsewhere are seen by meta.poll, and once an hour"
}

// pinnedText says who has asked for a rollback or an undo, and why.
func pinnedText(by, reason string) (text string) {
	if by != "" {
		text += "; by " + render.OneLine(by)
	}
	if reason != "" {
		text += ": " + render.OneLine(reason)
	}
	return text
}
