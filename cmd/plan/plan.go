package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// planFlags are the flags of plan. It has no flags for limits: a plan alters nothing.
type planFlags struct {
	input  inputs.Flags
	store  planStore
	steps  inputs.Transforms
	policy inputs.PolicyFlag
	// state is only read: refreshes that are pending and states before a first change are there.
	state  inputs.StateFlags
	output cli.Output
	color  cli.Choice
	debug  bool
	all    bool
	// selects is empty for everything.
	selects string
}

// NewPlan makes the verb plan.
// The exit codes are those of run with --noop, so one script serves both.
func NewPlan(a *cli.App) *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan [FILE|FOLDER]",
		Short: "Show what run would change, and change nothing",
		Long: `Plan checks the machine and shows what run would do: each change with its current
and its wanted value, texts as a diff, and the refreshes that would follow. A
change that depends on another resource's run is unknown. Plan changes nothing;
it only reads what run saved in the state folder.

Data about other hosts comes from the daemon's store, without the hosts that the
operator removed. If the store can't be read, whatever depends on it is unknown.
Resources that have left the graph file since run last applied it are listed with
what happens to them.

With --select, plan checks every resource but shows only the selected ones; of
the others it counts the changes. The exit code covers only the selected ones.
` + cli.SelectionHelp + `

The exit code is 0 if nothing would change, 2 if something would or a resource
leaves, 4 if something failed or is blocked, and 6 for both.`,
		Example: `  mgmt plan graph.yaml
  mgmt plan graph.yaml --select 'file[/etc/nginx/*],svc[nginx]'
  mgmt plan graph.yaml -o json | jq '.resources[] | select(.state == "would-change")'`,
		Args: inputs.GraphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("select") && f.selects == "" { // of a script's unset variable: not everything is meant
				return errors.New("--select is empty: write a selection, such as --select 'file[/etc/nginx/*]'")
			}
			return f.run(cmd.Context(), a)
		},
	}
	f.input.Flags(cmd)
	cli.TypesFlag(a, cmd)
	inputs.MachineFlags(a, cmd)
	cli.GuardFlag(a, cmd)
	f.steps.Flags(cmd)
	f.state.PrefixFlag(cmd)
	f.store.flags(cmd)
	f.policy.Flag(cmd)
	fl := cmd.Flags()
	cli.Forms(cmd, &f.output, "output format", render.PlanDoc{}, "text")
	fl.BoolVar(&f.all, "all", false, "also show resources that need no change")
	fl.StringVar(&f.selects, "select", "", "show only the resources in this `selection`")
	fl.BoolVar(&f.debug, "debug", false, "log much more")
	cli.ColorFlag(cmd, &f.color)
	return cmd
}

// run looks and writes nothing, not even into the state folder, so a user without rights
// there can plan.
// The observer hears warnings alone. All else of the run is in the plan itself, which is
// written at the end.
func (f *planFlags) run(ctx context.Context, a *cli.App) error {
	if err := cli.EnoughFiles(); err != nil {
		return err
	}
	// A secret that can't be read is an unknown value, so that a plan needs no key.
	f.input.Blind = true
	in, err := f.input.Open(a)
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
	log := &show.Flags{Debug: f.debug, Color: f.color} // what print says belongs to a plan
	p := log.Presenter(a)
	defer p.Close()
	host := cmp.Or(a.Folders.Hostname, cli.Hostname())
	world, closing, err := f.store.open(ctx, f.state.Place, dir, host, p.Logger)
	if err != nil {
		return err
	}
	defer closing()
	if world, err = f.store.counting(ctx, a, world, dir, host, p.Logger); err != nil {
		return err
	}
	opts := inputs.Options(a, p.Logger)
	var ds schema.Diagnostics
	if opts.Policy, ds = f.policy.Load(ctx, a); ds.Err() != nil {
		return log.Diagnose(a, ds)
	}
	opts.Past = control.PastOf
	opts.World, opts.Accept = mgmt.Share(world), f.store.world.Accepts()
	f.steps.Set(&opts)
	opts.State, opts.Debug, opts.Input = mgmt.StateIn(dir), f.debug, in.Lasting()
	opts.Observer.Warned = func(ds schema.Diagnostics) { p.Warned(render.WithoutNotes(ds)) }
	opts.Background = func(_ context.Context, e *mgmt.Engine) { p.Runs(e) }
	abandoned := make(chan struct{})
	opts.Abandon = abandoned
	ctx, stop := a.OnSignals(ctx, cli.SignalHooks{Tell: p.Signalled, Abandon: func() { close(abandoned) }})
	defer stop()
	p.Follow(ctx)
	plan, err := mgmt.Plan(ctx, opts, front)
	// The lines of the log are all written before the plan begins, so the two never mix on a
	// terminal.
	p.Close()
	if err != nil {
		return log.Diagnose(a, err)
	}
	var others *mgmt.Preview
	if f.selects != "" {
		if plan, others, err = plan.Select(f.selects); err != nil {
			return err
		}
	}
	err = f.output.Write(a.Out, render.PlanJSON(plan, others), func(io.Writer) error { return f.write(a, plan, others) })
	if err != nil {
		return err
	}
	return cli.WithCode(plan.ExitCode(), nil)
}

