package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// planFlags are the flags of plan. It has no flags for limits: a plan alters nothing.
type planFlags struct {
	input inputFlags
	store planStore
	steps transforms
	// state is only read: refreshes that are pending and states before a first change are there.
	state  stateFlags
	output choice
	color  choice
	debug  bool
	all    bool
	// selects is empty for everything.
	selects string
}

// newPlan makes the verb plan.
// The exit codes are those of run with --noop, so one script serves both.
func newPlan(a *app) *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan [FILE|FOLDER]",
		Short: "Say what run would change, and change nothing",
		Long: `Plan looks at the machine and says what run would do: each change with the
present value and the wanted one, texts line by line, and the refreshes that
would follow. A change that can't be told before another resource has run is
unknown. Nothing is touched, not even the state folder, from which plan reads
what run has remembered there. A graph that asks for other hosts gets the answer
of the daemon's store; where that can't be read, what depends on it is unknown.
What is there of hosts that the operator has removed does not count.
A resource that was in effect from the same file,
and is not in it any more, is listed with what becomes of its work.

With --select, everything is looked at, and the selected resources are shown. Of
the others it counts what would change. The exit code is about those that are shown.
` + selectionHelp + `

It ends with code 0 when nothing would change, 2 when something would or a
resource leaves, 4 when something failed or is blocked, and 6 for both.`,
		Example: `  mgmt plan graph.yaml
  mgmt plan graph.yaml --select 'file[/etc/nginx/*],svc[nginx]'
  mgmt plan graph.yaml -o json | jq '.resources[] | select(.state == "would-change")'`,
		Args: graphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("select") && f.selects == "" { // of a script's unset variable: not everything is meant
				return errors.New("--select is empty: write a selection, such as --select 'file[/etc/nginx/*]'")
			}
			return f.run(cmd.Context(), a)
		},
	}
	f.input.flags(cmd)
	a.typesFlag(cmd)
	a.machineFlags(cmd)
	a.guardFlag(cmd)
	f.steps.flags(cmd)
	f.state.prefixFlag(cmd)
	f.store.flags(cmd)
	fl := cmd.Flags()
	forms(cmd, &f.output, "how to write the plan", "text")
	fl.BoolVar(&f.all, "all", false, "show also the resources that are as wanted")
	fl.StringVar(&f.selects, "select", "", "show the resources of this `selection`")
	fl.BoolVar(&f.debug, "debug", false, "log much more")
	colorFlag(cmd, &f.color)
	return cmd
}

// run looks and writes nothing, not even into the state folder, so a user without rights
// there can plan.
// The observer hears warnings alone. All else of the run is in the plan itself, which is
// written at the end.
func (f *planFlags) run(ctx context.Context, a *app) error {
	if err := enoughFiles(); err != nil {
		return err
	}
	// A secret that can't be read is an unknown value, so that a plan needs no key.
	f.input.blind = true
	in, err := f.input.open(a)
	if err != nil {
		return err
	}
	front, err := in.Frontend()
	if err != nil {
		return err
	}
	dir, err := f.state.Path()
	if err != nil {
		return err
	}
	log := &logFlags{debug: f.debug, color: f.color} // what print says belongs to a plan
	p := log.presenter(a)
	defer p.close()
	host := cmp.Or(a.folders.Hostname, hostname())
	world, closing, err := f.store.open(ctx, f.state.Place, dir, host, p.logger)
	if err != nil {
		return err
	}
	defer closing()
	if world, err = f.store.counting(ctx, a, world, dir, host, p.logger); err != nil {
		return err
	}
	opts := a.options(p.logger)
	opts.World, opts.Accept = mgmt.Share(world), f.store.world.Accepts()
	f.steps.set(&opts)
	opts.State, opts.Debug, opts.Input = mgmt.StateIn(dir), f.debug, in.Lasting()
	opts.Observer.Warned = func(ds schema.Diagnostics) { p.warned(withoutNotes(ds)) }
	e, err := mgmt.New(opts)
	if err != nil {
		return err
	}
	ctx, stop := a.onSignals(ctx, signalHooks{tell: p.signalled, abandon: e.Abandon})
	defer stop()
	p.follow(ctx, e)
	plan, err := e.Plan(ctx, front)
	// The lines of the log are all written before the plan begins, so the two never mix on a
	// terminal.
	p.close()
	if err != nil {
		return log.diagnose(a, err)
	}
	var others *mgmt.Plan
	if f.selects != "" {
		if plan, others, err = plan.Select(f.selects); err != nil {
			return err
		}
	}
	if f.output.document() {
		err = writeDocument(a.out, f.output.word, planJSON(plan, others))
	} else {
		err = f.write(a, plan, others)
	}
	if err != nil {
		return err
	}
	return withCode(plan.ExitCode(), nil)
}

