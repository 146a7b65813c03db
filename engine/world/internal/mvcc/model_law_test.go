package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/internal/mvcc"
	"github.com/reactivegraph/mgmt/internal/await"
)

// slow is a Backend that looks at all it has for each answer. fails is the error of the next Update, after its work.
type slow struct {
	all   []mvcc.Version // in the order of Put
	log   []mvcc.Change
	rev   int64
	floor int64
	fails error
	shut  int
}

func (b *slow) View(do func(mvcc.Reader) error) error { return do(b) }

func (b *slow) Update(do func(mvcc.Writer) error) error {
	before := *b
	before.all, before.log = slices.Clone(b.all), slices.Clone(b.log)
	fails := b.fails
	before.fails = nil
	err := do(b)
	if err == nil && fails != nil {
		err = fails
	}
	if b.fails = nil; err != nil {
		*b = before
	}
	return err
}

func (b *slow) Close() error { b.shut++; return nil }

func (b *slow) State() mvcc.State { return mvcc.State{Rev: b.rev, Floor: b.floor, Log: len(b.log)} }

func (b *slow) Last(key string, at int64) (last mvcc.Version, ok bool, err error) {
	for _, v := range b.all {
		if v.Key == key && v.Rev <= at {
			last, ok = v, true
		}
	}
	return last, ok, nil
}

func (b *slow) Scan(prefix, after string, at int64, yield func(mvcc.Version) bool) error {
	keys := map[string]bool{}
	for _, v := range b.all {
		if strings.HasPrefix(v.Key, prefix) && v.Key > after {
			keys[v.Key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if v, ok, _ := b.Last(key, at); ok && !v.Deleted && !yield(v) {
			break
		}
	}
	return nil
}

func (b *slow) Changes(after int64, yield func(mvcc.Change) bool) error {
	for _, c := range b.log {
		if c.Rev > after && !yield(c) {
			break
		}
	}
	return nil
}

func (b *slow) Put(v mvcc.Version, time int64) error {
	if v.Rev != b.rev && v.Rev != b.rev+1 {
		return fmt.Errorf("revision %d is put at revision %d", v.Rev, b.rev)
	}
	b.rev = v.Rev
	b.all = append(b.all, v)
	b.log = append(b.log, mvcc.Change{Rev: v.Rev, Time: time, Key: v.Key})
	return nil
}

func (b *slow) Forget() error {
	if len(b.log) == 0 {
		return errors.New("there is nothing to forget")
	}
	b.floor = b.log[0].Rev
	b.log = b.log[1:]
	kept := b.all[:0:0]
	for i, v := range b.all {
		later := slices.ContainsFunc(b.all[i+1:], func(w mvcc.Version) bool { return w.Key == v.Key && w.Rev <= b.floor })
		if v.Rev > b.floor || !later && !v.Deleted {
			kept = append(kept, v)
		}
	}
	b.all = kept
	return nil
}

// still is a clock that a test moves. What it is asked to call is called by the test.
type still struct {
	now   time.Time
	calls []func()
}

func (c *still) Now() time.Time { return c.now }

func (c *still) AfterFunc(_ time.Duration, f func()) func() bool {
	c.calls = append(c.calls, f)
	return func() bool { return false }
}

// held is what the model of a World has for one key.
type held struct {
	value        string
	rev, created int64
	lease        int // of model.leases, -1 for none
}

// world is a Store with the plainest model of it: the keys of each revision.
type trial struct {
	b      *slow
	clock  *still
	c      *mvcc.Client
	leases []world.Lease
	ended  []bool
	states []map[string]held // by revision; 0 is empty
}

func (w *trial) now() map[string]held { return w.states[len(w.states)-1] }
func (w *trial) rev() int64           { return int64(len(w.states) - 1) }

var worldKeys = []string{"a", "a/b", "a/c", "b", "c/d"}

// TestStoreAgainstModel plays random transactions, leases and faults of the backend. Each answer is that of the model: what a key
// has, what it had, and what a Watch from any kept revision says. The history stays within its bounds.
func TestStoreAgainstModel(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 12).Draw(t, "most")
		w := &trial{b: &slow{}, clock: &still{now: time.Unix(1000, 0)}, states: []map[string]held{{}}}
		w.c = mvcc.New(w.b, w.clock, mvcc.Keep{Most: most, For: 100 * time.Second}).Client()
		t.Repeat(map[string]func(*rapid.T){
			"transaction": func(t *rapid.T) { w.transaction(ctx, t) },
			"lease": func(t *rapid.T) {
				l, err := w.c.Lease(ctx, time.Second)
				if err != nil {
					t.Fatal(err)
				}
				w.leases, w.ended = append(w.leases, l), append(w.ended, false)
			},
			"revoke": func(t *rapid.T) {
				if len(w.leases) == 0 {
					t.Skip("there is no lease")
				}
				w.revoke(ctx, t, rapid.IntRange(0, len(w.leases)-1).Draw(t, "lease"))
			},
			"time": func(t *rapid.T) {
				w.clock.now = w.clock.now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) { w.check(ctx, t, most) },
		})
		if err := w.c.Close(); err != nil || w.b.shut != 1 {
			t.Fatalf("the backend is closed %d times: %v", w.b.shut, err)
		}
	})
}