// write shows the steps that matter, and the summary last.
// Steps are in the order in which a run would do them, and without --all those with
// nothing to do are left out.
// others are not shown; nil where nothing was selected.
func (f *planFlags) write(a *cli.App, plan, others *mgmt.Preview) error {
	w := &planWriter{style: render.Style{Color: cli.Colored(f.color, a.Out)}}
	for i := range plan.Steps {
		if s := &plan.Steps[i]; f.all || s.State != resgraph.StateOK {
			w.step(s)
		}
	}
	for _, id := range plan.Leaving {
		text := render.LeavingText(false)
		if slices.Contains(plan.Asking, id) {
			text += ", and a daemon asks before: the graph is held until mgmt resume"
		}
		fmt.Fprintf(w, "%s %s\n", w.style.Name(render.Visible(id)), w.style.Paint(render.Yellow, text))
	}
	if w.Len() > 0 {
		w.WriteString("\n")
	}
	if others == nil {
		w.WriteString("plan: " + render.SummaryOf(plan).Text() + "\n")
	} else {
		w.WriteString("plan of the selection: " + render.SummaryOf(plan).Text() + "\n")
		if len(others.Steps)+len(others.Leaving) > 0 {
			w.WriteString("not shown: " + render.SummaryOf(others).Text() + "\n")
		}
	}
	_, err := a.Out.Write([]byte(w.String()))
	return err
}

// planWriter writes the steps of a plan for people.
// It is a buffer: a plan is written in one piece, after everything has been looked at.
type planWriter struct {
	strings.Builder
	style render.Style
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
		fmt.Fprintf(w, "%s%s %s\n", w.style.Name(render.Visible(s.Resource)), left, w.style.Paint(color, what))
	}
	switch s.State {
	case resgraph.StateOK:
		head(render.Green, "is ok")
	case resgraph.StateUnknown:
		head(render.Yellow, "is unknown until "+render.Visible(render.Awaited(s.Until)))
	case resgraph.StateFailed:
		head(render.Red, "failed: "+render.Visible(render.ErrorText(s.Err)))
	case resgraph.StateBlocked:
		head(render.Red, "is blocked by "+render.Visible(s.BlockedBy))
	case resgraph.StateWouldChange:
		switch {
		// Its change says no more than the head does, and is left out.
		case render.OnlyRefreshes(s):
			head(render.Yellow, "would refresh"+because(s))
			return
		case len(s.Changes) == 0:
			head(render.Yellow, "would change")
		default:
			head(render.Yellow, "would change:")
		}
	default:
		head(render.Yellow, "is "+s.State.String())
	}
	for _, c := range s.Changes {
		w.change(s, c)
	}
	_, ask, warn := reactor.By(s.Policy)
	for _, r := range ask {
		fmt.Fprintf(w, "  %s\n", w.style.Paint(render.Yellow, "has to be approved by "+render.Plural(max(r.Approvals, 1), "person")+": "+render.Visible(r.String())))
	}
	for _, r := range warn {
		fmt.Fprintf(w, "  %s\n", w.style.Paint(render.Yellow, "warning: "+render.Visible(r.String())))
	}
}

// because says why a resource would refresh.
func because(s *mgmt.Step) string {
	if len(s.Because) == 0 {
		return ""
	}
	return ": because " + render.Visible(strings.Join(s.Because, ", ")) + " would change"
}

// how says how a resource would refresh, where its change says that.
func how(c engine.Change) string {
	if text, ok := c.To.(string); ok && text != "" {
		return " (" + render.Visible(text) + ")"
	}
	return ""
}

// change writes one change: as a diff where both values are texts of several lines, else
// on one line.
// Secrets are gone from the values before they come here, and control characters are made
// visible.
func (w *planWriter) change(s *mgmt.Step, c engine.Change) {
	from, to, ok := render.Texts(c)
	switch {
	case c.Verb == engine.Refreshed:
		fmt.Fprintf(w, "  %s\n", w.style.Paint(render.Yellow, "would refresh"+because(s)+how(c)))
	case !ok:
		fmt.Fprintf(w, "  %s\n", w.style.Paint(render.Yellow, render.Visible(c.String())))
	default:
		fmt.Fprintf(w, "  %s\n", w.style.Paint(render.Yellow, render.Visible(c.Field)+": "+render.LineCounts(from, to)))
		render.WriteDiff(&w.Builder, w.style, from, to)
	}
}
