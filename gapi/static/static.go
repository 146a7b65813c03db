// Package static is the frontend for programs that build their graphs in Go: it
// yields the given graphs.
package static

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
)

// Frontend yields graphs that a program made. Make it with New, From or Chan.
type Frontend struct {
	list iter.Seq[*gapi.Declared]
	sent <-chan *gapi.Declared // of Chan
	open bool                  // sent is to be received from
}

var _ gapi.Frontend = (*Frontend)(nil)

// New returns a frontend that yields the graphs, one after the other.
func New(graphs ...*gapi.Declared) *Frontend { return From(slices.Values(graphs)) }

// From returns a frontend that yields the graphs of the sequence. The sequence may
// block; it is up to its author that it ends with the context of Run.
func From(graphs iter.Seq[*gapi.Declared]) *Frontend { return &Frontend{list: graphs} }

// Chan returns a frontend that yields each graph that comes from the channel, until the channel is closed or
// the context of Run ends. The caller owns the channel. A graph that is sent waits until the engine has taken
// the graph before it.
func Chan(graphs <-chan *gapi.Declared) *Frontend {
	return &Frontend{list: func(func(*gapi.Declared) bool) {}, sent: graphs, open: true}
}

// Graphs implements gapi.Frontend. Env.Reload has the last graph yielded again: once the sequence is over, and
// between two graphs of a channel. A graph of ready resources belongs to the graph
// that runs, and answers with an error.
func (f *Frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		var last *gapi.Declared
		for d := range f.list {
			if ctx.Err() != nil || !yield(d, nil) {
				return
			}
			last = d
		}
		for open := f.open; open || env.Reload != nil; {
			var d *gapi.Declared
			var err error
			select {
			case <-ctx.Done():
				return
			case d, open = <-f.whileOpen(open):
				if !open {
					continue
				}
				last = d
			case <-env.Reload:
				d, err = reread(ctx, env, last)
			}
			if ctx.Err() != nil || !yield(d, err) {
				return
			}
		}
	}
}

// whileOpen returns the channel of graphs, and after its end one that nothing comes from.
func (f *Frontend) whileOpen(open bool) <-chan *gapi.Declared {
	if open {
		return f.sent
	}
	return nil
}

// reread answers a question for the last graph.
func reread(ctx context.Context, env gapi.Env, last *gapi.Declared) (*gapi.Declared, error) {
	d, err := again(last)
	if env.Before != nil {
		err = cmp.Or(env.Before(ctx), err)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

var (
	errNothing = errors.New("there is no graph to load again")
	errReady   = errors.New("a graph of resources made in Go can't be loaded again; let the program yield a new one, see static.From")
)

// again returns a graph that was yielded before, if it may be yielded once more.
func again(d *gapi.Declared) (*gapi.Declared, error) {
	switch {
	case d == nil:
		return nil, errNothing
	case slices.ContainsFunc(d.Resources, func(r gapi.Declaration) bool { return r.Res != nil }):
		return nil, errReady
	default:
		return d, nil
	}
}

// Declare declares a ready resource. Its kind and name are set as given.
func Declare(kind, name string, res engine.Res) gapi.Declaration {
	return gapi.Declaration{Kind: kind, Name: name, Res: res}
}