// transaction makes one with random comparisons and operations, and at times a fault.
func (w *trial) transaction(ctx context.Context, t *rapid.T) {
	now := w.now()
	var compares []world.Compare
	holds := true
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(worldKeys), 0, 2, rapid.ID).Draw(t, "compared") {
		right := rapid.IntRange(0, 3).Draw(t, "right") > 0
		rev := now[key].rev
		if !right {
			rev += rapid.Int64Range(1, 3).Draw(t, "off")
			holds = false
		}
		compares = append(compares, world.Compare{Key: key, Revision: rev})
	}
	next, ended := maps.Clone(now), false
	var ops []world.Op
	changed := false
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(worldKeys), 0, 3, rapid.ID).Draw(t, "changed") {
		if rapid.Bool().Draw(t, "delete") {
			op := world.Op{Key: key, Delete: true}
			if len(w.leases) > 0 {
				op.Lease = w.leases[0] // which means nothing to a deletion
			}
			ops = append(ops, op)
			_, had := next[key]
			delete(next, key)
			changed = changed || had
			continue
		}
		h := held{value: rapid.StringMatching(`[xyz]?`).Draw(t, "value"), rev: w.rev() + 1, created: w.rev() + 1, lease: -1}
		op := world.Op{Key: key, Value: []byte(h.value)}
		if old, had := now[key]; had {
			h.created = old.created
		}
		if len(w.leases) > 0 && rapid.Bool().Draw(t, "leased") {
			h.lease = rapid.IntRange(0, len(w.leases)-1).Draw(t, "lease")
			op.Lease, ended = w.leases[h.lease], ended || w.ended[h.lease]
		}
		ops, next[key], changed = append(ops, op), h, true
	}
	fault := rapid.IntRange(0, 7).Draw(t, "fault") == 0
	if fault {
		w.b.fails = errors.New("the disk is full")
	}
	rev, ok, err := w.c.Txn(ctx, compares, ops)
	takes := holds && !ended && changed
	switch {
	case fault && takes:
		if err == nil || ok || rev != 0 {
			t.Fatalf("a backend that fails: %d, %t, %v", rev, ok, err)
		}
		return
	case ended:
		if !errors.Is(err, world.ErrRefused) || ok {
			t.Fatalf("a lease that has ended: %t, %v", ok, err)
		}
	case err != nil || ok != holds:
		t.Fatalf("%t, %v; want %t", ok, err, holds)
	case takes:
		w.states = append(w.states, next)
	}
	w.b.fails = nil
	if err == nil && rev != w.rev() {
		t.Fatalf("revision %d, want %d", rev, w.rev())
	}
}

// revoke ends a lease, whose keys go in one revision.
func (w *trial) revoke(ctx context.Context, t *rapid.T, i int) {
	next := maps.Clone(w.now())
	maps.DeleteFunc(next, func(_ string, h held) bool { return h.lease == i })
	if err := w.leases[i].Revoke(ctx); err != nil {
		t.Fatal(err)
	}
	if w.ended[i] = true; len(next) < len(w.now()) {
		w.states = append(w.states, next)
	}
	select {
	case <-w.leases[i].Done():
	default:
		t.Fatal("a lease that was revoked is not done")
	}
}

// check asks the store all that the model knows.
func (w *trial) check(ctx context.Context, t *rapid.T, most int) {
	for _, key := range worldKeys {
		want, there := w.now()[key]
		kv, err := w.c.Get(ctx, key)
		if there != (err == nil) || !there && !errors.Is(err, world.ErrNotFound) || there && asHeld(kv) != bare(want) {
			t.Fatalf("%s is %v, %v; want %v, %t", key, kv, err, want, there)
		}
	}
	st := w.b.State()
	if st.Rev != w.rev() || len(w.b.log) > most+most/8+3 || st.Rev > 0 && st.Floor >= st.Rev || len(w.b.log) > 0 && w.b.log[0].Rev <= st.Floor {
		t.Fatalf("state %+v at revision %d, with a history of at most %d", st, w.rev(), most)
	}
	prefix := rapid.SampledFrom([]string{"", "a", "a/", "b", "z"}).Draw(t, "prefix")
	at := rapid.Int64Range(0, w.rev()+1).Draw(t, "at")
	w.list(ctx, t, prefix, at, rapid.IntRange(0, 2).Draw(t, "limit"))
	w.watch(ctx, t, prefix, at)
}

