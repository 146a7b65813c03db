// Package feed takes graphs from frontends, one by one, and has them judged. A reload has the frontend read its input again, or
// goes over to another frontend.
//
// # Laws
//
//   - A frontend is asked for its next graph after the verdict on the one before.
//   - The answer to a reload is the verdict on a graph that was read after the question.
//   - Every question gets one answer, also where there are no more graphs.
//   - Another source counts from the moment when its first graph is in effect. If that graph is refused, the frontend before goes on.
package feed

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/install"
)

// errMoved is the answer of a frontend that was asked to reload, and may have come to its end by that.
var errMoved = errors.New("the graph comes from another source")

// Options say where graphs go, and how a frontend reads them. All fields are needed but Before and the switches.
type Options struct {
	Env    gapi.Env                    // of each frontend; Reload and Before are the feed's where Reloads is set
	Reload <-chan struct{}             // has the frontend read its input again; nil for a feed that does not reload
	Asks   <-chan chan install.Verdict // the same, with the question for the verdict on that graph

	// Before is called before the input is read again. Its error refuses the reload. A Source that it returns is read in place of
	// the input. Nil for nothing to do.
	Before func(context.Context) (*Source, error)

	To Taker // puts the graphs into effect
	// Refused is told of a graph that is refused, where the feed goes on.
	Refused func(error)

	First  bool // the feed ends with the first graph that is in effect
	Strict bool // the feed ends with an error where the first graph can't be used
}

// Taker puts a graph into effect, or refuses it; see install.Installer.
type Taker interface {
	// Take judges a graph, or the error in its place. From is nil where the input is that of the graph before.
	Take(ctx context.Context, d *gapi.Declared, wrong error, from *string) (install.Verdict, error)
}

// Source is another frontend, to which a reload goes over once the first graph of that one is in effect.
type Source struct {
	Frontend gapi.Frontend
	Input    string // its name
	Taken    func() // called once, when the source counts, by the goroutine that reads graphs; nil for none
}

// Feed gives the graphs of frontends to one Run, one frontend after the other. Run serves one goroutine, and Answer another.
type Feed struct {
	Options
	reloading *reloading
	from      pulled
	next      *Source // the source to which the reload of this moment goes over; nil for none
	good      bool    // there was a graph that could be used
	last      error   // of the last graph that could not
}

// New returns a feed.
func New(o Options) *Feed { return &Feed{Options: o, reloading: newReloading()} }

// Answer carries the questions of Reload and Asks until ctx ends.
func (d *Feed) Answer(ctx context.Context) { d.reloading.run(ctx, d.Asks, d.Reload) }

// pulled is a frontend that is asked for its graphs one by one.
type pulled struct {
	graph func() (*gapi.Declared, error, bool) // iter.Pull2's
	stop  func()
}

// Run gives the graphs of a frontend to the Taker until ctx ends or there are no more graphs. A nil frontend has none, and is no error.
func (d *Feed) Run(ctx context.Context, f gapi.Frontend) error {
	defer close(d.reloading.over)
	if f == nil {
		return nil
	}
	d.from = d.pull(ctx, f)
	defer func() { d.from.stop() }()
	for {
		g, err, more := d.from.graph()
		var v install.Verdict
		switch {
		case ctx.Err() != nil:
			return nil
		case !more:
			return d.end()
		case errors.Is(err, errMoved):
			v, err = d.move(ctx)
		default:
			v, err = d.To.Take(ctx, g, err, nil)
		}
		if ended, err := d.judge(ctx, g, v, err); ended {
			return err
		}
	}
}

// pull has a frontend read its input.
func (d *Feed) pull(ctx context.Context, f gapi.Frontend) pulled {
	env := d.Env
	if d.Reload != nil {
		env.Reload, env.Before = d.reloading.ask, d.before
	}
	next, stop := iter.Pull2(f.Graphs(ctx, env))
	return pulled{next, stop}
}

// before is Env.Before of all frontends.
func (d *Feed) before(ctx context.Context) (err error) {
	if d.Before == nil {
		return nil
	}
	if d.next, err = d.Before(ctx); err == nil && d.next != nil {
		err = errMoved
	}
	return err
}

// move goes over to the next source if its first graph can be used. The frontend before waits meanwhile.
func (d *Feed) move(ctx context.Context) (install.Verdict, error) {
	next := d.next
	from := d.pull(ctx, next.Frontend)
	g, err, more := from.graph()
	if !more {
		err = errNoGraph
	}
	v, err := d.To.Take(ctx, g, err, &next.Input)
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
func (d *Feed) judge(ctx context.Context, g *gapi.Declared, v install.Verdict, err error) (ended bool, _ error) {
	switch {
	case ctx.Err() != nil, err == nil && d.First: // a plan is of the first graph
		return true, nil
	case err == nil:
		d.good = true
		d.judged(ctx, v)
		return false, nil
	case !d.good && d.Strict && v.Held() == nil && !(g != nil && g.Again): // a held graph waits for Resume
		return true, err
	}
	d.last = err
	d.Refused(err)
	d.judged(ctx, v)
	return false, nil
}

var errNoGraph = errors.New("the frontend has given no graph")

// end returns the error of a run whose frontend has no more graphs.
func (d *Feed) end() error {
	if d.good {
		return nil
	}
	return cmp.Or(d.last, errNoGraph)
}
