package mvcc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Client is one user of a Store, and an world.World: a host, where many share one
// Store in memory.
type Client struct {
	s     *Store
	ended atomic.Bool
	over  chan struct{} // closed by Close and Abandon
}

var _ world.World = (*Client)(nil)

// Client returns a new user.
func (s *Store) Client() *Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
	return &Client{s: s, over: make(chan struct{})}
}

// Limits implements world.World.
func (c *Client) Limits() world.Limits { return c.s.limits }

// Close implements world.World. The last Close of a Store closes its Backend.
func (c *Client) Close() error {
	if !c.ended.CompareAndSwap(false, true) {
		return nil
	}
	var failed []error
	for _, l := range c.s.leasesOf(c) {
		failed = append(failed, c.s.end(l))
	}
	close(c.over)
	return errors.Join(append(failed, c.s.drop())...)
}

// Abandon ends the Client as the death of its process would: its leases run out by
// the clock. Only tests and simulations of many hosts call it.
func (c *Client) Abandon() {
	if !c.ended.CompareAndSwap(false, true) {
		return
	}
	for _, l := range c.s.leasesOf(c) {
		c.s.abandon(l)
	}
	close(c.over)
	_ = c.s.drop()
}

// drop counts a Client out. The Backend stays open for leases that run out.
func (s *Store) drop() error {
	s.mu.Lock()
	s.users--
	last := s.users == 0 && len(s.leases) == 0 && !s.closed
	s.closed = s.closed || last
	s.mu.Unlock()
	if !last {
		return nil
	}
	return s.backend.Close()
}

// ready returns why a call cannot be served.
func (c *Client) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.ended.Load() {
		return world.ErrClosed
	}
	return nil
}

// Get implements world.World.
func (c *Client) Get(ctx context.Context, key string) (kv world.KV, err error) {
	if err := c.ready(ctx); err != nil {
		return kv, err
	}
	err = c.s.backend.View(func(r Reader) error {
		v, ok, err := r.Last(key, r.State().Rev)
		if err != nil {
			return err
		}
		if !ok || v.Deleted {
			return fmt.Errorf("key %q: %w", key, world.ErrNotFound)
		}
		kv = v.kv()
		return nil
	})
	return kv, err
}

func (v Version) kv() world.KV {
	kv := world.KV{Key: v.Key, Value: slices.Clone(v.Value), Revision: v.Rev, Created: v.Created}
	if v.Lease != 0 && !v.Deleted {
		kv.Lease = leaseID(v.Lease)
	}
	return kv
}

// List implements world.World.
func (c *Client) List(ctx context.Context, prefix string, o world.ListOptions) (p world.Page, err error) {
	if err := c.ready(ctx); err != nil {
		return p, err
	}
	err = c.s.backend.View(func(r Reader) error {
		p = world.Page{Revision: o.At}
		switch st := r.State(); {
		case o.At == 0:
			p.Revision = st.Rev
		case o.At < st.Floor:
			return fmt.Errorf("list at revision %d, kept since %d: %w", o.At, st.Floor, world.ErrCompacted)
		case o.At > st.Rev:
			return fmt.Errorf("list at revision %d, and the newest is %d: %w", o.At, st.Rev, world.ErrCompacted)
		}
		return r.Scan(prefix, o.After, p.Revision, func(v Version) bool {
			if p.More = o.Limit > 0 && len(p.KVs) == o.Limit; p.More {
				return false
			}
			p.KVs = append(p.KVs, v.kv())
			return true
		})
	})
	return p, err
}

// Txn implements world.World.
func (c *Client) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (int64, bool, error) {
	if err := c.ready(ctx); err != nil {
		return 0, false, err
	}
	if err := c.s.limits.Check(compares, ops); err != nil {
		return 0, false, err
	}
	r := &request{compares: compares, ops: ops}
	c.s.submit(ctx, r)
	if r.err != nil {
		return 0, false, r.err
	}
	return r.rev, r.ok, nil
}

// The steps of a Watch.
const (
	batchKeys  = 64        // changes that a Watch takes from the history at once, and the rest of the revision
	batchBytes = 256 << 10 // bytes of their values, and those of the rest of the revision
	bookmarkAt = 256       // revisions without a change of its own, after which a Watch gets a bookmark
)

// Watch implements world.World.
func (c *Client) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		told := from
		for ctx.Err() == nil {
			found, next, wake, err := c.since(prefix, from)
			if err != nil {
				yield(world.Batch{}, err)
				return
			}
			if len(found) == 0 && next >= told+bookmarkAt {
				found = []world.Batch{{Revision: next}}
			}
			for _, b := range found {
				if ctx.Err() != nil || !yield(b, nil) {
					return
				}
				told = b.Revision
			}
			from = next
			if wake == nil {
				continue
			}
			select {
			case <-wake:
			case <-c.over:
			case <-ctx.Done():
			}
		}
	}
}

// since returns the revisions behind from that changed something below the prefix, the
// revision up to which it has looked, and, where that is the end, a channel that is
// closed when there is more.
func (c *Client) since(prefix string, from int64) (found []world.Batch, next int64, wake <-chan struct{}, err error) {
	if c.ended.Load() {
		return nil, 0, nil, world.ErrClosed
	}
	c.s.mu.Lock()
	end := c.s.wake // before the look: what comes after it closes this one
	c.s.mu.Unlock()
	err = c.s.backend.View(func(r Reader) error {
		st := r.State()
		if from < st.Floor {
			return fmt.Errorf("watch from revision %d, kept since %d: %w", from, st.Floor, world.ErrCompacted)
		}
		if from > st.Rev {
			return fmt.Errorf("watch from revision %d, and the newest is %d: %w", from, st.Rev, world.ErrCompacted)
		}
		s := scan{r: r, prefix: prefix, next: from}
		err := r.Changes(from, s.take)
		found, next, wake = s.found, s.next, nil
		if !s.more {
			next, wake = max(from, st.Rev), end
		}
		return cmp.Or(err, s.err)
	})
	return found, next, wake, err
}

// scan gathers changes by revision.
type scan struct {
	r      Reader
	prefix string
	found  []world.Batch
	next   int64
	keys   int
	bytes  int // of the values
	more   bool
	err    error
}

// take adds one change, and ends the scan where it has enough.
func (s *scan) take(ch Change) bool {
	if (s.keys >= batchKeys || s.bytes >= batchBytes) && ch.Rev > s.next {
		s.more = true
		return false
	}
	s.next = ch.Rev
	if !strings.HasPrefix(ch.Key, s.prefix) {
		return true
	}
	v, _, err := s.r.Last(ch.Key, ch.Rev)
	if s.err = err; err != nil {
		return false
	}
	if n := len(s.found); n == 0 || s.found[n-1].Revision < ch.Rev {
		s.found = append(s.found, world.Batch{Revision: ch.Rev})
	}
	b := &s.found[len(s.found)-1]
	b.Updates = append(b.Updates, world.Update{KV: v.kv(), Deleted: v.Deleted})
	s.keys++
	s.bytes += len(v.Value)
	return true
}