// write shows the steps that matter, and the summary last.
// Steps are in the order in which a run would do them, and without --all those with
// nothing to do are left out.
// others are not shown; nil where nothing was selected.
func (f *planFlags) write(a *app, plan, others *mgmt.Plan) error {
	w := &planWriter{style: style{color: colored(f.color, a.out)}}
	for i := range plan.Steps {
		if s := &plan.Steps[i]; f.all || s.State != engine.StateOK {
			w.step(s)
		}
	}
	for _, id := range plan.Leaving {
		text := leavingText(false)
		if slices.Contains(plan.Asking, id) {
			text += ", and a daemon asks before: the graph is held until mgmt resume"
		}
		fmt.Fprintf(w, "%s %s\n", w.style.name(visible(id)), w.style.paint(yellow, text))
	}
	if w.Len() > 0 {
		w.WriteString("\n")
	}
	if others == nil {
		w.WriteString("plan: " + summaryOf(plan).text() + "\n")
	} else {
		w.WriteString("plan of the selection: " + summaryOf(plan).text() + "\n")
		if len(others.Steps)+len(others.Leaving) > 0 {
			w.WriteString("not shown: " + summaryOf(others).text() + "\n")
		}
	}
	_, err := a.out.Write([]byte(w.String()))
	return err
}

// planWriter writes the steps of a plan for people.
// It is a buffer: a plan is written in one piece, after everything has been looked at.
type planWriter struct {
	strings.Builder
	style style
}

// step writes the head of a resource and its changes below.
// A resource that has left the graph says so, because its name is not in the file any
// more.
func (w *planWriter) step(s *mgmt.Step) {
	head := func(color, what string) {
		left := ""
		if s.Left {
			left = ", which has left the graph,"
		}
		fmt.Fprintf(w, "%s%s %s\n", w.style.name(visible(s.Resource)), left, w.style.paint(color, what))
	}
	switch s.State {
	case engine.StateOK:
		head(green, "is ok")
	case engine.StateUnknown:
		head(yellow, "is unknown until "+visible(awaited(s.Until)))
	case engine.StateFailed:
		head(red, "failed: "+visible(errorText(s.Err)))
	case engine.StateBlocked:
		head(red, "is blocked by "+visible(s.BlockedBy))
	case engine.StateWouldChange:
		switch {
		// Its change says no more than the head does, and is left out.
		case onlyRefreshes(s):
			head(yellow, "would refresh"+because(s))
			return
		case len(s.Changes) == 0:
			head(yellow, "would change")
		default:
			head(yellow, "would change:")
		}
	default:
		head(yellow, "is "+s.State.String())
	}
	for _, c := range s.Changes {
		w.change(s, c)
	}
}

// awaited says what has to happen before a state can be told. That is the run of a resource, or the reading of something that the
// graph needs, such as a secret.
func awaited(until string) string {
	if _, err := schema.ParseRef(until); err != nil {
		return until + " can be read"
	}
	return until + " has run"
}

// because says why a resource would refresh.
func because(s *mgmt.Step) string {
	if len(s.Because) == 0 {
		return ""
	}
	return ": because " + visible(strings.Join(s.Because, ", ")) + " would change"
}

// how says how a resource would refresh, where its change says that.
func how(c engine.Change) string {
	if text, ok := c.To.(string); ok && text != "" {
		return " (" + visible(text) + ")"
	}
	return ""
}

// change writes one change: as a diff where both values are texts of several lines, else
// on one line.
// Secrets are gone from the values before they come here, and control characters are made
// visible.
func (w *planWriter) change(s *mgmt.Step, c engine.Change) {
	from, to, ok := texts(c)
	switch {
	case c.Verb == engine.Refreshed:
		fmt.Fprintf(w, "  %s\n", w.style.paint(yellow, "would refresh"+because(s)+how(c)))
	case !ok:
		fmt.Fprintf(w, "  %s\n", w.style.paint(yellow, visible(c.String())))
	default:
		fmt.Fprintf(w, "  %s\n", w.style.paint(yellow, visible(c.Field)+": "+lineCounts(from, to)))
		writeDiff(&w.Builder, w.style, from, to)
	}
}

// onlyRefreshes reports whether a step does nothing but act on a notification.
// A step without changes is none of them.
func onlyRefreshes(s *mgmt.Step) bool {
	for _, c := range s.Changes {
		if c.Verb != engine.Refreshed {
			return false
		}
	}
	return len(s.Changes) > 0
}

// summary counts the steps of a plan by their effect.
// Its keys are part of the output in JSON.
// Each step is counted once, so the sum is the number of resources.
type summary struct {
	Change  int `json:"change"`
	Refresh int `json:"refresh"`
	Unknown int `json:"unknown"`
	Failed  int `json:"failed"`
	Blocked int `json:"blocked"`
	OK      int `json:"ok"`
	Leaving int `json:"leaving"` // not in the graph any more; its work stays
}

// summaryOf counts the steps. A step that only refreshes is counted apart, since nothing
// differs there.
func summaryOf(p *mgmt.Plan) summary {
	s := summary{Leaving: len(p.Leaving)}
	for i := range p.Steps {
		switch st := &p.Steps[i]; st.State {
		case engine.StateWouldChange:
			if onlyRefreshes(st) {
				s.Refresh++
			} else {
				s.Change++
			}
		case engine.StateUnknown:
			s.Unknown++
		case engine.StateFailed:
			s.Failed++
		case engine.StateOK:
			s.OK++
		// A resource that is paused or held would not run either, so it counts as blocked.
		default:
			s.Blocked++
		}
	}
	return s
}

// text lists the counts that are not zero.
// The order is by weight: changes first, and resources that are right last.
func (s summary) text() string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{s.Change, "to change"}, {s.Refresh, "to refresh"}, {s.Unknown, "unknown"}, {s.Failed, "failed"}, {s.Blocked, "blocked"}, {s.Leaving, "leaving"}, {s.OK, "ok"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return strings.Join(parts, ", ")
}
