// Package changes gathers changes of single resources by their ids, as a work queue does by its keys, and has batches of them put into
// effect. It is what mgmt.Changes stands on.
package changes

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/internal/install"
)

// Options are what a Queue works with.
type Options struct {
	Graphs   *install.Installer // puts batches into effect
	Registry func() *engine.Registry
	Done     <-chan struct{} // closed at the end of the engine
	Log      *slog.Logger
}

// Queue is the changes of one writer. While one batch is under way the next one gathers.
type Queue struct {
	opt  Options
	all  *Offers
	turn chan struct{} // capacity 1; full while Run goes on
	some chan struct{} // capacity 1; full where there may be changes

	mu       sync.Mutex
	order    []string                     // ids, as they were first named
	next     map[string]*gapi.Declaration // by id; nil for a removal
	held     map[string]bool              // removals of next that wait for Resume
	again    bool                         // held ones are to be tried: a removal has come or was taken back
	accepted *offer                       // Resume lets these go
}

// Offers are the removals of all writers of one engine that wait for somebody to agree. The zero value has none.
type Offers struct{ by sync.Map } // *offer by *Queue

// Queue returns a writer without changes.
func (o *Offers) Queue(opt Options) *Queue {
	return &Queue{opt: opt, all: o, turn: make(chan struct{}, 1), some: make(chan struct{}, 1), next: map[string]*gapi.Declaration{}, held: map[string]bool{}}
}

// Accept lets all go that wait.
func (o *Offers) Accept() {
	o.by.Range(func(c, of any) bool { c.(*Queue).accept(of.(*offer)); return true })
}

// Held takes a graph that takes effect, and returns why removals still wait beside it; nil where none do. The loop of the reactor calls it.
func (o *Offers) Held(w reactor.Swap) (why *reactor.RemovalsError) {
	o.by.Range(func(_, of any) bool {
		if of := of.(*offer); of.waits(w) {
			why = of.why
		}
		return true // each sees what leaves
	})
	return why
}

// offer is removals of one writer that wait, and why.
type offer struct {
	why    *reactor.RemovalsError
	ids    []string
	rest   map[string]bool // those of ids that the graph still has; the loop of the reactor owns it
	trying atomic.Bool     // these removals are in a batch, and may take effect
}

// waits reports whether something is left to accept beside a graph that takes effect. Another change may have removed it all.
func (of *offer) waits(w reactor.Swap) bool {
	for _, l := range w.Leaving {
		delete(of.rest, l.Resource)
	}
	return len(of.rest) > 0 && !of.trying.Load()
}

// Put is mgmt.Changes.Put.
func (c *Queue) Put(d gapi.Declaration) {
	if d.Res != nil {
		d.Kind, d.Name = cmp.Or(d.Kind, d.Res.Kind()), cmp.Or(d.Name, d.Res.Name())
	}
	d = gapi.Qualified(c.opt.Registry(), d)
	c.gather(schema.Ref{Kind: strings.ToLower(d.Kind), Name: d.Name}.ID(), &d)
}

// Delete is mgmt.Changes.Delete.
func (c *Queue) Delete(id string) {
	if kind, name, ok := strings.Cut(id, "["); ok {
		id = strings.ToLower(kind) + "[" + name // as Put does
	}
	c.gather(id, nil)
}

func (c *Queue) gather(id string, d *gapi.Declaration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.next[id]; !there {
		c.order = append(c.order, id)
	}
	c.next[id] = d
	c.again = c.again || d == nil || c.held[id]
	delete(c.held, id)
	c.wake()
}

// Run is mgmt.Changes.Run.
func (c *Queue) Run(ctx context.Context, refused func(id string, err error)) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if refused == nil {
		refused = func(id string, err error) {
			c.opt.Log.Warn("change refused", slog.String("resource", id), slog.String("error", err.Error()))
		}
	}
	for {
		select {
		case <-c.some:
		case <-c.opt.Done:
			return reactor.ErrStopped
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := c.batch(ctx, refused); err != nil {
			return err
		}
	}
}

// batch puts into effect what is gathered by now. The error is that of an Engine or a context that has ended.
func (c *Queue) batch(ctx context.Context, refused func(id string, err error)) error {
	b := c.take()
	defer c.all.by.CompareAndDelete(c, b.tried)
	for {
		b.ids = slices.DeleteFunc(b.ids, func(id string) bool { return b.changes[id] == nil && c.opt.Graphs.Parts().Find(id) == nil })
		if len(b.ids) == 0 {
			return nil // a change of nothing would be one, too
		}
		err := c.patch(ctx, b)
		if err == nil {
			return nil
		}
		left, hasLeft := errors.AsType[*reactor.UnknownResourceError](err)
		switch {
		case ctx.Err() != nil:
			c.giveBack(b)
			return context.Cause(ctx)
		case errors.Is(err, reactor.ErrStopped):
			c.giveBack(b)
			return err
		case hasLeft && b.removes(left.Resource): // another change has removed it meanwhile
			b.ids = slices.DeleteFunc(b.ids, func(id string) bool { return id == left.Resource })
			continue
		}
		_, held := errors.AsType[*reactor.RemovalsError](err)
		wrong := atFault(err)
		if held {
			wrong = b.removes
		}
		some := slices.ContainsFunc(b.ids, wrong)
		b.ids = slices.DeleteFunc(b.ids, func(id string) bool {
			if some && !wrong(id) {
				return false
			}
			if !held || !b.waited[id] {
				refused(id, err)
			}
			return true
		})
	}
}

