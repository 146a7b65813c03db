package daemon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Reloading is how a program takes part in reloads. Each function may be nil.
type Reloading struct {
	// Next returns the settings of now, at each reload, or what is wrong with them. When nil, those of the start count. It is called on the
	// goroutine that reads graphs, never twice at once.
	Next func(context.Context) (Next, error)
	// Waiting returns the warnings about settings that wait for a restart, for who has asked for a reload.
	Waiting func() []string
	// Requested is called when somebody asks over the socket for the graph to be read again; by is who, or empty. When nil, it is logged.
	Requested func(by string)
}

// renewal is what a Daemon knows of its reloads. But for requests and input, it belongs to the goroutine that reloads.
type renewal struct {
	requests chan struct{} // has everything read again
	hooks    []func(context.Context) error
	limits   reactor.Limits              // that count
	folders  kinds.Options               // that count
	input    atomic.Pointer[input.Input] // that is read next; its bounds hold for deploys too
}

// Next are the settings that a reload takes over; nil for what stays as it is.
type Next struct {
	Kinds  *kinds.Options
	Limits *reactor.Limits
	Graph  *input.Config // another input, with the Env of the Config
	Notify *[]notices.Receiver

	// Taken is called when these settings count, but for Graph, and InEffect when the first graph of that is in effect. Both may be nil. The
	// kinds of the next graph are others where kinds is true, and the models where models is.
	Taken    func(kinds, models bool)
	InEffect func()
}

// beforeReload reads everything again that is not the graph. With an error nothing has changed. The Source is that of another input; nil
// for the same one. The engine calls it before each reading that was asked for, never twice at once.
func (d *Daemon) beforeReload(ctx context.Context) (source *mgmt.Source, err error) {
	take := func() error { return nil }
	if d.Reloading.Next != nil {
		source, take, err = d.renew(ctx)
	}
	for _, f := range d.renewal.hooks {
		if err == nil {
			err = f(ctx)
		}
	}
	// The settings count after the last part that may refuse them.
	if err == nil {
		err = take()
	}
	return source, err
}

// renew reads the settings of now, and returns what has them count.
func (d *Daemon) renew(ctx context.Context) (*mgmt.Source, func() error, error) {
	next, wrong := d.Reloading.Next(ctx)
	found, told := wrong.(schema.Diagnostics) // of settings; the findings of the folders come with them
	if wrong != nil && !told {
		return nil, nil, wrong
	}
	from := d.renewal.folders
	if next.Kinds != nil {
		from = *next.Kinds
		from.Changed = d.Kinds.Changed
	}
	set, more := kinds.Load(from, d.set.Load())
	if found = append(found, more...); found.Err() != nil {
		return nil, nil, found
	}
	var receivers []*notices.Ready
	if next.Notify != nil {
		if receivers, wrong = notices.Prepare(*next.Notify, d.Env.From.Judge); wrong != nil {
			return nil, nil, wrong
		}
	}
	var source *mgmt.Source
	var in *input.Input // nil for the same one
	if next.Graph != nil {
		graph := *next.Graph
		graph.Stored = graph.Stored || len(d.TrustedKeys) > 0
		in = input.New(graph, d.Env)
		front, err := in.Frontend()
		if err != nil {
			return nil, nil, err
		}
		source = &mgmt.Source{Frontend: d.whole(front), Input: in.Lasting(), Taken: func() {
			d.input.Store(in)
			if next.InEffect != nil {
				next.InEffect()
			}
		}}
	}
	return source, func() error {
		err := d.take(ctx, next, set, in)
		if err == nil {
			d.renewal.folders = from
			if next.Notify != nil {
				d.notices.Set(receivers)
			}
		}
		return err
	}, nil
}

// checkApprove refuses kinds that there are not: their changes would never be asked about.
func checkApprove(a reactor.Approval, kinds *engine.Registry) (err error) {
	for _, kind := range a.Kinds {
		if !kinds.Has(kind) {
			err = errors.Join(err, fmt.Errorf("approve: there is no kind %q", kind))
		}
	}
	return err
}

// take has settings count. Kinds and limits come first, since they can fail.
func (d *Daemon) take(ctx context.Context, next Next, set *kinds.Set, in *input.Input) error {
	select {
	case <-d.opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if next.Limits != nil {
		if err := checkApprove(next.Limits.Approve, set.Kinds()); err != nil {
			return err
		}
	}
	e, before := d.engine.Load(), d.set.Load()
	others := set.Kinds() != before.Kinds()
	if others {
		if err := e.SetKinds(set.Kinds(), set.Catalog()); err != nil {
			return err
		}
	}
	if next.Limits != nil && (next.Limits.Policy != d.renewal.limits.Policy || !reflect.DeepEqual(*next.Limits, d.renewal.limits)) {
		if err := e.SetLimits(ctx, *next.Limits); err != nil { // the end of the run, or of the request
			return err
		}
		d.renewal.limits = *next.Limits
	}
	if in != nil {
		d.renewal.input.Store(in)
	}
	models := before.Take(set)
	d.set.Store(set)
	if next.Taken != nil {
		next.Taken(others, models)
	}
	return nil
}
