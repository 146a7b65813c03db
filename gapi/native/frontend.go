package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Options are how a Frontend works. The zero value takes every object of the store.
type Options struct {
	Topics []string        // whose objects are declarations; nil is every topic, "" an object without a topic
	Used   <-chan struct{} // closed when the store is in use; until then, the graph is empty. nil is now
	// Accept returns why this host does not take the declaration of an object over, nil where it does. nil accepts all.
	Accept func(*gapi.Declaration) error
}

// Frontend yields the graph of stored objects. Make it with New.
type Frontend struct {
	nb     *model.NB
	o      Options
	effect effect
}

var _ gapi.Frontend = (*Frontend)(nil)

// New returns a frontend over the objects of an NB. The caller closes the World after the sequence has ended.
func New(nb *model.NB, o Options) *Frontend {
	return &Frontend{nb: nb, o: o, effect: effect{changed: make(chan struct{}, 1)}}
}

// Waits between two tries to reach the store.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = 10 * time.Second
)

// Graphs implements gapi.Frontend.
func (f *Frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		r := &reader{Frontend: f, env: env, objects: map[ident]*gapi.Declaration{}, faults: map[ident]error{}, versions: map[ident]version{}}
		if env.NoWatch {
			r.once(ctx, yield)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		p := newPump(f, env)
		wg.Go(func() { p.run(ctx) })
		r.follow(ctx, p, yield)
	}
}

// reader makes graphs of the changes. It belongs to one iteration, whose goroutine alone uses it.
// An object is in versions whether it can be declared or not, so that a faulty one gets a status too.
type reader struct {
	*Frontend
	env      gapi.Env
	objects  map[ident]*gapi.Declaration
	faults   map[ident]error // why an object cannot be declared
	versions map[ident]version
}

// ident names an object. An id belongs to one object of a table, whatever its topic.
type ident struct{ table, id string }

// String returns it as a resource: kind[name].
func (i ident) String() string { return schema.Ref{Kind: i.table, Name: i.id}.ID() }

// version is of an object as it is stored. The revision tells an object from an older one of the same id.
type version struct {
	model    *model.Model
	version  int64
	revision int64
}

// once yields the graph of this moment.
func (r *reader) once(ctx context.Context, yield func(*gapi.Declared, error) bool) {
	if !r.used() {
		yield(r.graph(), nil)
		return
	}
	_, all, err := r.nb.Snapshot(ctx, r.interest())
	if err != nil {
		yield(nil, fmt.Errorf("the objects of the store cannot be read: %w", err))
		return
	}
	r.take(all)
	yield(r.graph(), nil)
}

// used reports whether the store is open. An unused store has no objects, and a question would open it.
func (f *Frontend) used() bool {
	select {
	case <-f.o.Used:
		return true
	default:
		return f.o.Used == nil
	}
}

// interest is every kind in the topics of this host. Models apart from kinds are read too, so that their faults get a status.
func (f *Frontend) interest() model.Interest { return model.Interest{Topics: f.o.Topics} }

// follow yields a graph for each token of the pump, and for each question.
func (r *reader) follow(ctx context.Context, p *pump, yield func(*gapi.Declared, error) bool) {
	for {
		var err error
		select {
		case <-p.ready:
		case <-r.env.Reload:
			if r.env.Before != nil {
				err = r.env.Before(ctx)
			}
		case <-ctx.Done():
			return
		}
		// Changes that come from here on make the next graph, so none is lost between take and yield.
		fresh, changes := p.take()
		if fresh {
			clear(r.objects)
			clear(r.faults)
			clear(r.versions)
		}
		r.take(changes)
		var d *gapi.Declared
		if err == nil {
			d = r.graph()
		}
		if ctx.Err() != nil || !yield(d, err) {
			return
		}
	}
}

// take takes changes over.
func (r *reader) take(all []model.Change) {
	for _, c := range all {
		id := ident{c.Model.Table(), c.ID}
		delete(r.objects, id)
		delete(r.faults, id)
		delete(r.versions, id)
		if c.Action == model.Delete {
			continue
		}
		v := version{model: c.Model, revision: c.Revision}
		err := c.Err
		if err == nil {
			v.version = c.Object.Version()
			err = r.declare(id, c.Object)
		}
		if err != nil {
			r.faults[id] = err
		}
		r.versions[id] = v
	}
}

