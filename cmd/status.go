package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// A key press in the shell waits for completionWait. The waits of requests are cut into oneWait,
// so that a daemon that has gone is noticed. Between two questions of a wait there is retryEvery,
// and between two of --watch there is watchEvery.
const (
	// A key press in the shell waits for completionWait. The waits of requests are cut
	// into oneWait, so that a daemon that has gone is noticed.
	completionWait = 300 * time.Millisecond
	retryEvery     = 50 * time.Millisecond // while there is no daemon yet
	watchEvery     = time.Second
	oneWait        = 30 * time.Second // of one request that waits
)

// statusFlags are the flags of status. Apply uses them, too, for its wait: the same words mean
// the same there.
type statusFlags struct {
	remote
	color  choice
	all    bool
	states []string
	// selects is empty for the resources that are not ok.
	selects string
	watch   bool
	// wait is empty or converged. timeout bounds it, one minute by default, and has no meaning
	// without it.
	wait    string
	timeout seconds
	// exitCode ends with the code of the answer. Without it, an answer ends with code 0, unless a
	// wait was in vain.
	exitCode bool
	dump     bool
}

// newStatus makes the verb status.
// The dump is for people who look for a fault, so no other flag goes with it.
func newStatus(a *app) *cobra.Command {
	f := &statusFlags{timeout: seconds(time.Minute)}
	cmd := &cobra.Command{
		Use:   "status [SELECTION]",
		Short: "Say how the running daemon and its resources stand",
		Long: `Status asks the running daemon how many resources are in which state, and names
each one that is not ok. It shows the error and the time of the next try, the
resource that blocks it, or the pause and its end. With a selection it names all
resources of that, and counts them apart; with --state those of them.

A resource that is tried again, or looked at, is told as it rested last. A
resource that is being altered at this moment though it was well does not rest.

With --wait=converged it waits until the graph has come to rest, also for a daemon
that is only starting, and ends with code 5 if that takes too long. With --exit-code
it ends as run does: 0 all is as wanted, 2 something would change or is held, 4
something failed or is blocked, 6 both. It ends with 1 where the newest graph was
refused, and with 5 while something has not come to rest yet. State that was
lost with the state folder counts as failed. Of the resources
those of a selection alone decide, where there is one. What a selection selects is
decided anew at each look: with --watch it may be nothing for a while.

` + selectionHelp + `

With --dump it writes for each resource that is not settled its activity, or the
thing that it waits for. Use it where nothing seems to happen.`,
		Example: `  mgmt status
  mgmt status 'file[/etc/nginx/*]' --state failed
  mgmt status --watch
  mgmt status --wait converged --timeout 5m --exit-code
  mgmt status -o json --all | jq '.resources[] | select(.changes > 0)'`,
		Args:              resourceArg(0),
		ValidArgsFunction: f.completeResource,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.selects = strings.Join(args, "") // there is one at most
			return f.run(cmd.Context(), a)
		},
	}
	f.flags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.all, "all", false, "name also the resources that are ok, and all of many")
	fl.StringSliceVar(&f.states, "state", nil, "name the resources in these `states`")
	fl.BoolVar(&f.watch, "watch", false, "go on showing it; off a terminal whenever it has changed")
	fl.StringVar(&f.wait, "wait", "", "wait for this `state` of the graph: converged")
	fl.Var(&f.timeout, "timeout", "how long to wait")
	fl.BoolVar(&f.exitCode, "exit-code", false, "say by the exit code how the resources stand")
	fl.BoolVar(&f.dump, "dump", false, "write the activity of each resource that is not settled, or the thing that it waits for")
	colorFlag(cmd, &f.color)
	_ = cmd.RegisterFlagCompletionFunc("wait", cobra.FixedCompletions([]string{"converged"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(selection.States(), cobra.ShellCompDirectiveNoFileComp))
	exclude(cmd, "watch", "wait")
	exclude(cmd, "watch", "exit-code")
	exclude(cmd, "all", "state")
	for _, other := range []string{"all", "state", "watch", "wait", "exit-code"} {
		exclude(cmd, "dump", other)
	}
	return cmd
}

// run asks for the state, and waits for convergence where it is told to. With --exit-code
// the code says how it stands.
// Wrong words are refused before the daemon is asked. A wait that runs out ends with exitTime, and
// the state is written all the same.
func (f *statusFlags) run(ctx context.Context, a *app) error {
	if f.wait != "" && f.wait != "converged" {
		return fmt.Errorf("--wait=%s: write --wait=converged", f.wait)
	}
	for _, word := range f.states {
		if !slices.Contains(selection.States(), word) {
			return fmt.Errorf("--state=%s: write %s%s", word, orList(selection.States()), meant(word, selection.States()))
		}
	}
	if f.dump && f.selects != "" {
		return errors.New("--dump is about everything: leave the selection out")
	}
	if f.dump {
		return explained(f.writeDump(ctx, a))
	}
	if f.watch {
		return explained(f.follow(ctx, a))
	}
	st, err := f.ask(ctx)
	if err != nil {
		// The time was over before a daemon answered. That is the code of a wait, and not that of
		// a wrong use.
		if f.wait != "" && isStarting(err) {
			return withCode(exitTime, fmt.Errorf("after %s: %w", time.Duration(f.timeout), explained(err)))
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
		return withCode(exitTime, fmt.Errorf("not converged after %s", time.Duration(f.timeout)))
	case f.exitCode && st.Selected != nil:
		return withCode(st.Selected.ExitCode, nil)
	case f.exitCode:
		return withCode(st.Code(), nil)
	default:
		return nil
	}
}

// writeDump writes the daemon's own words.
// It asks once and does not wait. Control characters of names are made visible.
func (f *statusFlags) writeDump(ctx context.Context, a *app) error {
	if f.output.document() {
		return errors.New("--dump is text for people: leave -o " + f.output.word + " out")
	}
	dump, err := f.client().Dump(ctx)
	if err != nil {
		return err
	}
	for line := range strings.Lines(dump) {
		if _, err := fmt.Fprintln(a.out, visible(strings.TrimSuffix(line, "\n"))); err != nil {
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
	c, q := f.client(), f.query()
	if f.wait == "" {
		return c.Status(ctx, q)
	}
	for end := time.Now().Add(time.Duration(f.timeout)); ; {
		left := time.Until(end)
		q.Wait = min(max(left, 0), oneWait)
		st, err := c.Status(ctx, q)
		// At the end of the time the last answer counts, so the user sees how things stand.
		if err == nil && (st.Converged || left <= 0) {
			return st, nil
		}
		if err != nil && (left <= 0 || !isStarting(err)) {
			return nil, err
		}
		select {
		case <-time.After(min(retryEvery, max(left, 0))):
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

// write writes the answer as text or as JSON.
func (f *statusFlags) write(a *app, st *control.Status) error {
	if f.output.document() {
		return writeDocument(a.out, f.output.word, st)
	}
	_, err := a.out.Write([]byte(f.text(st, styleOf(f.color, a), time.Now())))
	return err
}

// follow shows the status again and again: on a terminal in place, elsewhere as
// often as it says something else.
// It asks once a second, and ends with the error of the signal that stopped it.
func (f *statusFlags) follow(ctx context.Context, a *app) error {
	c, tty := f.client(), terminalSize(a.out) != nil
	last := ""
	for {
		st, err := c.Status(ctx, f.query())
		if err != nil {
			return err
		}
		var buf bytes.Buffer
		// The buffer is needed only where nothing is redrawn in place, and only when it is news.
		if err := f.write(&app{out: &buf}, st); err != nil {
			return err
		}
		switch said := unhurried(st); {
		case tty && f.output.word == "text":
			_, err = a.out.Write([]byte(redrawn(f.text(st, styleOf(f.color, a), time.Now()), a)))
		case said != last && f.output.word == "yaml":
			err = writeItem(a.out, f.output.word, st)
			last = said
		case said != last:
			_, err = a.out.Write(buf.Bytes())
			last = said
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(watchEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unhurried is what a status says, but for what time alone changes.
// Times, spans and counts of runs are left out.
func unhurried(st *control.Status) string {
	var b strings.Builder
	fmt.Fprint(&b, st.PID, st.Generation, st.Converged, st.Counts, st.Refused, st.Held, st.Awaits, st.StoreLost != nil, st.StateLost != nil, st.StateLost.Bad())
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
func redrawn(text string, a *app) string {
	width, height := 80, 24
	if f, ok := a.out.(interface{ Fd() uintptr }); ok {
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
			line = cut(line, width)
		}
		b.WriteString(line + eraseRest + "\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}

// It erases from the cursor to the end of the line, which an earlier text may have filled.
const eraseRest = "\x1b[K"

// maxShown is how many resources are named unless all are asked for.
const maxShown = 50

// text is a status for people.
// It names at most 50 resources, because a person reads the first of them. Resources
// under one pause of everything are one line.
func (f *statusFlags) text(st *control.Status, s style, now time.Time) string {
	var b strings.Builder
	name := visible(st.Graph)
	if st.Generation == 0 {
		name = "no graph yet"
	}
	fmt.Fprintf(&b, "%s, generation %d: %s\n", s.name(name), st.Generation, countWords(st.Counts))
	fmt.Fprintf(&b, "%s; mgmt %s, pid %d, up %s\n", restText(st, s, now), visible(st.Version.Version), st.PID, roundTime(now.Sub(st.Started)))
	switch {
	case st.Selected == nil:
		b.WriteString(watchesText(st.Watches, s))
	case st.Selected.None != "":
		b.WriteString(visible(st.Selected.None) + "\n")
	default:
		fmt.Fprintf(&b, "selected: %s\n", countWords(st.Selected.Counts))
	}
	if st.Refused != "" {
		fmt.Fprintf(&b, "%s: %s\n", s.paint(red, "the newest graph was refused, the last good one goes on"), visible(st.Refused))
	}
	if st.Held != "" {
		fmt.Fprintf(&b, "%s %s\n", s.paint(yellow, "the newest graph is"), visible(st.Held))
	}
	if len(st.Awaits) > 0 {
		fmt.Fprintf(&b, "%s %s\n", s.paint(yellow, "a newer graph waits for what has to be brought about before it leaves:"), visible(strings.Join(st.Awaits, ", ")))
	}
	if lost := st.StoreLost; lost != nil {
		how := "has been out of reach"
		if lost.Refused {
			how = "has refused this host"
		}
		fmt.Fprintf(&b, "%s %s for %s, and the last state goes on: %s\n", s.paint(yellow, "the store"), how, roundTime(now.Sub(lost.Since)), visible(lost.Error))
	}
	b.WriteString(stateLostText(st.StateLost, s, now))
	shown, more := 0, 0
	var all *control.Pause
	for i := range st.Resources {
		r := &st.Resources[i]
		switch {
		// Under a pause of everything each resource would be a line with the same words.
		case r.Pause != nil && r.Pause.All && r.State == engine.StatePaused.String() && !f.all:
			all = r.Pause
		case shown == maxShown && !f.all:
			more++
		default:
			shown++
			b.WriteString(s.name(visible(r.Resource)) + " " + standText(r, s) + "\n")
		}
	}
	if all != nil {
		b.WriteString("everything " + pauseText(all, s) + "\n")
	}
	for _, p := range st.Absent {
		b.WriteString(s.name(visible(p.Resource)) + ", which is not in the graph, " + pauseText(p.Pause, s) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "and %d more, which --all names\n", more)
	}
	return b.String()
}

// stateLostText says what became of a state folder that was removed, replaced or shut, and how to go on.
func stateLostText(l *control.StateLost, s style, now time.Time) string {
	if l == nil {
		return ""
	}
	list := func(names []string) string {
		if more := len(names) - maxLostShown; more > 0 {
			return visible(strings.Join(names[:maxLostShown], ", ")) + fmt.Sprintf(" and %d more", more)
		}
		return visible(strings.Join(names, ", "))
	}
	folder := func(color string, what string) string {
		return fmt.Sprintf("%s %s", s.paint(color, "the state folder"), what)
	}
	ago := roundTime(now.Sub(l.Since))
	var b strings.Builder
	switch {
	case l.Error != "":
		b.WriteString(folder(red, fmt.Sprintf("can't be used for %s, and what was kept there is lost when mgmt ends, unless that is mended before: %s\n", ago, visible(l.Error))))
	case l.Bad():
		b.WriteString(folder(red, fmt.Sprintf("was removed or replaced %s ago, and a part of it is lost\n", ago)))
	default:
		return folder(yellow, fmt.Sprintf("was removed or replaced %s ago, and was written anew with all that was in it\n", ago))
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
func watchesText(w *control.Watches, s style) string {
	switch {
	case w == nil:
		return ""
	case w.Error != "":
		return s.paint(yellow, "watches") + ": " + visible(w.Error) + "\n"
	}
	var parts []string
	for _, source := range slices.Sorted(maps.Keys(w.Counts)) {
		how := " by " + visible(source)
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
			fmt.Fprintf(&b, "  %s is polled%s\n", visible(f.Path), remoteText(f))
		case f.Remote != "":
			fmt.Fprintf(&b, "  %s%s\n", visible(f.Path), remoteText(f))
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
		return ", " + visible(f.Remote)
	}
	return " is " + visible(f.Remote) + ": changes made elsewhere are seen by meta.poll, and once an hour"
}

// restText says since when the graph is at rest, or not.
// The length is rounded for people.
func restText(st *control.Status, s style, now time.Time) string {
	since := roundTime(now.Sub(st.Since))
	rest := st.Rest()
	word, color := rest.Word(), wellColor(rest.Counts)
	if st.Converged && (st.Refused != "" || st.Held != "") {
		word = "at rest" // the newest graph is not in effect
	}
	if word != "converged" {
		color = yellow
	}
	return fmt.Sprintf("%s for %s", s.paint(color, word), since)
}

// countWords counts the resources by state, in the order of the states.
// States without a resource are left out.
func countWords(counts map[string]int) string {
	var parts []string
	for _, word := range selection.States() {
		if n := counts[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return strings.Join(parts, ", ")
}

// standText says how one resource stands, and and whether it is also paused.
// The order of the cases matters: a paused state is told by its pause alone.
func standText(r *control.Resource, s style) string {
	switch {
	case r.Pause == nil:
		return stateText(r, s)
	case r.State == engine.StatePaused.String():
		return pauseText(r.Pause, s)
	default:
		return stateText(r, s) + "; " + pauseText(r.Pause, s)
	}
}

// stateText says the state of one resource with its reason: the error, the blocking
// resource, the pause or the limit.
// A held resource is told by its limit, whatever its state is.
func stateText(r *control.Resource, s style) string {
	if r.Held != nil {
		return heldText(r.Held, s)
	}
	text := s.paint(stateColor(r.State), r.State)
	switch {
	case r.Error != "":
		text += ": " + visible(r.Error) + againText(r)
	case r.BlockedBy != "" && r.State == engine.StatePaused.String():
		text += " with " + visible(r.BlockedBy)
	case r.BlockedBy != "" && r.State == engine.StateBlocked.String():
		text += " by " + visible(r.BlockedBy)
	case r.BlockedBy != "":
		text += " for " + visible(r.BlockedBy)
	case r.WaitsFor != "":
		text += " for " + visible(r.WaitsFor)
	case r.Until != "":
		text += " until " + visible(r.Until) + " has run"
	}
	return text
}

// againText says when a failed resource is tried again.
// A try that goes on has no next one.
func againText(r *control.Resource) string {
	if r.Doing != "" {
		return " (trying again now)"
	}
	return retryText(r.RetryIn)
}

// retryText says when the next try is due.
// The time is in seconds; 0 means that no try is due.
func retryText(in float64) string {
	if in == 0 {
		return ""
	}
	return fmt.Sprintf(" (trying again in %s)", roundTime(spanOf(in)))
}

// spanOf turns seconds into a span of time.
func spanOf(sec float64) time.Duration { return time.Duration(sec * float64(time.Second)) }

// pauseText says the end and the reason of a pause. The time has the form of moment.
func pauseText(p *control.Pause, s style) string {
	text := s.paint(yellow, "paused") + " until "
	if p.Until.IsZero() {
		text += "it is resumed"
	} else {
		text += s.moment(p.Until)
	}
	if p.Reason != "" {
		text += ": " + visible(p.Reason)
	}
	return text
}

// heldText names the limit, and how the resource goes on.
// A hold with a time ends by itself, any other one waits for mgmt resume.
func heldText(h *control.Hold, s style) string {
	text := fmt.Sprintf("%s by the limit %s: %s", s.paint(yellow, "held"), h.Limit, visible(h.Reason))
	if h.For > 0 {
		return text + fmt.Sprintf(" (goes on in %s)", roundTime(spanOf(h.For)))
	}
	return text + " (goes on after mgmt resume)"
}

// stateColor is the color of a state.
func stateColor(word string) string {
	switch word {
	case "ok":
		return green
	case "failed", "blocked":
		return red
	default:
		return yellow
	}
}
