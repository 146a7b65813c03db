package yaml

import (
	"context"

	"github.com/reactivegraph/mgmt/gapi"
)

// View shows the store of an Env to graphs that are read from memory, as Frontend shows it to
// graphs that it reads itself. It follows only the parts that a graph has asked for. Its caller
// closes it. Its functions may be called from any goroutine.
type View struct{ store *store }

// NewView returns a view. It asks nothing yet, and ends with the context, too. The Env has a World.
func NewView(ctx context.Context, env gapi.Env) View { return View{newStore(ctx, env)} }

// Options returns options whose graphs see the store.
func (v View) Options(o Options) Options {
	o.Hosts, o.Scheduled = v.store.hosts, v.store.scheduled
	return o
}

// Wake has a token when a part of the store that a graph has read is another one. It is never closed.
func (v View) Wake() <-chan struct{} { return v.store.wake }

// Close ends the following, and waits for that.
func (v View) Close() { v.store.end() }
