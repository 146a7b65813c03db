package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// lease is alive while it is in w.leases. All of it is guarded by w.mu.
type lease struct {
	w    *World
	ttl  time.Duration
	ends time.Time
	keys map[string]struct{}
}

// Lease implements engine.World.
func (w *World) Lease(ctx context.Context, ttl time.Duration) (engine.Lease, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case ttl <= 0:
		return nil, fmt.Errorf("a lease of %s: it must be longer than nothing", ttl)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &lease{w: w, ttl: ttl, ends: w.clock.Now().Add(ttl), keys: map[string]struct{}{}}
	w.leases[l] = struct{}{}
	w.arm()
	return l, nil
}

// Renew implements engine.Lease. The error is engine.ErrNotFound once the lease
// has ended.
func (l *lease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.expire()
	if _, alive := l.w.leases[l]; !alive {
		return fmt.Errorf("the lease has ended: %w", engine.ErrNotFound)
	}
	l.ends = l.w.clock.Now().Add(l.ttl)
	l.w.arm()
	return nil
}

// Revoke implements engine.Lease. A lease that has ended is revoked already.
func (l *lease) Revoke(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if _, alive := l.w.leases[l]; alive {
		l.w.end(l)
		l.w.arm()
	}
	return nil
}

// end deletes the keys of a lease as one revision.
func (w *World) end(l *lease) {
	delete(w.leases, l)
	var ops []engine.Op
	for _, key := range slices.Sorted(maps.Keys(l.keys)) {
		ops = append(ops, engine.Op{Key: key, Delete: true})
	}
	w.commit(ops)
}

// expire ends the leases whose time has come, the earliest first.
func (w *World) expire() {
	if len(w.leases) == 0 {
		return
	}
	now := w.clock.Now()
	var due []*lease
	for l := range w.leases {
		if !l.ends.After(now) {
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b *lease) int {
		return cmp.Or(a.ends.Compare(b.ends), cmp.Compare(first(a), first(b)))
	})
	for _, l := range due {
		w.end(l)
	}
}

func first(l *lease) string {
	if len(l.keys) == 0 {
		return ""
	}
	return slices.Min(slices.Collect(maps.Keys(l.keys)))
}

// arm sets the timer to the earliest end.
func (w *World) arm() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
	var next time.Time
	for l := range w.leases {
		if next.IsZero() || l.ends.Before(next) {
			next = l.ends
		}
	}
	if next.IsZero() {
		return
	}
	w.stop = w.clock.AfterFunc(next.Sub(w.clock.Now()), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.expire()
		w.arm()
	})
}
