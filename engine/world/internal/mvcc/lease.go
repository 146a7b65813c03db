package mvcc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
)

// lease is in s.leases until its keys are deleted. keys are those that were put with
// it, and at times some more: the version of a key says whose it is. All is guarded by
// s.mu.
type lease struct {
	s      *Store
	owner  *Client
	number int64
	ttl    time.Duration
	keys   map[string]struct{}
	ended  bool          // it takes no more keys
	left   bool          // the clock ends it
	done   chan struct{} // closed with ended
}

// Lease implements world.World. It lives as long as the Client does.
func (c *Client) Lease(ctx context.Context, ttl time.Duration) (world.Lease, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	if ttl <= 0 {
		return nil, fmt.Errorf("%w: a lease of %s must be longer than nothing", world.ErrRefused, ttl)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.last++
	l := &lease{s: c.s, owner: c, number: c.s.last, ttl: ttl, keys: map[string]struct{}{}, done: make(chan struct{})}
	c.s.leases[l.number] = l
	return l, nil
}

// ID implements world.Lease.
func (l *lease) ID() string { return leaseID(l.number) }

func leaseID(number int64) string { return strconv.FormatInt(number, 10) }

// Holds implements world.Lease. No clock ends a lease whose Client lives.
func (l *lease) Holds() bool {
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// Held implements world.World.
func (c *Client) Held(id string) world.Lease {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	l := c.s.leases[number]
	if l == nil || l.owner != c || l.ended {
		return nil
	}
	return l
}

// Done implements world.Lease.
func (l *lease) Done() <-chan struct{} { return l.done }

// Leave implements world.Lease.
func (l *lease) Leave() {
	l.s.mu.Lock()
	before := l.ended
	l.left = l.left || !l.ended
	l.s.mu.Unlock()
	if !before {
		l.s.abandon(l)
	}
}

// Revoke implements world.Lease.
func (l *lease) Revoke(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.s.end(l)
}

// leasesOf returns the leases of a Client, oldest first. Those that were left belong to the last Client: no one would see their keys.
func (s *Store) leasesOf(c *Client) []*lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ls []*lease
	for _, n := range slices.Sorted(maps.Keys(s.leases)) {
		if l := s.leases[n]; l.owner == c && !l.left || l.left && s.users == 1 {
			ls = append(ls, l)
		}
	}
	return ls
}

// finish makes a lease take no more keys. It reports whether the keys are still there.
func (s *Store) finish(l *lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.ended {
		l.ended = true
		close(l.done)
	}
	_, there := s.leases[l.number]
	return there
}

// end deletes the keys of a lease as one revision. A Backend that fails keeps the
// keys; they are deleted with the next transaction, or when the store is opened again.
func (s *Store) end(l *lease) error {
	if !s.finish(l) {
		return nil
	}
	r := &request{ends: l}
	s.submit(context.Background(), r)
	return r.err
}

// endKeys deletes the keys of a lease.
func (s *Store) endKeys(w Writer, l *lease, now int64) error {
	s.mu.Lock()
	keys := slices.Sorted(maps.Keys(l.keys))
	s.mu.Unlock()
	rev := w.State().Rev
	for _, key := range keys {
		v, ok, err := w.Last(key, rev+1)
		if err != nil {
			return err
		}
		if ok && !v.Deleted && v.Lease == l.number {
			if err := w.Put(Version{Key: key, Rev: rev + 1, Deleted: true}, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// abandon lets the clock end a lease.
func (s *Store) abandon(l *lease) {
	s.finish(l)
	s.clock.AfterFunc(l.ttl, func() {
		_ = s.end(l)
		s.mu.Lock()
		s.users++
		s.mu.Unlock()
		_ = s.drop() // this lease may have been the last that kept the Backend open
	})
}

// attach gives keys to the leases that their operations name. A lease that has ended,
// or that is of another Store, refuses all of them.
func (s *Store) attach(ops []world.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range ops {
		if op.Lease == nil || op.Delete {
			continue
		}
		l, ok := op.Lease.(*lease)
		if !ok || l.s != s {
			return fmt.Errorf("%w: key %q: the lease is of another store", world.ErrRefused, op.Key)
		}
		if l.ended {
			return fmt.Errorf("key %q: %w", op.Key, world.ErrLeaseEnded)
		}
	}
	for _, op := range ops {
		if l, ok := op.Lease.(*lease); ok && !op.Delete {
			l.keys[op.Key] = struct{}{}
		}
	}
	return nil
}
