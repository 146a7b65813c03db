package memory

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/internal/mvcc"
)

// DefaultHistory is how many changes a World remembers for its watchers.
const DefaultHistory = 4096

// World is one user of a store in memory. It holds no goroutine; a World that nobody
// closes costs its content.
type World struct {
	*mvcc.Client
	store *mvcc.Store
}

var _ world.World = (*World)(nil)

// Option alters what New makes.
type Option func(*options)

type options struct {
	clock   clock.Clock
	history int
}

// WithClock measures the leases of abandoned users by another clock than the machine's.
func WithClock(c clock.Clock) Option { return func(o *options) { o.clock = c } }

// WithHistory remembers n changes, at least 1, and an eighth more at times. A whole
// transaction is forgotten or kept.
func WithHistory(n int) Option { return func(o *options) { o.history = max(n, 1) } }

// New returns the first user of an empty store at revision 0.
func New(given ...Option) *World {
	o := options{clock: clock.System{}, history: DefaultHistory}
	for _, f := range given {
		f(&o)
	}
	s := mvcc.New(newTable(), o.clock, mvcc.Keep{Most: o.history, For: forever})
	return &World{Client: s.Client(), store: s}
}

// forever: only the number of changes bounds the history of a process.
const forever = time.Duration(1<<63 - 1)

// Join returns another user of the same store, as another host is.
func (w *World) Join() *World { return &World{Client: w.store.Client(), store: w.store} }

// table is an mvcc.Backend. A Version is never altered once it is in the tree.
type table struct {
	mu       sync.RWMutex
	state    mvcc.State
	versions *btree.BTreeG[*mvcc.Version] // by key, then by revision
	log      []mvcc.Change                // newer than state.Floor, in order
}

func newTable() *table {
	return &table{state: mvcc.State{Rev: mvcc.FirstRev}, versions: btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})}
}

func before(a, b *mvcc.Version) bool {
	if c := strings.Compare(a.Key, b.Key); c != 0 {
		return c < 0
	}
	return a.Rev < b.Rev
}

// View implements mvcc.Backend.
func (t *table) View(do func(mvcc.Reader) error) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return do(t)
}

// Update implements mvcc.Backend. Nothing here fails after a Put, so nothing is ever
// undone.
func (t *table) Update(do func(mvcc.Writer) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return do(t)
}

// Close implements mvcc.Backend.
func (t *table) Close() error { return nil }

// State implements mvcc.Reader.
func (t *table) State() mvcc.State { return t.state }

// Last implements mvcc.Reader.
func (t *table) Last(key string, at int64) (v mvcc.Version, ok bool, err error) {
	t.versions.Descend(&mvcc.Version{Key: key, Rev: at}, func(found *mvcc.Version) bool {
		if ok = found.Key == key; ok {
			v = *found
		}
		return false
	})
	return v, ok, nil
}

// Scan implements mvcc.Reader.
func (t *table) Scan(prefix, after string, at int64, yield func(mvcc.Version) bool) error {
	from := &mvcc.Version{Key: prefix}
	if after >= prefix {
		from = &mvcc.Version{Key: after, Rev: 1<<63 - 1}
	}
	var newest *mvcc.Version
	whole := true
	t.versions.Ascend(from, func(v *mvcc.Version) bool {
		if !strings.HasPrefix(v.Key, prefix) {
			return false
		}
		if newest != nil && newest.Key != v.Key && !newest.Deleted {
			whole = yield(*newest)
		}
		switch {
		case !whole:
			return false
		case v.Rev <= at:
			newest = v
		case newest != nil && newest.Key != v.Key:
			newest = nil
		}
		return true
	})
	if whole && newest != nil && !newest.Deleted {
		yield(*newest)
	}
	return nil
}

// Changes implements mvcc.Reader.
func (t *table) Changes(after int64, yield func(mvcc.Change) bool) error {
	i, _ := slices.BinarySearchFunc(t.log, after+1, func(c mvcc.Change, rev int64) int { return cmp.Compare(c.Rev, rev) })
	for _, c := range t.log[i:] {
		if !yield(c) {
			break
		}
	}
	return nil
}

// Put implements mvcc.Writer.
func (t *table) Put(v mvcc.Version, time int64) error {
	t.versions.Set(&v)
	t.log = append(t.log, mvcc.Change{Rev: v.Rev, Time: time, Key: v.Key})
	t.state.Rev, t.state.Log = v.Rev, len(t.log)
	return nil
}

// Forget implements mvcc.Writer.
func (t *table) Forget() error {
	c := t.log[0]
	t.log[0] = mvcc.Change{}
	t.log = t.log[1:]
	t.state.Floor, t.state.Log = c.Rev, len(t.log)
	if older, ok, _ := t.Last(c.Key, c.Rev-1); ok {
		t.versions.Delete(&older)
	}
	if v, ok, _ := t.Last(c.Key, c.Rev); ok && v.Deleted {
		t.versions.Delete(&v)
	}
	return nil
}
