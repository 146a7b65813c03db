package mgmt

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/reactivegraph/mgmt/gapi"
)

// Source is another place that graphs come from, to which a reload goes over. Its first graph decides:
// the source counts from the moment when that graph is in effect. If the graph is refused, or held by
// MaxRemovals, the frontend before goes on, and so does its graph.
type Source struct {
	Frontend gapi.Frontend
	Input    string // its name; see Options.Input
	Taken    func() // called once, when the source counts, by the goroutine that reads graphs; nil for none
}

// errMoved is the answer of a frontend that was asked to reload, and may have come to its end by that.
var errMoved = errors.New("the graph comes from another source")

// feed gives the graphs of frontends to the reactor, one frontend after the other.
type feed struct {
	*session
	from pulled
	next *Source // the source to which the reload of this moment goes over; nil for none
	good bool    // there was a graph that could be used
	last error   // of the last graph that could not
}

// pulled is a frontend that is asked for its graphs one by one.
type pulled struct {
	graph func() (*gapi.Declared, error, bool) // iter.Pull2's
	stop  func()
}

// feed gives the frontend's graphs to the reactor.
func (s *session) feed(ctx context.Context, f gapi.Frontend) error {
	if f == nil {
		return nil
	}
	d := &feed{session: s}
	d.from = d.pull(ctx, f)
	defer func() { d.from.stop() }()
	for {
		g, err, more := d.from.graph()
		var v Verdict
		switch {
		case ctx.Err() != nil:
			return nil
		case !more:
			return d.end()
		case errors.Is(err, errMoved):
			v, err = d.move(ctx)
		default:
			v, err = s.take(ctx, g, err, nil)
		}
		if ended, err := d.judge(ctx, g, v, err); ended {
			return err
		}
	}
}

// pull has a frontend read its input.
func (d *feed) pull(ctx context.Context, f gapi.Frontend) pulled {
	o := &d.opt
	env := gapi.Env{
		Registry: d.e.registry, Host: d.host, NoWatch: o.NoWatch,
		Hostname: d.hostname, Logger: o.Logger, Stdin: o.Stdin,
	}
	if o.World != nil {
		env.World = d.sharing.Store
	}
	if o.Reload != nil {
		env.Reload, env.Before = d.reloading.ask, d.before
	}
	next, stop := iter.Pull2(f.Graphs(ctx, env))
	return pulled{next, stop}
}

// before is Env.Before of all frontends.
func (d *feed) before(ctx context.Context) (err error) {
	if d.opt.BeforeReload == nil {
		return nil
	}
	if d.next, err = d.opt.BeforeReload(ctx); err == nil && d.next != nil {
		err = errMoved
	}
	return err
}

// move goes over to the next source if its first graph can be used. The frontend before waits meanwhile.
func (d *feed) move(ctx context.Context) (Verdict, error) {
	next := d.next
	from := d.pull(ctx, next.Frontend)
	g, err, more := from.graph()
	if !more {
		err = errNoGraph
	}
	v, err := d.take(ctx, g, err, next)
	if err != nil {
		from.stop()
		return v, err
	}
	d.from.stop()
	d.from = from
	if next.Taken != nil {
		next.Taken()
	}
	return v, nil
}

// judge tells what became of a graph. It returns whether Run ends by that, and with which error.
func (d *feed) judge(ctx context.Context, g *gapi.Declared, v Verdict, err error) (ended bool, _ error) {
	o := &d.opt
	switch {
	case ctx.Err() != nil, err == nil && o.readOnly: // a plan is of the first graph
		return true, nil
	case err == nil:
		d.good = true
		d.judged(ctx, v)
		return false, nil
	case !d.good && o.Strict && v.Held() == nil && !(g != nil && g.Again): // a held graph waits for Resume
		return true, err
	}
	d.last = err
	d.e.tell(Event{Kind: EventRefused, Err: err})
	d.judged(ctx, v)
	return false, nil
}

var errNoGraph = errors.New("the frontend has given no graph")

// end returns the error of a run whose frontend has no more graphs.
func (d *feed) end() error {
	if d.good {
		return nil
	}
	return cmp.Or(d.last, errNoGraph)
}
