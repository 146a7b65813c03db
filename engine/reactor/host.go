package reactor

import (
	"cmp"
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/safepath"
)

// vertexHost is a vertex's handle on the machine. A run that waits in it gives its slot back
// meanwhile.
type vertexHost vertex

var (
	_ engine.Host     = (*vertexHost)(nil)
	_ hosting.Sharer  = (*vertexHost)(nil)
	_ hosting.Waiter  = (*vertexHost)(nil)
	_ hosting.Writers = (*vertexHost)(nil)
	_ safepath.Host   = (*vertexHost)(nil)

	_ planning.Host = (*vertexHost)(nil)
)

// Watch implements engine.Host.
func (h *vertexHost) Watch(ctx context.Context, paths []string, o events.Options) (sub events.Subscription, err error) {
	o.Resource = h.ID
	sub, err = h.core.opt.Host.Watch(ctx, paths, o)
	return (*vertex)(h).watch.Subs().AddOf(sub, paths), err
}

// Bus implements engine.Host.
func (h *vertexHost) Bus(ctx context.Context, which bus.Kind) (bus.Bus, error) {
	bus, err := h.core.opt.Host.Bus(ctx, which)
	if err != nil {
		return nil, err
	}
	return vertexBus{bus, (*vertex)(h)}, nil
}

// Command implements engine.Host.
func (h *vertexHost) Command(ctx context.Context, c engine.Command) (_ *engine.Result, err error) {
	defer (*vertex)(h).wait(ctx)()
	if c.Newest != nil && ctx.Value(runKey{}) != nil {
		h.run.mu.Lock()
		h.run.says().newest = c.Newest
		h.run.mu.Unlock()
	}
	if c.Cost != "" && ctx.Err() == nil {
		ended := (*vertex)(h).finishing(ctx, &c)
		defer func() { ended(err) }()
	}
	return h.core.opt.Host.Command(ctx, c)
}

// Facts implements engine.Host.
func (h *vertexHost) Facts() engine.Facts { return h.core.opt.Host.Facts() }

// WatchFacts implements engine.Host.
func (h *vertexHost) WatchFacts(ctx context.Context) (events.Subscription, error) {
	sub, err := h.core.opt.Host.WatchFacts(ctx)
	return (*vertex)(h).watch.Subs().Add(sub), err
}

// Clock is asked for by engine.ClockOf.
func (h *vertexHost) Clock() clock.Clock { return h.core.opt.Clock }

// Waits implements hosting.Waiter.
func (h *vertexHost) Waits(ctx context.Context) (done func()) { return (*vertex)(h).wait(ctx) }

// Writing implements hosting.Writers.
func (h *vertexHost) Writing(ctx context.Context, path string) bool {
	host, ok := h.core.opt.Host.(hosting.Writers)
	switch {
	case !ok:
		return false
	case host.Writing(ctx, path):
		h.run.mu.Lock()
		defer h.run.mu.Unlock()
		h.run.says().leaves = true
		return true
	}
	(*vertex)(h).catchUp()
	return false
}

// Paths implements safepath.Host. A vertex whose own effect is in the layer looks at the machine alone.
func (h *vertexHost) Paths() safepath.Walker {
	if h.core.opt.Layer == nil || h.run.laid != notLaid {
		return h.core.opt.paths
	}
	return h.core.opt.Layer.Paths(h)
}

// Plans implements planning.Host.
func (h *vertexHost) Plans(kind, name string) bool {
	return h.core.opt.Layer != nil && h.core.opt.Layer.Plans(kind, name)
}

// Frees implements planning.Host.
func (h *vertexHost) Frees(path string) bool {
	if h.core.opt.Layer == nil || (*vertex)(h).onlyLooks() {
		return false
	}
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	h.run.says().frees = path
	return true
}

// Untold implements planning.Host.
func (h *vertexHost) Untold() { h.Awaits("") }

// Awaits implements Looker.
func (h *vertexHost) Awaits(resource string) {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	s := h.run.says()
	s.untold, s.awaits = true, cmp.Or(s.awaits, resource)
}

// Moved implements Looker.
func (h *vertexHost) Moved() { h.core.moved.Store((*vertex)(h), nil) }

// SharedOf implements hosting.Sharer.
func (h *vertexHost) SharedOf(key string) engine.Shared {
	return h.core.env.SharedOf(key)
}

type vertexBus struct {
	bus.Bus
	v *vertex
}

// Call implements bus.Bus.
func (b vertexBus) Call(ctx context.Context, dest, path, method string, args ...any) ([]any, error) {
	defer b.v.wait(ctx)()
	return b.Bus.Call(ctx, dest, path, method, args...)
}

// Signals implements bus.Bus.
func (b vertexBus) Signals(ctx context.Context, m ...bus.Match) (events.Subscription, error) {
	sub, err := b.Bus.Signals(ctx, m...)
	return b.v.watch.Subs().Add(sub), err
}

// wait says that the run waits for something outside until the returned
// function is called. It does nothing if ctx is not that of a run.
func (v *vertex) wait(ctx context.Context) (done func()) {
	lead, _ := ctx.Value(runKey{}).(*vertex)
	if lead == nil {
		return func() {}
	}
	lead.run.waits.Add(1)
	lead.core.mail.post(lead, mailSlot)
	return func() {
		lead.run.waits.Add(-1)
		lead.core.mail.post(lead, mailSlot)
	}
}
