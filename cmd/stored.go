package cmd

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world/kept"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/merge"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// objects are the stored objects of a run. They are declared in addition to the graph of the input.
// It is for one run: start is called once, and close last.
type objects struct {
	front *native.Frontend
	// host is the name of this host in the topics and in the statuses.
	host string
	used <-chan struct{} // closed when the store is in use; nil for a store that is
	seal *trust.Secrets
	kept *kept.World // of a store of several hosts; nil for another one
	log  *slog.Logger
}

// openObjects returns the objects of a store as declarations. nb is that of the API: this host's graph is made of the same models.
// accept says which objects this host takes over; nil for all. dir is the state folder; "" is none.
func openObjects(nb *model.NB, host string, roles []string, accept func(*gapi.Declaration) error, s *trust.Secrets, dir string, log *slog.Logger) *objects {
	o := &objects{host: cmp.Or(host, hostname()), seal: s, log: log}
	w := nb.World()
	if c, ok := w.(*store.Clustered); ok {
		path := ""
		if dir != "" {
			path = filepath.Join(dir, store.KeptFile)
		}
		o.kept = kept.New(w, kept.Options{Path: path, Prefix: model.Records, Away: c.Away, Log: log})
		w, nb = o.kept, nb.Over(o.kept)
	}
	// A store that is made at its first use must not be made by the reading of objects.
	if late, ok := w.(interface{ Used() <-chan struct{} }); ok {
		o.used = late.Used()
	}
	o.front = native.New(nb, native.Options{Topics: trust.Topics(o.host, roles), Used: o.used, Declare: s.Declare, Accept: accept})
	return o
}

// hostname returns the name of this machine, empty where it has none.
// The kernel gives the name; uname(2). Nothing is looked up in the network.
func hostname() string {
	name, _ := os.Hostname()
	return name
}

// with adds the objects to a frontend.
func (o *objects) with(front gapi.Frontend) gapi.Frontend { return merge.New(front, o.front) }

// start writes the statuses of the objects while the engine runs. The returned function ends it.
func (o *objects) start(ctx context.Context, e *mgmt.Engine) (end func()) {
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
		wg.Go(func() { o.seal.Publish(ctx, o.log) })
		w := native.NewWriter(o.front, o.host, &stateTeller{e}, nil, o.log)
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
	return func() {
		cancel()
		wg.Wait()
	}
}

// close lets go of the file of the objects, after the frontend has ended.
// A failure costs the last lines of the file at most, and the store has them.
func (o *objects) close() {
	if o.kept == nil {
		return
	}
	if err := o.kept.Close(); err != nil {
		o.log.Debug("the file of the objects was not closed in order", "error", err)
	}
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
	list, err := t.e.Statuses(ctx)
	if err != nil {
		return nil, err
	}
	states := make([]native.State, len(list))
	for i, s := range list {
		states[i] = stateOf(s.Resource, s)
	}
	return states, nil
}

// stateOf returns the state of a resource in the form that is stored. The text of its error goes along.
// The engine has taken secrets out of errors by then.
func stateOf(resource string, s mgmt.Status) native.State {
	state := native.State{Resource: resource, State: s.State.String(), BlockedBy: s.BlockedBy, Changed: s.Changed}
	if s.Err != nil {
		state.Error = s.Err.Error()
	}
	return state
}
