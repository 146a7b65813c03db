package lazy

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
)

// World is an world.World that is opened at its first use. Make it with New.
type World struct {
	open func() (world.World, error)
	used chan struct{} // closed when world is set

	mu     sync.Mutex // held while the store is opened: other callers wait for it
	world  world.World
	closed bool
}

var _ world.World = (*World)(nil)

// New returns a World that open will open. The limits are world.DefaultLimits, which
// the opened World must have too. The function is never called at once by two
// goroutines, and not again after it had no error.
func New(open func() (world.World, error)) *World {
	return &World{open: open, used: make(chan struct{})}
}

// Used returns a channel that is closed when the store has been opened. A caller that
// needs no store of its own, and joins where others use it, waits for that.
func (w *World) Used() <-chan struct{} { return w.used }

// opened returns the store, and opens it where that is due.
func (w *World) opened() (world.World, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return nil, world.ErrClosed
	case w.world != nil:
		return w.world, nil
	}
	world, err := w.open()
	if err != nil {
		return nil, err
	}
	w.world = world
	close(w.used)
	return world, nil
}

// Keep has a store that keeps a file write that again where it was removed. A store that was not opened has none.
func (w *World) Keep() error {
	w.mu.Lock()
	kept, ok := w.world.(interface{ Keep() error })
	w.mu.Unlock()
	if !ok {
		return nil
	}
	return kept.Keep()
}

// Get implements world.World.
func (w *World) Get(ctx context.Context, key string) (world.KV, error) {
	ws, err := w.opened()
	if err != nil {
		return world.KV{}, err
	}
	return ws.Get(ctx, key)
}

// List implements world.World.
func (w *World) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	ws, err := w.opened()
	if err != nil {
		return world.Page{}, err
	}
	return ws.List(ctx, prefix, o)
}

// Txn implements world.World.
func (w *World) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (int64, bool, error) {
	world, err := w.opened()
	if err != nil {
		return 0, false, err
	}
	return world.Txn(ctx, compares, ops)
}

// Watch implements world.World.
func (w *World) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		ws, err := w.opened()
		if err != nil {
			yield(world.Batch{}, err)
			return
		}
		ws.Watch(ctx, prefix, from)(yield)
	}
}

// Lease implements world.World.
func (w *World) Lease(ctx context.Context, ttl time.Duration) (world.Lease, error) {
	world, err := w.opened()
	if err != nil {
		return nil, err
	}
	return world.Lease(ctx, ttl)
}

// Held implements world.World. A store that was not opened has no lease.
func (w *World) Held(id string) world.Lease {
	w.mu.Lock()
	world := w.world
	w.mu.Unlock()
	if world == nil {
		return nil
	}
	return world.Held(id)
}

// Limits implements world.World.
func (w *World) Limits() world.Limits { return world.DefaultLimits() }

// Close implements world.World.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.world == nil {
		return nil
	}
	return w.world.Close()
}
