package store

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// reach is a World that remembers whether its last answer came. A daemon always has requests in flight, as it follows the store and retries,
// so no probe of its own is needed. It is safe for concurrent use.
type reach struct {
	world.World
	clock clock.Clock

	mu   sync.Mutex
	lost time.Time // when the store stopped answering; zero while it answers
	why  error
}

// note records the outcome of a request. The store is away after world.ErrUnavailable, and where one side rejects the certificate of the
// other. One that refuses a request is there. A request that its caller has cancelled says nothing.
func (r *reach) note(ctx context.Context, err error) {
	away := errors.Is(err, world.ErrUnavailable) || errors.Is(err, etcd.ErrCertificate)
	if !away && (ctx.Err() != nil || errors.Is(err, world.ErrClosed)) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !away:
		r.lost, r.why = time.Time{}, nil
	case r.lost.IsZero():
		r.lost, r.why = r.clock.Now(), err
	// The time of the first failure stays, and only the reason is the newest one.
	default:
		r.why = err
	}
}

// Lost returns since when the store has not answered, and the last reason; zero and nil while it answers.
func (r *reach) Lost() (since time.Time, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost, r.why
}

// Get implements world.World.
func (r *reach) Get(ctx context.Context, key string) (world.KV, error) {
	kv, err := r.World.Get(ctx, key)
	r.note(ctx, err)
	return kv, err
}

// List implements world.World.
func (r *reach) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	page, err := r.World.List(ctx, prefix, o)
	r.note(ctx, err)
	return page, err
}

// Txn implements world.World.
func (r *reach) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (int64, bool, error) {
	revision, ok, err := r.World.Txn(ctx, compares, ops)
	r.note(ctx, err)
	return revision, ok, err
}

// Watch implements world.World.
// Each batch is an answer. A Watch that is silent says nothing about the store.
func (r *reach) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		for b, err := range r.World.Watch(ctx, prefix, from) {
			r.note(ctx, err)
			if !yield(b, err) {
				return
			}
		}
	}
}

// Lease implements world.World.
func (r *reach) Lease(ctx context.Context, ttl time.Duration) (world.Lease, error) {
	l, err := r.World.Lease(ctx, ttl)
	r.note(ctx, err)
	return l, err
}
