package lazy

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// World is an engine.World that is opened at its first use. Make it with New.
type World struct {
	open func() (engine.World, error)
	used chan struct{} // closed when world is set

	mu     sync.Mutex // held while the store is opened: other callers wait for it
	world  engine.World
	closed bool
}

var _ engine.World = (*World)(nil)

// New returns a World that open will open. The limits are engine.DefaultLimits, which
// the opened World must have too. The function is never called at once by two
// goroutines, and not again after it had no error.
func New(open func() (engine.World, error)) *World {
	return &World{open: open, used: make(chan struct{})}
}

// Used returns a channel that is closed when the store has been opened. A caller that
// needs no store of its own, and joins where others use it, waits for that.
func (w *World) Used() <-chan struct{} { return w.used }

// opened returns the store, and opens it where that is due.
func (w *World) opened() (engine.World, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return nil, engine.ErrClosed
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

// Get implements engine.World.
func (w *World) Get(ctx context.Context, key string) (engine.KV, error) {
	world, err := w.opened()
	if err != nil {
		return engine.KV{}, err
	}
	return world.Get(ctx, key)
}

// List implements engine.World.
func (w *World) List(ctx context.Context, prefix string, o engine.ListOptions) (engine.Page, error) {
	world, err := w.opened()
	if err != nil {
		return engine.Page{}, err
	}
	return world.List(ctx, prefix, o)
}

// Txn implements engine.World.
func (w *World) Txn(ctx context.Context, compares []engine.Compare, ops []engine.Op) (int64, bool, error) {
	world, err := w.opened()
	if err != nil {
		return 0, false, err
	}
	return world.Txn(ctx, compares, ops)
}

// Watch implements engine.World.
func (w *World) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[engine.Batch, error] {
	return func(yield func(engine.Batch, error) bool) {
		world, err := w.opened()
		if err != nil {
			yield(engine.Batch{}, err)
			return
		}
		world.Watch(ctx, prefix, from)(yield)
	}
}

// Lease implements engine.World.
func (w *World) Lease(ctx context.Context, ttl time.Duration) (engine.Lease, error) {
	world, err := w.opened()
	if err != nil {
		return nil, err
	}
	return world.Lease(ctx, ttl)
}

// Held implements engine.World. A store that was not opened has no lease.
func (w *World) Held(id string) engine.Lease {
	w.mu.Lock()
	world := w.world
	w.mu.Unlock()
	if world == nil {
		return nil
	}
	return world.Held(id)
}

// Limits implements engine.World.
func (w *World) Limits() engine.Limits { return engine.DefaultLimits() }

// Close implements engine.World.
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
