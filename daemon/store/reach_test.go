package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// answering is a World whose every answer is an error.
type answering struct {
	world.World
	err error
}

func (a *answering) Get(context.Context, string) (world.KV, error) { return world.KV{}, a.err }
func (a *answering) List(context.Context, string, world.ListOptions) (world.Page, error) {
	return world.Page{}, a.err
}
func (a *answering) Txn(context.Context, []world.Compare, []world.Op) (int64, bool, error) {
	return 0, false, a.err
}
func (a *answering) Lease(context.Context, time.Duration) (world.Lease, error) { return nil, a.err }
func (a *answering) Watch(context.Context, string, int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) { yield(world.Batch{}, a.err) }
}

// stillClock is a clock that a test moves.
type stillClock struct {
	clock.System
	now time.Time
}

func (c *stillClock) Now() time.Time { return c.now }

// TestReach: every kind of question tells that the store is away, and that it is back. The first moment and the last reason count.
func TestReach(t *testing.T) {
	away := fmt.Errorf("no server: %w", world.ErrUnavailable)
	questions := map[string]func(context.Context, world.World){
		"get":   func(ctx context.Context, w world.World) { _, _ = w.Get(ctx, "k") },
		"list":  func(ctx context.Context, w world.World) { _, _ = w.List(ctx, "k", world.ListOptions{}) },
		"txn":   func(ctx context.Context, w world.World) { _, _, _ = w.Txn(ctx, nil, nil) },
		"lease": func(ctx context.Context, w world.World) { _, _ = w.Lease(ctx, time.Second) },
		"watch": func(ctx context.Context, w world.World) {
			for range w.Watch(ctx, "", 0) {
				return
			}
		},
	}
	for name, question := range questions {
		a, clock := &answering{}, &stillClock{now: time.Unix(100, 0)}
		r := &reach{World: a, clock: clock}
		step := func(err error, want time.Time, reason error) {
			t.Helper()
			a.err = err
			question(t.Context(), r)
			if since, why := r.Lost(); !since.Equal(want) || !errors.Is(why, reason) {
				t.Errorf("%s after %v: lost since %v, %v", name, err, since, why)
			}
			clock.now = clock.now.Add(time.Second)
		}
		step(nil, time.Time{}, nil)
		step(away, time.Unix(101, 0), away)
		other := fmt.Errorf("no leader: %w", world.ErrUnavailable)
		step(other, time.Unix(101, 0), other)
		step(world.ErrClosed, time.Unix(101, 0), other)
		step(world.ErrRefused, time.Time{}, nil)
		expired := fmt.Errorf("%w: %w", world.ErrRefused, etcd.ErrCertificate)
		step(expired, time.Unix(105, 0), expired)
		step(world.ErrRefused, time.Time{}, nil)
		step(away, time.Unix(107, 0), away)
		step(nil, time.Time{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		step(away, time.Unix(109, 0), away)
		a.err = context.Canceled
		question(ctx, r)
		if since, _ := r.Lost(); since.IsZero() {
			t.Errorf("%s: a caller that went away has found the store again", name)
		}
	}
}