// batch is changes that are put into effect together.
type batch struct {
	ids      []string
	changes  map[string]*gapi.Declaration // by id; nil for a removal
	waited   map[string]bool              // the removals that were held before
	accepted []string                     // the resources that Resume lets go
	tried    *offer                       // its removals are in the batch; nil for none
}

func (b *batch) removes(id string) bool {
	d, there := b.changes[id]
	return there && d == nil
}

// take returns the changes of the next batch. The removals that Resume lets go are one for themselves: with others they would be held
// again. The removals that are held come along where others do.
func (c *Queue) take() *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &batch{changes: map[string]*gapi.Declaration{}, waited: map[string]bool{}}
	due := func(id string) bool { return c.again || !c.held[id] }
	if of := c.accepted; of != nil {
		b.accepted = of.why.Removed
		going := map[string]bool{}
		for _, id := range of.ids {
			going[id] = true
		}
		due = func(id string) bool { return going[id] && c.next[id] == nil }
		defer c.wake() // for the others
	}
	var later []string
	for _, id := range c.order {
		if !due(id) {
			later = append(later, id)
			continue
		}
		b.ids, b.changes[id], b.waited[id] = append(b.ids, id), c.next[id], c.held[id]
		delete(c.next, id)
		delete(c.held, id)
	}
	if of, ok := c.all.by.Load(c); ok && (c.again || c.accepted != nil) {
		b.tried = of.(*offer)
		b.tried.trying.Store(true)
	}
	c.order, c.again, c.accepted = later, c.accepted != nil, nil
	return b
}

// keep gathers the removals of a batch again, until Resume lets them go or another one comes.
func (c *Queue) keep(b *batch, why *reactor.RemovalsError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := c.gatherAgain(b, b.removes)
	of := &offer{why: why, ids: ids, rest: map[string]bool{}}
	for _, id := range ids {
		c.held[id], of.rest[id] = true, true
	}
	if len(ids) > 0 {
		c.all.by.Store(c, of)
	}
}

// accept lets the removals of an offer go.
func (c *Queue) accept(of *offer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepted = of
	c.wake()
}

// atFault returns which changes the error of a batch names.
func atFault(err error) func(id string) bool {
	var names []string
	if found, ok := errors.AsType[schema.Diagnostics](err); ok {
		for _, d := range found {
			if d.Severity == schema.Error {
				names = append(names, d.Resource)
			}
		}
	}
	if found, ok := errors.AsType[reactor.InitErrors](err); ok {
		for _, e := range found {
			names = append(names, e.Resource)
		}
	}
	if cycle, ok := errors.AsType[*graph.CycleError](err); ok {
		names = append(names, cycle.Path...)
	}
	if referred, ok := errors.AsType[reactor.ReferredErrors](err); ok {
		for _, e := range referred {
			names = append(names, e.Resource)
		}
	}
	return func(id string) bool { return slices.Contains(names, id) }
}

// patch puts a batch into effect, all or nothing.
func (c *Queue) patch(ctx context.Context, b *batch) error {
	part := &gapi.Declared{}
	var gone []string
	for _, id := range b.ids {
		if d := b.changes[id]; d != nil {
			part.Resources = append(part.Resources, *d)
		} else {
			gone = append(gone, id)
		}
	}
	if len(part.Resources) == 0 {
		part = nil
	}
	return c.opt.Graphs.Write(ctx, b.accepted, func(why *reactor.RemovalsError) { c.keep(b, why) }, part, gone...)
}

// giveBack gathers the changes of a batch again that are not in effect.
func (c *Queue) giveBack(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gatherAgain(b, func(string) bool { return true })
	c.again = true
	c.wake()
}

// gatherAgain gathers some changes of a batch again, but for those of which a later one has come, and returns which.
func (c *Queue) gatherAgain(b *batch, which func(id string) bool) (ids []string) {
	for _, id := range b.ids {
		if !which(id) {
			continue
		}
		if _, later := c.next[id]; later {
			c.again = true
			continue
		}
		c.next[id] = b.changes[id]
		ids = append(ids, id)
	}
	c.order = slices.Concat(ids, c.order)
	return ids
}

// wake tells Run that there are changes.
func (c *Queue) wake() {
	select {
	case c.some <- struct{}{}:
	default:
	}
}
