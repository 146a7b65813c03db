package daemon

import (
	"context"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Next are the settings that a reload takes over.
type Next struct {
	Kinds  kinds.Options
	Limits reactor.Limits
	Graph  *input.Config // another input; nil for the same one
	Env    input.Env     // of it

	// Taken is called when these settings count, but for Graph, and InEffect when the first graph of that is in effect. Both may be nil. The
	// kinds of the next graph are others where kinds is true, and the models where models is.
	Taken    func(kinds, models bool)
	InEffect func()
}

// beforeReload reads everything again that is not the graph. With an error nothing has changed. The Source is that of another input; nil
// for the same one. The engine calls it before each reading that was asked for, never twice at once.
func (d *Daemon) beforeReload(ctx context.Context) (source *mgmt.Source, err error) {
	if d.Again != nil {
		source, err = d.renew(ctx)
	}
	for _, f := range d.again {
		if err == nil {
			err = f(ctx)
		}
	}
	return source, err
}

// renew takes over the settings of now.
func (d *Daemon) renew(ctx context.Context) (*mgmt.Source, error) {
	next, wrong := d.Again(ctx)
	found, told := wrong.(schema.Diagnostics) // of settings; the findings of the folders come with them
	if wrong != nil && !told {
		return nil, wrong
	}
	next.Kinds.Changed = d.Kinds.Changed
	before := d.set.Load()
	set, more := kinds.Load(next.Kinds, before)
	if found = append(found, more...); found.Err() != nil {
		return nil, found
	}
	source, err := d.other(next)
	if err != nil {
		return nil, err
	}
	e := d.engine.Load()
	others := set.Kinds() != before.Kinds()
	if others {
		if err := e.SetKinds(set.Kinds(), set.Catalog()); err != nil {
			return nil, err
		}
	}
	if next.Limits != d.limits {
		if err := e.SetLimits(ctx, next.Limits); err != nil { // the end of the run, or of the request
			return nil, err
		}
		d.limits = next.Limits
	}
	models := before.Take(set)
	d.set.Store(set)
	if next.Taken != nil {
		next.Taken(others, models)
	}
	return source, nil
}

// other returns the source of another input; nil for the same one.
func (d *Daemon) other(next Next) (*mgmt.Source, error) {
	if next.Graph == nil {
		return nil, nil
	}
	in := input.New(*next.Graph, next.Env)
	front, err := in.Frontend()
	if err != nil {
		return nil, err
	}
	d.coming.Store(in)
	return &mgmt.Source{Frontend: d.whole(front), Input: in.Lasting(), Taken: func() {
		d.input.Store(in)
		if next.InEffect != nil {
			next.InEffect()
		}
	}}, nil
}
