package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
)

// Options are how a Frontend works. The zero value takes every object of the store.
type Options struct {
	Topics []string        // whose objects are declarations; nil is every topic, "" an object without a topic
	Used   <-chan struct{} // closed when the store is in use; until then, the graph is empty. nil is now
	// Accept returns why this host does not take the declaration of an object over, nil where it does. nil accepts all. It is called
	// on many goroutines at once.
	Accept func(*gapi.Declaration) error
	// Declare makes the declaration of an object, with its secrets in clear; nil is Declaration, for a store without secrets.
	Declare func(*model.Object) (*gapi.Declaration, error)
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

// Graphs implements gapi.Frontend. The first graph is empty where the store cannot be read yet: the graphs of other frontends
// must not wait for it.
func (f *Frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		r := &reader{Frontend: f, env: env, set: newSet()}
		if env.NoWatch {
			r.onDemand(ctx, yield)
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
type reader struct {
	*Frontend
	env gapi.Env
	set *set
}

// ident names an object. An id belongs to one object of a table, whatever its topic.
type ident struct{ table, id string }

// String returns it as a resource: kind[name].
func (i ident) String() string { return schema.Ref{Kind: i.table, Name: i.id}.ID() }

// entry is an object as it is stored. It is never altered. A faulty object has an entry too, so that it gets a status.
type entry struct {
	ident
	model    *model.Model
	version  int64
	revision int64              // tells an object from an older one of the same id
	declared *gapi.Declaration  // nil for an object without a resource
	runs     ident              // the name that the resource has in the graph: with its target, where it has one
	fault    schema.Diagnostics // why it declares nothing, where it should
}

// set is all objects in the order of their names, so that an equal set makes an equal graph. A copy costs nothing, and is
// not altered with the set.
type set struct{ *btree.BTreeG[*entry] }

func newSet() *set {
	return &set{btree.NewBTreeGOptions(func(a, b *entry) bool {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.id, b.id)) < 0
	}, btree.Options{NoLocks: true})}
}

// objectOf returns the name of the object whose resource has a name in the graph; the same name where there is none.
func (s *set) objectOf(runs ident) ident {
	for at := strings.LastIndexByte(runs.id, '@'); at >= 0; at = strings.LastIndexByte(runs.id[:at], '@') {
		if e := s.at(ident{runs.table, runs.id[:at]}); e != nil && e.runs == runs {
			return e.ident
		}
	}
	return runs
}

// at returns the object of a name, nil for none.
func (s *set) at(id ident) *entry {
	e, _ := s.Get(&entry{ident: id})
	return e
}

// graph returns the declared graph of all objects.
func (s *set) graph() *gapi.Declared {
	d := &gapi.Declared{Resources: make([]gapi.Declaration, 0, s.Len())}
	s.Scan(func(e *entry) bool {
		if e.declared != nil {
			d.Resources = append(d.Resources, *e.declared)
		}
		return true
	})
	return d
}

// onDemand yields the graph of this moment, and another one each time when that is asked for.
func (r *reader) onDemand(ctx context.Context, yield func(*gapi.Declared, error) bool) {
	for {
		d, err := r.once(ctx)
		if ctx.Err() != nil || !yield(d, err) || r.env.Reload == nil {
			return
		}
		select {
		case <-r.env.Reload:
		case <-ctx.Done():
			return
		}
		for err := r.before(ctx); err != nil; err = r.before(ctx) {
			if !yield(nil, err) {
				return
			}
			select {
			case <-r.env.Reload:
			case <-ctx.Done():
				return
			}
		}
	}
}

// before calls Env.Before, if there is one.
func (r *reader) before(ctx context.Context) error {
	if r.env.Before == nil {
		return nil
	}
	return r.env.Before(ctx)
}

// once returns the graph of this moment.
func (r *reader) once(ctx context.Context) (*gapi.Declared, error) {
	var all []model.Change
	if r.used() {
		var err error
		if _, all, err = r.nb.Snapshot(ctx, r.interest()); err != nil {
			return nil, fmt.Errorf("the objects of the store cannot be read: %w", err)
		}
	}
	r.set = newSet()
	return r.declared(r.take(all, true), true), nil
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
		asked := false
		select {
		case <-p.ready:
		case <-r.env.Reload:
			asked = true
			err = r.before(ctx)
		case <-ctx.Done():
			return
		}
		var d *gapi.Declared
		if err == nil {
			// Changes that come from here on make the next graph, so none is lost between take and yield.
			fresh, changes := p.take()
			if fresh {
				r.set = newSet()
			}
			if d = r.declared(r.take(changes, fresh), fresh || asked); !p.knows() {
				d.Done = nil // the statuses of the daemon before tell more than a graph that is empty for now
			}
		}
		if ctx.Err() != nil || !yield(d, err) {
			return
		}
	}
}