// declare makes the declaration of an object. Only the models of kinds declare something.
func (r *reader) declare(id ident, o *model.Object) error {
	if o.Model().Kind() == "" {
		return nil
	}
	d, err := Declaration(o)
	if err == nil && r.o.Accept != nil {
		err = r.o.Accept(d)
	}
	if err == nil {
		r.objects[id] = d
	}
	return err
}

// graph returns the declared graph of all objects.
func (r *reader) graph() *gapi.Declared {
	d := &gapi.Declared{Resources: make([]gapi.Declaration, 0, len(r.objects))}
	for _, o := range r.objects {
		d.Resources = append(d.Resources, *o)
	}
	// The order is that of the names, so an equal set of objects makes an equal graph.
	slices.SortFunc(d.Resources, func(a, b gapi.Declaration) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	d.Done = r.done()
	return d
}

// done returns what notes the outcome of the graph that is made now.
func (r *reader) done() func(gapi.Outcome) {
	all := make(map[string]inEffect, len(r.versions))
	for id, v := range r.versions {
		all[id.String()] = inEffect{ident: id, version: v, why: r.faults[id]}
	}
	return func(o gapi.Outcome) {
		if o.Err != nil {
			return // the graph before goes on, with its versions
		}
		now := maps.Clone(all) // the graph may be judged again, in another whole, while the Writer reads this
		for id, found := range o.Aside {
			if e, ok := now[id]; ok {
				e.why = found
				now[id] = e
			}
		}
		r.effect.set(now)
	}
}

// pump reads the store on its own goroutine, and keeps the latest change of each object until the reader takes them.
type pump struct {
	*Frontend
	env   gapi.Env
	ready chan struct{} // of capacity 1

	mu    sync.Mutex
	fresh bool // the changes are all that there is
	index map[ident]int
	list  []model.Change
}

func newPump(f *Frontend, env gapi.Env) *pump {
	return &pump{Frontend: f, env: env, ready: make(chan struct{}, 1), index: map[ident]int{}}
}

// run follows the store until the context ends, or the store is closed.
func (p *pump) run(ctx context.Context) {
	if !p.used() {
		p.put(true, nil)
		select {
		case <-p.o.Used:
		case <-ctx.Done():
			return
		}
	}
	wait, warned := firstWait, false
	for ctx.Err() == nil {
		err := p.follow(ctx, func() {
			if warned {
				p.env.Log().Info("the store of objects is back, and its objects are taken over again")
			}
			wait, warned = firstWait, false
		})
		switch {
		case errors.Is(err, engine.ErrCompacted):
			continue
		case ctx.Err() != nil, errors.Is(err, engine.ErrClosed):
			return
		}
		if !warned {
			warned = true
			p.env.Log().Warn("the objects of the store cannot be read: the graph of the last ones goes on", "error", err)
		}
		p.sleep(ctx, wait)
		wait = min(2*wait, lastWait)
	}
}

// sleep waits by the clock of the host, so that a test gives the time.
func (p *pump) sleep(ctx context.Context, d time.Duration) {
	woken, stop := engine.Wake(engine.ClockOf(p.env.Host), d)
	defer stop()
	select {
	case <-woken:
	case <-ctx.Done():
	}
}

// follow reads all objects, calls reached, and then reads changes until an error.
func (p *pump) follow(ctx context.Context, reached func()) error {
	at, all, err := p.nb.Snapshot(ctx, p.interest())
	if err != nil {
		return err
	}
	p.put(true, all)
	reached()
	for b, err := range p.nb.Watch(ctx, p.interest(), at) {
		if err != nil {
			return err
		}
		if len(b.Changes) > 0 {
			p.put(false, b.Changes)
		}
	}
	// A World ends a Watch only with an error, or with its context.
	return engine.ErrUnavailable // the sequence has ended without a reason; a context that has ended ends the loop
}

// put adds changes, and wakes the reader. It never waits for the reader: the latest change of each object is enough,
// since a graph needs no history.
func (p *pump) put(fresh bool, changes []model.Change) {
	p.mu.Lock()
	if fresh { // what waited is older than all that there is
		p.fresh, p.list = true, p.list[:0]
		clear(p.index)
	}
	for _, c := range changes {
		id := ident{c.Model.Table(), c.ID}
		if at, ok := p.index[id]; ok {
			p.list[at] = c
			continue
		}
		p.index[id] = len(p.list)
		p.list = append(p.list, c)
	}
	p.mu.Unlock()
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// take returns the changes since the last call.
func (p *pump) take() (fresh bool, changes []model.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh, changes = p.fresh, p.list
	p.fresh, p.list = false, nil
	clear(p.index)
	return fresh, changes
}
