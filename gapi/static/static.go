// Package static is the frontend for programs that build their graphs in Go: it
// yields what it was given.
package static

import (
	"context"
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
)

// Frontend yields graphs that a program made. Make it with New or From.
type Frontend struct{ graphs iter.Seq[*gapi.Declared] }

var _ gapi.Frontend = (*Frontend)(nil)

// New returns a frontend that yields the graphs, one after the other.
func New(graphs ...*gapi.Declared) *Frontend { return From(slices.Values(graphs)) }

// From returns a frontend that yields what the sequence yields. The sequence may
// block; it is up to its author that it ends with the context of Run.
func From(graphs iter.Seq[*gapi.Declared]) *Frontend { return &Frontend{graphs} }

// Graphs implements gapi.Frontend.
func (f *Frontend) Graphs(ctx context.Context, _ gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		for d := range f.graphs {
			if ctx.Err() != nil || !yield(d, nil) {
				return
			}
		}
	}
}

// Declare declares a ready resource. Its kind and name are set as given.
func Declare(kind, name string, res engine.Res) gapi.Declaration {
	return gapi.Declaration{Kind: kind, Name: name, Res: res}
}
