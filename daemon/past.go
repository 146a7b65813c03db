package daemon

import (
	"context"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/past"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// pastPart keeps the graphs that took effect, and puts an earlier one in the place of that of the input. There is none where the daemon has no
// state folder, or only looks.
type pastPart struct {
	d *Daemon
	*past.Keeper
}

// Open implements Part. It comes after the parts that add to the graph, so what it keeps is the graph with all that is beside it.
func (p *pastPart) Open(_ context.Context, d *Daemon) (err error) {
	p.d = d
	if d.Folder.Dir == "" || d.Options.Noop == reactor.NoopAll {
		return nil
	}
	if p.Keeper, err = past.Open(past.Options{Dir: d.Folder.Dir, Clock: clock.System{}, Log: d.Log}); err == nil {
		d.Beside(func(front gapi.Frontend) gapi.Frontend { return p.Beside(front, p.bounds) })
	}
	return err
}

// bounds returns how a kept graph is read. Its secrets are in it.
func (p *pastPart) bounds() yaml.Options { return p.d.renewal.input.Load().Foreign() }

// Start implements Part.
func (p *pastPart) Start(context.Context, *mgmt.Engine) error { return nil }

// Close implements Part.
func (p *pastPart) Close() error {
	if p.Keeper == nil {
		return nil
	}
	return p.Keeper.Close()
}

// keptGraphs answers for the past over the socket.
type keptGraphs struct {
	*past.Keeper
	input *graphInput
	part  *pastPart
}

// kept returns what answers for the past; nil for nothing.
func (p *pastPart) kept(in *graphInput) control.Kept {
	if p.Keeper == nil {
		return nil
	}
	return &keptGraphs{p.Keeper, in, p}
}

// Graphs implements control.Kept.
func (k *keptGraphs) Graphs(ctx context.Context) (*control.GraphList, error) {
	err := k.Wait(ctx)
	return k.List(), err
}

// Difference implements control.Kept.
func (k *keptGraphs) Difference(ctx context.Context, from, to int) (*control.GraphDiff, error) {
	all, err := k.Graphs(ctx)
	if err != nil {
		return nil, err
	}
	if to == 0 && len(all.Graphs) > 0 {
		to = all.Graphs[0].Number
	}
	o := k.part.bounds()
	o.Registry = k.part.d.set.Load().Kinds
	return k.Diff(from, to, o)
}

// Rollback implements control.Kept. The caller may go: the work is brought to its end.
func (k *keptGraphs) Rollback(ctx context.Context, req control.RollbackRequest) (*control.Verdict, error) {
	g := k.input
	if err := g.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-g.turn }()
	if err := k.Wait(ctx); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	by := control.CallerOf(ctx)
	if err := k.Pin(req.Number, by, req.Reason); err != nil {
		return nil, err
	}
	left, done := g.engine.AskedBy(by)
	defer done()
	return g.reload(ctx, left)
}

// Unpin implements control.Kept.
func (k *keptGraphs) Unpin(ctx context.Context) error {
	was, err := k.Keeper.Unpin()
	if !was || err != nil {
		return err
	}
	v, err := k.input.Reload(ctx)
	if err == nil && v.Refused != "" {
		return &control.Error{Status: 409, Text: "the rollback has ended, and the graph of the input was refused: " + v.Refused}
	}
	return err
}
