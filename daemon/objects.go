package daemon

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/world/kept"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/merge"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// objectsPart declares the objects of the store beside the graph of the input, and writes their statuses.
type objectsPart struct {
	d     *Daemon
	front *native.Frontend
	used  <-chan struct{} // closed when the store is in use; nil for a store that is
	kept  *kept.World     // of a store of several hosts; nil for another one
	end   func()
}

// Open implements Part.
func (o *objectsPart) Open(_ context.Context, d *Daemon) error {
	o.d, o.end = d, func() {}
	w, nb := d.World, d.Objects
	if c, ok := w.(*store.Clustered); ok {
		path := ""
		if d.Folder.Dir != "" {
			path = filepath.Join(d.Folder.Dir, store.KeptFile)
		}
		o.kept = kept.New(w, kept.Options{Path: path, Prefix: model.Records, Away: c.Away, Log: d.Log})
		w, nb = o.kept, nb.Over(o.kept)
	}
	// A store that is made at its first use must not be made by the reading of objects.
	if late, ok := w.(interface{ Used() <-chan struct{} }); ok {
		o.used = late.Used()
	}
	o.front = native.New(nb, native.Options{
		Topics: trust.ObjectTopics(d.Host, d.Kinds.Roles), Used: o.used, Declare: d.Secrets.Declare, Accept: d.Store.Accepted(d.set.Load().Tables().Kinds),
	})
	d.Beside(func(front gapi.Frontend) gapi.Frontend { return merge.New(front, o.front) })
	return nil
}

// Start implements Part.
func (o *objectsPart) Start(ctx context.Context, e *mgmt.Engine) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		// An unused store has no objects, and so no statuses, and no key of this host.
		if o.used != nil {
			select {
			case <-o.used:
			case <-ctx.Done():
				return
			}
		}
		wg.Go(func() { o.d.Secrets.Publish(ctx, o.d.Log) })
		w := native.NewWriter(o.front, o.d.Host, &stateTeller{e}, nil, o.d.Log)
		wg.Go(func() { w.Run(ctx) })
		// The loop ends with ctx or with the run. An event that was missed makes all states
		// doubtful.
		for ev := range e.Events(ctx) {
			switch ev.Kind {
			case mgmt.EventRan:
				w.Touch(ev.Run.Resource)
			case mgmt.EventConverged:
				w.Rested()
			case mgmt.EventHeld, mgmt.EventReleased, mgmt.EventPaused, mgmt.EventResumed, mgmt.EventMissed:
				w.Touch("") // others may be blocked by it, or not any more
			}
		}
	})
	o.end = func() {
		cancel()
		wg.Wait()
	}
	return nil
}

// Close implements Part. A file that can't be closed lacks its last lines at most, and the store has them.
func (o *objectsPart) Close() error {
	o.end()
	if o.kept == nil {
		return nil
	}
	if err := o.kept.Close(); err != nil {
		o.d.Log.Debug("the file of the objects was not closed in order", "error", err)
	}
	return nil
}

// stateTeller is the engine as native.Writer asks it.
// Its methods block until the loop of the engine answers, or ctx ends.
type stateTeller struct{ e *mgmt.Engine }

// State implements native.Engine.
func (t *stateTeller) State(ctx context.Context, resource string) (native.State, bool) {
	s, err := t.e.Status(ctx, resource)
	return stateOf(resource, s), err == nil
}

// States implements native.Engine.
func (t *stateTeller) States(ctx context.Context) ([]native.State, error) {
	now, err := t.e.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	states := make([]native.State, len(now.Statuses))
	for i, s := range now.Statuses {
		states[i] = stateOf(s.Resource, s)
	}
	return states, nil
}

// stateOf returns the state of a resource in the form that is stored. The text of its error goes along.
// The engine has taken secrets out of errors by then.
func stateOf(resource string, s reactor.Status) native.State {
	state := native.State{Resource: resource, State: s.State.String(), BlockedBy: s.BlockedBy, Changed: s.Changed}
	if s.Err != nil {
		state.Error = s.Err.Error()
	}
	return state
}
