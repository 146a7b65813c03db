package scenario

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// # The store of a test
//
// The kind kv runs its own code, on a store in memory that this test alone has. So a kv of a test is a value in that store, and not a thing of the
// machine. Its key is the name unless it says another one, as for the kind itself.

// storedKind is the kind whose things are values of the store.
const storedKind = "kv"

// put gives a thing parameters, as something else than the engine would do it.
func (r *run) put(ctx context.Context, th thing) {
	if th.kind != storedKind {
		if err := r.machine.Place(ctx, th.ref(), th.set); err != nil {
			r.failf(th.pos, "%s: %v", th.id, err)
		}
		return
	}
	op := world.Op{Key: th.storeKey(), Delete: th.set["state"] == "absent"}
	if !op.Delete {
		text, _ := th.set["value"].(string)
		op.Value = []byte(text)
	}
	if err := r.world.alter(ctx, op); err != nil {
		r.failf(th.pos, "%s: %v", th.id, err)
	}
}

// store is the store of a test. It knows the keys that a step has altered and that no resource has read since, so that the test does not compare
// too early. It is callable from any goroutine.
type store struct {
	world.World

	mu      sync.Mutex
	watched []string         // the prefixes that resources follow
	pending map[string]bool  // altered, and not read since
	last    map[string]int64 // by key: the revision that has altered it last
	writes  uint64           // so far
	readers map[*reader]bool // that watch
}

// reader is one Watch that goes on. Its goroutine has acted on all revisions up to one.
type reader struct {
	prefix string
	upTo   int64
}

// Txn is that of the store.
func (s *store) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (revision int64, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.txn(ctx, compares, ops)
}

// txn is Txn under the lock, so that no reader is asked about between the change and its mark.
func (s *store) txn(ctx context.Context, compares []world.Compare, ops []world.Op) (revision int64, ok bool, err error) {
	revision, ok, err = s.World.Txn(ctx, compares, ops)
	if ok {
		s.writes++
		for _, op := range ops {
			s.last[op.Key] = revision
		}
	}
	return revision, ok, err
}

// written returns how often the store was altered so far.
func (s *store) written() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Watch is that of the store. A reader that asks for the next batch has acted on the one before.
func (s *store) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		r := &reader{prefix, from}
		s.mu.Lock()
		s.readers[r] = true
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.readers, r)
		}()
		for b, err := range s.World.Watch(ctx, prefix, from) {
			if !yield(b, err) {
				return
			}
			s.mu.Lock()
			r.upTo = max(r.upTo, b.Revision)
			s.mu.Unlock()
		}
	}
}

// alter does one operation as another host would do it.
func (s *store) alter(ctx context.Context, op world.Op) error {
	// A reader must see the altered key and the mark together.
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.World.Get(ctx, op.Key); op.Delete && errors.Is(err, world.ErrNotFound) {
		return nil // nothing wakes
	}
	if _, _, err := s.txn(ctx, nil, []world.Op{op}); err != nil {
		return err
	}
	if slices.ContainsFunc(s.watched, func(prefix string) bool { return strings.HasPrefix(op.Key, prefix) }) {
		s.pending[op.Key] = true
	}
	return nil
}

// Get is that of the store.
func (s *store) Get(ctx context.Context, key string) (world.KV, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, key)
	return s.World.Get(ctx, key)
}

// List is that of the store. A resource watches what it has listed, from the revision of the list.
func (s *store) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = append(s.watched, prefix)
	return s.World.List(ctx, prefix, o)
}

// unread reports whether an altered key waits for a resource that reads it.
func (s *store) unread() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0
}

// delivering reports whether an altered key is on its way to a Watch.
func (s *store) delivering() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		for key, revision := range s.last {
			if revision > r.upTo && strings.HasPrefix(key, r.prefix) {
				return true
			}
		}
	}
	return false
}

// idleReader reports whether a kv may not run. It does not read then, and the store can't tell whose a key is: nothing is waited for.
func idleReader(list []reactor.Status) bool {
	return slices.ContainsFunc(list, func(st reactor.Status) bool {
		return strings.HasPrefix(st.Resource, storedKind+"[") && slices.Contains([]resgraph.State{resgraph.StateBlocked, resgraph.StatePaused, resgraph.StateHeld}, st.State)
	})
}

// state returns the parameters of a thing as they are now, and whether it is there.
func (r *run) state(ctx context.Context, th thing) (map[string]any, bool) {
	if th.kind != storedKind {
		is, err := r.machine.Find(ctx, th.ref(), th.set)
		if err != nil {
			r.failf(th.pos, "%s: %v", th.id, err)
		}
		return is, is != nil
	}
	kv, err := r.world.Get(ctx, th.storeKey())
	is := maps.Clone(th.set)
	is["value"], is["state"] = string(kv.Value), "exists"
	return is, err == nil
}

// ref returns the kind and the name.
func (th *thing) ref() schema.Ref { return schema.Ref{Kind: th.kind, Name: th.name} }

// storeKey returns the key of a kv in the store.
func (th *thing) storeKey() string {
	key, topic := th.name, hosts.All
	if named, ok := th.set["key"].(string); ok {
		key = named
	}
	if named, ok := th.set["topic"].(string); ok {
		topic = named
	}
	return hosts.KVKey(topic, key)
}