// take takes changes over, and returns the objects before and after them. A fresh list is the whole store. In another list
// a change that is older than its object is left out: a topic may tell of it after another topic has told of a later move.
func (r *reader) take(all []model.Change, fresh bool) []moved {
	if !fresh {
		all = slices.DeleteFunc(all, func(c model.Change) bool {
			e := r.set.at(ident{c.Model.Table(), c.ID})
			return e != nil && c.Revision < e.revision
		})
	}
	list := make([]moved, len(all))
	r.entries(all, list)
	for i := range list {
		m := &list[i]
		m.was = r.set.at(m.ident)
		if m.is == nil {
			r.set.Delete(&entry{ident: m.ident})
		} else {
			r.set.Set(m.is)
		}
	}
	return list
}

// eachAtOnce is how many objects one goroutine reads.
const eachAtOnce = 1000

// entries reads the changed objects into list. Many are read on all processors, on goroutines that end before it returns.
func (r *reader) entries(all []model.Change, list []moved) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for from := 0; from < len(all); from += eachAtOnce {
		read := func() {
			for i, c := range all[from:min(from+eachAtOnce, len(all))] {
				m := &list[from+i]
				m.ident = ident{c.Model.Table(), c.ID}
				if c.Action != model.Delete {
					m.is = r.entry(m.ident, c)
				}
			}
		}
		if len(all) <= eachAtOnce {
			read()
		} else {
			wg.Go(read)
		}
	}
}

// moved is one object before and after a change; nil where there is none.
type moved struct {
	ident
	was, is *entry
}

// entry reads an object. Only the models of kinds declare something.
func (r *reader) entry(id ident, c model.Change) *entry {
	e := &entry{ident: id, model: c.Model, revision: c.Revision, runs: id}
	err := c.Err
	if err == nil {
		e.version = c.Object.Version()
		if c.Model.Kind() != "" {
			e.declared, err = r.declare(c.Object)
		}
	}
	if err == nil && e.declared != nil {
		e.runs.id = gapi.Qualified(r.env.Kinds(), *e.declared).Name
	}
	if err != nil {
		e.declared = nil
		e.fault = schema.Diagnostics{{Resource: id.String(), Pos: placeOf(c.Model, c.ID), Message: err.Error()}}
	}
	return e
}

// declare makes the declaration of an object, if this host accepts it.
func (r *reader) declare(o *model.Object) (*gapi.Declaration, error) {
	declare := r.o.Declare
	if declare == nil {
		declare = Declaration
	}
	d, err := declare(o)
	if err == nil && r.o.Accept != nil {
		given := d.Meta
		if err = r.o.Accept(d); err == nil {
			if keys := lend.Dropped(given, d.Meta); len(keys) > 0 {
				r.env.Log().Warn("metaparameters of an object do not count on this host", "resource", schema.Ref{Kind: d.Kind, Name: d.Name}.ID(),
					"metaparameters", keys, "hint", "the setting accept lets them in by "+d.Kind+".meta")
			}
		}
	}
	return d, err
}

