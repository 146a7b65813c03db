package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// DefaultHistory is how many changes a World remembers for its watchers.
const DefaultHistory = 4096

// Clock measures the leases.
type Clock = engine.Clock

// World is an engine.World in memory. It is safe for concurrent use and needs
// no closing.
type World struct {
	clock   Clock
	history int

	mu     sync.Mutex
	rev    int64
	floor  int64 // changes up to this revision are forgotten
	keys   map[string]entry
	log    []engine.Update // newer than floor, in order; values are never altered
	wake   chan struct{}   // closed and replaced when log grows
	leases map[*lease]struct{}
	stop   func() bool // of the timer, nil when none waits
}

type entry struct {
	value []byte
	rev   int64
	lease *lease
}

var _ engine.World = (*World)(nil)

// Option alters what New makes.
type Option func(*World)

// WithClock measures leases by another clock than the machine's.
func WithClock(c Clock) Option { return func(w *World) { w.clock = c } }

// WithHistory remembers n changes, at least 1. A whole transaction is forgotten
// or kept.
func WithHistory(n int) Option { return func(w *World) { w.history = max(n, 1) } }

// New returns an empty World at revision 0.
func New(o ...Option) *World {
	w := &World{
		clock: engine.SystemClock{}, history: DefaultHistory,
		keys: map[string]entry{}, wake: make(chan struct{}), leases: map[*lease]struct{}{},
	}
	for _, f := range o {
		f(w)
	}
	return w
}

// Get implements engine.World.
func (w *World) Get(ctx context.Context, key string) (engine.KV, error) {
	if err := ctx.Err(); err != nil {
		return engine.KV{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expire()
	e, ok := w.keys[key]
	if !ok {
		return engine.KV{}, fmt.Errorf("key %q: %w", key, engine.ErrNotFound)
	}
	return e.kv(key), nil
}

func (e entry) kv(key string) engine.KV {
	return engine.KV{Key: key, Value: slices.Clone(e.value), Revision: e.rev}
}

// List implements engine.World.
func (w *World) List(ctx context.Context, prefix string) ([]engine.KV, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expire()
	var kvs []engine.KV
	for _, key := range slices.Sorted(maps.Keys(w.keys)) {
		if strings.HasPrefix(key, prefix) {
			kvs = append(kvs, w.keys[key].kv(key))
		}
	}
	return kvs, w.rev, nil
}

// Txn implements engine.World. The same key twice among the operations, or a
// lease that has ended or is of another World, is an error, and nothing is done.
func (w *World) Txn(ctx context.Context, compares []engine.Compare, ops []engine.Op) (int64, bool, error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expire()
	if err := w.check(ops); err != nil {
		return 0, false, err
	}
	for _, c := range compares {
		if w.keys[c.Key].rev != c.Revision {
			return w.rev, false, nil
		}
	}
	w.commit(ops)
	return w.rev, true, nil
}

func (w *World) check(ops []engine.Op) error {
	seen := make(map[string]bool, len(ops))
	for _, op := range ops {
		if seen[op.Key] {
			return fmt.Errorf("key %q is altered twice in one transaction", op.Key)
		}
		seen[op.Key] = true
		if op.Lease == nil || op.Delete {
			continue
		}
		l, ok := op.Lease.(*lease)
		if !ok || l.w != w {
			return fmt.Errorf("key %q: the lease is of another world", op.Key)
		}
		if _, alive := w.leases[l]; !alive {
			return fmt.Errorf("key %q: its lease: %w", op.Key, engine.ErrNotFound)
		}
	}
	return nil
}

// commit does the operations as one revision, and wakes the watchers.
func (w *World) commit(ops []engine.Op) {
	before, rev := len(w.log), w.rev+1
	for _, op := range ops {
		old, had := w.keys[op.Key]
		if op.Delete && !had {
			continue
		}
		if old.lease != nil {
			delete(old.lease.keys, op.Key)
		}
		w.log = append(w.log, w.alter(op, rev))
	}
	if len(w.log) == before {
		return
	}
	w.rev = rev
	w.compact()
	close(w.wake)
	w.wake = make(chan struct{})
}

func (w *World) alter(op engine.Op, rev int64) engine.Update {
	if op.Delete {
		delete(w.keys, op.Key)
		return engine.Update{KV: engine.KV{Key: op.Key, Revision: rev}, Deleted: true}
	}
	e := entry{value: slices.Clone(op.Value), rev: rev}
	if op.Lease != nil {
		e.lease = op.Lease.(*lease)
		e.lease.keys[op.Key] = struct{}{}
	}
	w.keys[op.Key] = e
	return engine.Update{KV: engine.KV{Key: op.Key, Value: e.value, Revision: rev}}
}

// compact forgets the oldest changes, once half as much again as is wanted is
// there, so that its cost is constant for each change. The revision that it cuts
// through is forgotten as a whole: no watcher may start before floor.
func (w *World) compact() {
	if len(w.log) <= w.history+w.history/2 {
		return
	}
	cut := len(w.log) - w.history
	w.floor = w.log[cut-1].Revision
	w.log = append([]engine.Update(nil), w.log[cut:]...)
}
