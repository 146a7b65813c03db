package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/selection"
	"github.com/reactivegraph/mgmt/gapi"
)

// Preview is what a Run would do now: a step for each resource, in the order of the
// graph.
type Preview struct {
	Graph  string
	Steps  []Step
	Report Report

	// Leaving has the resources that the graph in effect has and this one has not: their work stays as it is. What is in effect is
	// known from the state folder and Options.Input. A resource whose work would be undone is a Step with Left.
	Leaving []string
	// Asking are those of Leaving for which a Run that does not end by itself holds the graph until somebody agrees (leaving: ask).
	Asking []string

	graph *resgraph.Graph // with groups
}

// ExitCode is that of Report, and 2 for a pending change where a resource leaves.
func (p *Preview) ExitCode() int {
	code := p.Report.ExitCode()
	if len(p.Leaving) > 0 && (code == 0 || code == 4) {
		code += 2
	}
	return code
}

// Step is what a Run would do with one resource.
type Step struct {
	reactor.Run

	// Because has the resources whose change would refresh this one.
	Because []string
	// BlockedBy is the resource that keeps this one from being looked at, with
	// StateBlocked.
	BlockedBy string
	// Policy has the rules that match what it would change. One that denies it makes a failed step.
	Policy []reactor.Ruling
	// Left is set on resources that are not in the graph any more: Run would bring
	// back the state before their first change.
	Left bool
}

// MarshalJSON writes the fields of the run and those of the step, with Err as its text; it is left out where it is nil.
func (s Step) MarshalJSON() ([]byte, error) {
	type run reactor.Run // without its MarshalJSON, which would leave the other fields out
	return json.Marshal(struct {
		run
		Err       string `json:",omitempty"`
		Because   []string
		BlockedBy string
		Policy    []reactor.Ruling `json:",omitempty"`
		Left      bool
	}{run(s.Run), textOf(s.Err), s.Because, s.BlockedBy, s.Policy, s.Left})
}

// Plan looks at the first graph of the frontend and says what Run would do. It
// alters nothing, not even the folders in which resources keep state, starts no
// Watch, and returns when everything has been looked at. The error is that of
// the graph; a resource that fails is a step in StateFailed.
func Plan(ctx context.Context, o Options, f gapi.Frontend) (*Preview, error) {
	o.Noop, o.NoWatch, o.Strict = reactor.NoopAll, true, true
	o.ConvergedExit, o.ConvergedTimeout = true, 0
	c := &collector{last: map[string]reactor.Run{}}
	o.Observer.Ran = both(o.Observer.Ran, c.ran)
	e, err := start(ctx, options{Options: o, readOnly: true}, f)
	if err == nil {
		err = e.Wait()
	}
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && !e.report.Converged {
		return nil, errors.Join(errors.New("the plan was not finished"), context.Cause(ctx))
	}
	g := e.session.graphs.Parts().Grouped()
	left := e.session.leaving(g)
	p := &Preview{Graph: g.Name, Steps: c.steps(g, e.statuses), Report: e.report, Leaving: left.All, Asking: left.Asking, graph: g}
	p.judge(e)
	return p, nil
}

// judge has the policy judge each change.
func (p *Preview) judge(e *Engine) {
	policy := e.opt.Policy
	if policy == nil {
		return
	}
	past := e.session.past()
	for i := range p.Steps {
		s := &p.Steps[i]
		at, ok := p.graph.Index(s.Resource)
		if !ok || s.State != resgraph.StateWouldChange {
			continue
		}
		v := p.graph.Value(at)
		for _, of := range append([]*resgraph.Vertex{v}, v.Special().Group...) {
			q := &reactor.Proposed{ID: of.Res.String(), Res: of.Res, Changes: s.Changes, Now: engine.ClockOf(e.host).Now()}
			q.Secret = func(key string, _ any) bool { return slices.Contains(of.Special().Secret, key) }
			if past != nil {
				q.Past = func() reactor.Past { return past(q.ID) }
			}
			s.Policy = append(s.Policy, policy.Change(q)...)
		}
		if err := reactor.Denied(s.Policy); err != nil {
			p.Report.Counts[s.State]--
			s.State, s.Err = resgraph.StateFailed, err
			p.Report.Counts[s.State]++
		}
	}
}

// Select parts a plan into the resources that a selection has, by the states of the plan, and all others. Of what leaves, the kind and
// the name alone are known. The error is a *selection.Error for a text that can't be read, or a *selection.NoneError.
func (p *Preview) Select(text string) (selected, others *Preview, err error) {
	sel, err := selection.Of(text, func(id string) bool {
		_, ok := resgraph.Find(p.graph, id)
		return ok || slices.Contains(p.Leaving, id)
	})
	if err != nil {
		return nil, nil, err
	}
	selected, others = &Preview{Graph: p.Graph, graph: p.graph}, &Preview{Graph: p.Graph, graph: p.graph}
	for _, part := range []*Preview{selected, others} {
		part.Report.Converged = p.Report.Converged
	}
	var all []selection.Item
	for _, s := range p.Steps {
		part, items := others, p.items(&s)
		if slices.ContainsFunc(items, sel.Match) {
			part = selected
		}
		part.Steps = append(part.Steps, s)
		part.Report.Counts[s.State]++
		all = append(all, items...)
	}
	for _, id := range p.Leaving {
		part, item := others, selection.Named(id)
		if sel.Match(item) {
			part = selected
		}
		part.Leaving = append(part.Leaving, id)
		if slices.Contains(p.Asking, id) {
			part.Asking = append(part.Asking, id)
		}
		all = append(all, item)
	}
	if len(selected.Steps)+len(selected.Leaving) == 0 {
		return nil, nil, sel.None(text, all)
	}
	return selected, others, nil
}

// items returns what a selection may know of the resource of a step.
func (p *Preview) items(s *Step) []selection.Item {
	items := []selection.Item{selection.Named(s.Resource)}
	if i, ok := p.graph.Index(s.Resource); ok {
		items = selection.Items(s.Resource, p.graph.Value(i))
	}
	for i := range items {
		items[i].State = s.State.String()
	}
	return items
}

// collector keeps the last run of each resource.
type collector struct {
	mu   sync.Mutex
	last map[string]reactor.Run
}

func (c *collector) ran(r reactor.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[r.Resource] = r
}

// steps joins the last runs with how the graph stood at the end.
func (c *collector) steps(g *resgraph.Graph, statuses []reactor.Status) []Step {
	order, err := g.Sort()
	if err != nil || len(statuses) != g.Len() {
		return nil // Run has refused it
	}
	steps := make([]Step, 0, len(order))
	for _, i := range order {
		st := statuses[i]
		run, ok := c.last[st.Resource]
		if !ok {
			run = reactor.Run{Resource: st.Resource, State: st.State, Err: st.Err, Until: st.Until, Noop: true}
		}
		s := Step{Run: run, Because: c.causes(g, i, run), Left: g.Value(i).Special().Once}
		if s.State == resgraph.StateBlocked {
			s.BlockedBy = st.BlockedBy
		}
		steps = append(steps, s)
	}
	return steps
}

// causes names the vertices that would refresh vertex i.
func (c *collector) causes(g *resgraph.Graph, i int, run reactor.Run) []string {
	if !run.Refreshed {
		return nil
	}
	var because []string
	for e := range g.InEdges(i) {
		if from := g.ID(e.From); e.Notify && c.last[from].State == resgraph.StateWouldChange {
			because = append(because, from)
		}
	}
	return because
}