func asHeld(kv world.KV) held {
	return held{value: string(kv.Value), rev: kv.Revision, created: kv.Created, lease: -1}
}

func bare(h held) held {
	h.lease = -1
	return h
}

// list reads all pages at a revision; 0 means the newest one.
func (w *trial) list(ctx context.Context, t *rapid.T, prefix string, at int64, limit int) {
	got, after := map[string]held{}, ""
	for {
		p, err := w.c.List(ctx, prefix, world.ListOptions{At: at, After: after, Limit: limit})
		if gone := at > w.rev() || at > 0 && at < w.b.floor; gone || err != nil {
			if !gone || !errors.Is(err, world.ErrCompacted) {
				t.Fatalf("a list at %d of %d to %d: %v", at, w.b.floor, w.rev(), err)
			}
			return
		}
		if at == 0 {
			at = p.Revision
		}
		if p.Revision != at || limit > 0 && len(p.KVs) > limit || p.More && len(p.KVs) != limit {
			t.Fatalf("a page of %d at %d: %+v", limit, at, p)
		}
		for _, kv := range p.KVs {
			if kv.Key <= after {
				t.Fatalf("%s comes after %s", kv.Key, after)
			}
			after = kv.Key
			got[kv.Key] = asHeld(kv)
		}
		if !p.More {
			break
		}
	}
	want := map[string]held{}
	for key, h := range w.states[at] {
		if strings.HasPrefix(key, prefix) {
			want[key] = bare(h)
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("the list of %q at %d is %v, want %v", prefix, at, got, want)
	}
}

// watch reads from a revision up to the newest one, and builds the keys of each revision that it is told of.
func (w *trial) watch(ctx context.Context, t *rapid.T, prefix string, from int64) {
	ctx, cancel := context.WithTimeout(ctx, await.Left()) // a Watch that misses a revision waits for ever
	defer cancel()
	last := from
	for rev := from + 1; rev <= w.rev(); rev++ {
		if !maps.Equal(below(w.states[rev], prefix), below(w.states[rev-1], prefix)) {
			last = rev
		}
	}
	compacted := from < w.b.floor || from > w.rev()
	if last == from && !compacted {
		return // the Watch would wait
	}
	state, seen := map[string]held{}, from
	if !compacted {
		state = below(w.states[from], prefix)
	}
	for b, err := range w.c.Watch(ctx, prefix, from) {
		if compacted || err != nil {
			if !compacted || !errors.Is(err, world.ErrCompacted) {
				t.Fatalf("a Watch from %d of %d to %d: %v", from, w.b.floor, w.rev(), err)
			}
			return
		}
		if b.Revision <= seen {
			t.Fatalf("revision %d is told after %d", b.Revision, seen)
		}
		seen = b.Revision
		for _, u := range b.Updates {
			if u.KV.Revision != b.Revision || !strings.HasPrefix(u.KV.Key, prefix) {
				t.Fatalf("%v in the batch of revision %d below %q", u, b.Revision, prefix)
			}
			if state[u.KV.Key] = asHeld(u.KV); u.Deleted {
				delete(state, u.KV.Key)
			}
		}
		if want := below(w.states[seen], prefix); !maps.Equal(state, want) {
			t.Fatalf("after revision %d a Watch has %v, want %v", seen, state, want)
		}
		if seen == last {
			return
		}
	}
	t.Fatalf("the Watch from %d ended before revision %d", from, last)
}

// below returns the keys with a prefix, without their leases.
func below(state map[string]held, prefix string) map[string]held {
	out := map[string]held{}
	for key, h := range state {
		if strings.HasPrefix(key, prefix) {
			out[key] = bare(h)
		}
	}
	return out
}

// TestAbandonedLeasesRunOut: the keys of a dead process stay until the clock has ended its leases. The backend stays open so long.
func TestAbandonedLeasesRunOut(t *testing.T) {
	ctx := context.Background()
	b, clock := &slow{}, &still{now: time.Unix(0, 0)}
	s := mvcc.New(b, clock, mvcc.Keep{Most: 10, For: time.Hour})
	dead, other := s.Client(), s.Client()
	l, err := dead.Lease(ctx, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := dead.Txn(ctx, nil, []world.Op{{Key: "a", Lease: l}, {Key: "b"}}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	dead.Abandon()
	dead.Abandon()
	if err := dead.Close(); err != nil {
		t.Error("a second end:", err)
	}
	for what, err := range map[string]error{
		"Get":   second(dead.Get(ctx, "a")),
		"List":  second(dead.List(ctx, "", world.ListOptions{})),
		"Lease": second(dead.Lease(ctx, time.Second)),
	} {
		if !errors.Is(err, world.ErrClosed) {
			t.Errorf("%s of a client that has ended: %v", what, err)
		}
	}
	if _, ok, err := other.Txn(ctx, nil, []world.Op{{Key: "c", Lease: l}}); ok || !errors.Is(err, world.ErrRefused) {
		t.Errorf("a lease of the dead: %t, %v", ok, err)
	}
	if _, err := other.Get(ctx, "a"); err != nil {
		t.Error("the key goes before its time:", err)
	}
	if err := other.Close(); err != nil || b.shut != 0 {
		t.Errorf("the backend is closed %d times while a lease is to end: %v", b.shut, err)
	}
	for _, f := range clock.calls {
		f()
	}
	if v, ok, _ := b.Last("a", b.rev); !ok || !v.Deleted || b.shut != 1 {
		t.Errorf("at the end of the lease: %+v, closed %d times", v, b.shut)
	}
	if v, _, _ := b.Last("b", b.rev); v.Deleted {
		t.Error("a key without a lease went with it")
	}
}

func second[T any](_ T, err error) error { return err }

// TestAFullDiskKeepsLeasesForLater: keys that could not be deleted go with the next transaction.
func TestAFullDiskKeepsLeasesForLater(t *testing.T) {
	ctx := context.Background()
	b := &slow{}
	c := mvcc.New(b, &still{now: time.Unix(0, 0)}, mvcc.Keep{Most: 10, For: time.Hour}).Client()
	l, err := c.Lease(ctx, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Txn(ctx, nil, []world.Op{{Key: "a", Lease: l}}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	b.fails = full
	if err := l.Revoke(ctx); !errors.Is(err, full) {
		t.Errorf("a revocation on a full disk: %v", err)
	}
	if _, err := c.Get(ctx, "a"); err != nil {
		t.Error("the key is gone, and could not be deleted:", err)
	}
	if rev, ok, err := c.Txn(ctx, nil, []world.Op{{Key: "b"}}); rev != 3 || !ok || err != nil {
		t.Errorf("the next transaction: %d, %t, %v; want 3, behind the end of the lease", rev, ok, err)
	}
	if _, err := c.Get(ctx, "a"); !errors.Is(err, world.ErrNotFound) {
		t.Error("the key is still there:", err)
	}
	if err := l.Revoke(ctx); err != nil {
		t.Error("a second revocation:", err)
	}
	if _, err := c.Lease(ctx, 0); !errors.Is(err, world.ErrRefused) {
		t.Error("a lease of no time:", err)
	}
	if err := c.Close(); err != nil || b.shut != 1 {
		t.Error(b.shut, err)
	}
}

// TestOldChangesAreForgotten: beyond the time that is kept, changes go in groups, and never the newest revision.
func TestOldChangesAreForgotten(t *testing.T) {
	ctx := context.Background()
	b, clock := &slow{}, &still{now: time.Unix(0, 0)}
	c := mvcc.New(b, clock, mvcc.Keep{Most: 10_000, For: time.Minute}).Client()
	put := func(keys ...string) {
		t.Helper()
		var ops []world.Op
		for _, key := range keys {
			ops = append(ops, world.Op{Key: key})
		}
		if _, _, err := c.Txn(ctx, nil, ops); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		put("a", fmt.Sprint("b", i%3))
	}
	if b.floor != 0 || len(b.log) != 200 {
		t.Fatalf("young changes are forgotten up to %d", b.floor)
	}
	clock.now = clock.now.Add(2 * time.Minute)
	put("c")
	if b.floor != 32 || len(b.log) != 201-64 {
		t.Errorf("one commit has forgotten up to %d, and %d are left", b.floor, len(b.log))
	}
	for range 10 {
		put("c")
	}
	if b.floor < 96 || b.floor > 100 {
		t.Errorf("later commits have forgotten up to %d", b.floor)
	}
	if kv, err := c.Get(ctx, "a"); err != nil || kv.Revision != 100 || kv.Created != 1 {
		t.Errorf("what is forgotten is the history, and not the key: %+v, %v", kv, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
