package sharing

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// errNone is the answer of a store that is not there.
var errNone = fmt.Errorf("%w: this program has no store; its author has to set the option World", world.ErrRefused)

// nobody is the Publisher of an engine that shares nothing.
type nobody struct{}

func (nobody) Run(context.Context)                        {}
func (nobody) Swapped(string, bool)                       {}
func (nobody) Stirred()                                   {}
func (nobody) Rested([resgraph.NumStates]int)             {}
func (nobody) Whole(*resgraph.Graph)                      {}
func (nobody) Part(map[string]*resgraph.Vertex, []string) {}

// nothing is the Exports of an engine that shares nothing. Like a collect.Reader, it is for one goroutine at a time.
type nothing struct{ wants []gapi.CollectDecl }

func (n *nothing) Want(_, _ context.Context, list []gapi.CollectDecl) { n.wants = list }
func (n *nothing) Wants() []gapi.CollectDecl                          { return n.wants }

// Declare returns no resource, and a warning at each wish.
func (n *nothing) Declare(*engine.Registry, func(string) bool) (_ []collect.Collected, notes schema.Diagnostics) {
	for i := range n.wants {
		notes = append(notes, schema.Diagnostic{
			Severity: schema.Warning, Pos: n.wants[i].Pos,
			Message: "nothing is collected: this program shares no store with other hosts; its author has to set the option World",
		})
	}
	return nil, notes
}

func (n *nothing) News() <-chan struct{} { return nil }
func (n *nothing) Signal()               {}
func (n *nothing) Close() error          { return nil }
