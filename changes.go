package mgmt

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
)

// Changes gathers changes of single resources by their ids, as a work queue does by its keys, and puts them into effect in batches. While
// one batch is under way the next one gathers: a resource that changes many times meanwhile changes once, and the last change wins.
//
// Put and Delete never wait, and may be called from any goroutine, also before Run. The changes of a batch come and go in one change of
// the graph, as those of Engine.Patch do. Where that is refused, those that the error names are left out, and the others are tried
// again; where it names none, all are left out. What must come together, or not at all, is for Engine.Patch.
type Changes struct {
	e    *Engine
	turn chan struct{} // capacity 1; full while Run goes on
	some chan struct{} // capacity 1; full where there may be changes

	mu    sync.Mutex
	order []string                     // ids, as they were first named
	next  map[string]*gapi.Declaration // by id; nil for a removal
}

// Changes returns a writer without changes. Call its Run.
func (e *Engine) Changes() *Changes {
	return &Changes{e: e, turn: make(chan struct{}, 1), some: make(chan struct{}, 1), next: map[string]*gapi.Declaration{}}
}

// Put has a resource be as declared, in place of what was gathered for it. The declaration is the writer's from then on; static.Declare
// makes one. It may refer to resources that run, and to those that are put before its batch begins.
func (c *Changes) Put(d gapi.Declaration) {
	if d.Res != nil {
		d.Kind, d.Name = cmp.Or(d.Kind, d.Res.Kind()), cmp.Or(d.Name, d.Res.Name())
	}
	d = gapi.Qualified(c.e.registry(), d)
	c.gather(schema.Ref{Kind: strings.ToLower(d.Kind), Name: d.Name}.ID(), &d)
}

// Delete has a resource leave the graph, by its id (kind[name]). One that is not there has left.
func (c *Changes) Delete(id string) {
	if kind, name, ok := strings.Cut(id, "["); ok {
		id = strings.ToLower(kind) + "[" + name // as Put does
	}
	c.gather(id, nil)
}

func (c *Changes) gather(id string, d *gapi.Declaration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.next[id]; !there {
		c.order = append(c.order, id)
	}
	c.next[id] = d
	c.wake()
}

// Run puts into effect what is gathered, batch after batch, until ctx or the Engine ends. It calls refused for each change that is left
// out, with an error as of Engine.Patch; a removal that Options.MaxRemovals holds is for Engine.Delete then. Its error is the cause of
// the end of ctx, ErrNotRunning, or reactor.ErrStopped. The changes that are not in effect by then stay gathered, for the next Run. A
// second Run waits for the end of the first.
func (c *Changes) Run(ctx context.Context, refused func(id string, err error)) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if _, err := c.e.running(ctx); err != nil {
		return err
	}
	for {
		select {
		case <-c.some:
		case <-c.e.done:
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
func (c *Changes) batch(ctx context.Context, refused func(id string, err error)) error {
	c.mu.Lock()
	ids, changes := c.order, c.next
	c.order, c.next = nil, map[string]*gapi.Declaration{}
	c.mu.Unlock()
	for {
		ids = slices.DeleteFunc(ids, func(id string) bool { return changes[id] == nil && c.e.session.graphs.Parts().Find(id) == nil })
		if len(ids) == 0 {
			return nil // a change of nothing would be one, too: it ends the wait of a removal that is held
		}
		err := c.patch(ctx, changes, ids)
		if err == nil {
			return nil
		}
		left, hasLeft := errors.AsType[*reactor.UnknownResourceError](err)
		switch {
		case ctx.Err() != nil:
			c.giveBack(changes, ids)
			return context.Cause(ctx)
		case errors.Is(err, reactor.ErrStopped):
			c.giveBack(changes, ids)
			return err
		case hasLeft && slices.Contains(ids, left.Resource) && changes[left.Resource] == nil: // another change has removed it meanwhile
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == left.Resource })
			continue
		}
		wrong := atFault(err, changes)
		some := slices.ContainsFunc(ids, wrong)
		ids = slices.DeleteFunc(ids, func(id string) bool {
			if some && !wrong(id) {
				return false
			}
			refused(id, err)
			return true
		})
	}
}

// atFault returns which changes the error of a batch names.
func atFault(err error, changes map[string]*gapi.Declaration) func(id string) bool {
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
	if needed, ok := errors.AsType[*reactor.ReferredError](err); ok {
		names = append(names, needed.Resource)
	}
	_, held := errors.AsType[*reactor.RemovalsError](err)
	return func(id string) bool { return slices.Contains(names, id) || held && changes[id] == nil }
}

// patch puts some changes into effect, all or none.
func (c *Changes) patch(ctx context.Context, changes map[string]*gapi.Declaration, ids []string) error {
	part := &gapi.Declared{}
	var gone []string
	for _, id := range ids {
		if d := changes[id]; d != nil {
			part.Resources = append(part.Resources, *d)
		} else {
			gone = append(gone, id)
		}
	}
	if len(part.Resources) == 0 {
		return c.e.Delete(ctx, gone...)
	}
	return c.e.Patch(ctx, part, gone...)
}

// giveBack gathers changes again that are not in effect, but for those of which a later one has come.
func (c *Changes) giveBack(changes map[string]*gapi.Declaration, ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, later := c.next[id]; return later })
	for _, id := range ids {
		c.next[id] = changes[id]
	}
	c.order = append(ids, c.order...)
	c.wake()
}

// wake tells Run that there are changes.
func (c *Changes) wake() {
	select {
	case c.some <- struct{}{}:
	default:
	}
}