// declared returns the graph after some changes, as a part of it unless everything may differ.
func (r *reader) declared(changed []moved, all bool) *gapi.Declared {
	now := &set{r.set.Copy()}
	p := &gapi.Part{All: all, Whole: now.graph}
	if !all {
		for _, m := range changed {
			switch {
			case m.is != nil && m.is.declared != nil:
				p.Resources = append(p.Resources, *m.is.declared)
			case m.was != nil && m.was.declared != nil:
				p.Removed = append(p.Removed, m.String())
			}
		}
	}
	at := r.effect.await(changed, all)
	return &gapi.Declared{Part: p, Done: func(o gapi.Outcome) {
		if o.Err == nil { // else the graph before goes on, with its versions
			r.effect.set(at, now, o.Aside)
		}
	}}
}

// pump reads the store on its own goroutine, and keeps the latest change of each object until the reader takes them.
type pump struct {
	*Frontend
	env   gapi.Env
	ready chan struct{} // of capacity 1

	mu    sync.Mutex
	begun bool // there is a first graph, maybe an empty one
	known bool // the objects of the store are known
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
		listed := false
		err := p.follow(ctx, func() {
			listed = true
			if warned {
				p.env.Log().Info("the store of objects is back, and its objects are taken over again")
			}
			wait, warned = firstWait, false
		})
		switch {
		case ctx.Err() != nil, errors.Is(err, world.ErrClosed):
			return
		case errors.Is(err, errOthers):
			continue
		case errors.Is(err, world.ErrCompacted) && listed: // the store is there; a list of all at each turn would keep it busy
			p.sleep(ctx, firstWait)
			continue
		}
		if !warned {
			warned = true
			p.env.Log().Warn("the objects of the store cannot be read: the graph of the last ones goes on", "error", err)
		}
		p.begin()
		p.sleep(ctx, wait)
		wait = min(2*wait, lastWait)
	}
}

// begin has an empty graph made where there was none yet: the graphs of other frontends do not wait for the store.
func (p *pump) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.begun {
		p.begun, p.fresh = true, true
		wake(p.ready)
	}
}

// knows reports whether the store has told its objects, or is not used.
func (p *pump) knows() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

// sleep waits by the clock of the host, so that a test gives the time.
func (p *pump) sleep(ctx context.Context, d time.Duration) {
	woken, stop := clock.After(engine.ClockOf(p.env.Host), d)
	defer stop()
	select {
	case <-woken:
	case <-ctx.Done():
	}
}

// errOthers says that the models and kinds are others now, so all objects are read anew.
var errOthers = errors.New("the models have changed")

// follow reads all objects, calls reached, and then reads changes until an error.
func (p *pump) follow(ctx context.Context, reached func()) error {
	changed := p.nb.Registry().Changed()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-changed:
			cancel(errOthers)
		case <-ctx.Done():
		}
	}()
	err := p.read(ctx, reached)
	if cause := context.Cause(ctx); errors.Is(cause, errOthers) {
		return cause
	}
	return err
}

// read is follow for as long as the models stay.
func (p *pump) read(ctx context.Context, reached func()) error {
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
	return world.ErrUnavailable // the sequence has ended without a reason; a context that has ended ends the loop
}

// put adds changes, and wakes the reader. It never waits for the reader: the latest change of each object is enough,
// since a graph needs no history.
func (p *pump) put(fresh bool, changes []model.Change) {
	p.mu.Lock()
	p.begun, p.known = true, true
	if fresh { // the waiting changes are older than these
		p.fresh, p.list = true, p.list[:0]
		clear(p.index)
	}
	for _, c := range changes {
		id := ident{c.Model.Table(), c.ID}
		if at, ok := p.index[id]; ok {
			if c.Revision >= p.list[at].Revision { // the topics are told of one after another
				p.list[at] = c
			}
			continue
		}
		p.index[id] = len(p.list)
		p.list = append(p.list, c)
	}
	p.mu.Unlock()
	wake(p.ready)
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
