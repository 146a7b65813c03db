package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/engine/world/worldtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const history = 600 // more than any test of the suite writes before it compacts

func open(t *testing.T) worldtest.Backend {
	clock := enginetest.NewClock()
	w := memory.New(memory.WithClock(clock), memory.WithHistory(history))
	return worldtest.Backend{
		World: w,
		Lose: func(*testing.T) world.World {
			other := w.Join()
			w.Abandon()
			return other
		},
		Advance:   clock.Advance,
		Bookmarks: true,
		Compact: func(t *testing.T) {
			for i := range 2 * history {
				write(t, w, "filler", i)
			}
		},
	}
}

func write(t testing.TB, w *memory.World, key string, value any) int64 {
	t.Helper()
	rev, ok, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: fmt.Append(nil, value)}})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return rev
}

func TestWorld(t *testing.T) { worldtest.Run(t, open) }

// TestRealClock: by default the leases of an abandoned user follow package time, and a watcher is
// woken by the end of one.
func TestRealClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := memory.New()
		w := dead.Join()
		short, err := dead.Lease(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		long, err := dead.Lease(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		rev, _, err := dead.Txn(t.Context(), nil, []world.Op{{Key: "a", Lease: long}, {Key: "b", Lease: short}})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		dead.Abandon()
		var took []time.Duration
		for b, err := range w.Watch(t.Context(), "", rev) {
			if err != nil || len(b.Updates) != 1 || !b.Updates[0].Deleted {
				t.Fatal(b, err)
			}
			if took = append(took, time.Since(begin)); len(took) == 2 {
				break
			}
		}
		if took[0] != time.Second || took[1] != time.Hour {
			t.Errorf("the leases ended after %v", took)
		}
	})
}

// TestQuietPrefix: a watcher of a prefix where nothing happens does not fall
// behind, whatever happens elsewhere.
func TestQuietPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New(memory.WithHistory(4))
		got := make(chan world.Update)
		go func() {
			for b, err := range w.Watch(t.Context(), "quiet", 0) {
				if err != nil {
					t.Error(err)
				}
				got <- b.Updates[0]
				return
			}
		}()
		for i := range 100 {
			write(t, w, "busy", i)
			synctest.Wait()
		}
		write(t, w, "quiet", 1)
		if u := <-got; u.Key != "quiet" {
			t.Errorf("got %v", u)
		}
	})
}

// TestSlow: a watcher that is slower than the writers is told so at last, and
// holds nothing meanwhile.
func TestSlow(t *testing.T) {
	w := memory.New(memory.WithHistory(100))
	write(t, w, "k", 0)
	var last error
	n := 0
	for b, err := range w.Watch(t.Context(), "", 0) {
		if last = err; err != nil {
			break
		}
		if n++; string(b.Updates[0].Value) != fmt.Sprint(n-1) {
			t.Fatalf("update %d is %s", n, b.Updates[0].Value)
		}
		for range 200 {
			write(t, w, "other", 0)
		}
		write(t, w, "k", n)
	}
	if !errors.Is(last, world.ErrCompacted) {
		t.Errorf("ended with %v after %d", last, n)
	}
}

// TestWholeTransactions: the history is cut between revisions only, so a watcher
// sees all of one or is told that it came too late.
func TestWholeTransactions(t *testing.T) {
	w := memory.New(memory.WithHistory(5))
	for range 20 {
		var ops []world.Op
		for i := range 3 {
			ops = append(ops, world.Op{Key: fmt.Sprint(i)})
		}
		rev, _, err := w.Txn(t.Context(), nil, ops)
		if err != nil {
			t.Fatal(err)
		}
		for from := range rev {
			seen := map[int64]int{}
			ctx, cancel := context.WithCancel(t.Context())
			for b, err := range w.Watch(ctx, "", from) {
				if err != nil {
					break
				}
				if seen[b.Revision] += len(b.Updates); b.Revision == rev {
					cancel()
				}
			}
			cancel()
			for r, n := range seen {
				if n != 3 {
					t.Fatalf("from %d at %d: %d of 3 updates of revision %d", from, rev, n, r)
				}
			}
		}
	}
}

func TestForeignLease(t *testing.T) {
	a, b := memory.New(), memory.New()
	l, err := a.Lease(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Revoke(t.Context())
	if _, _, err := b.Txn(t.Context(), nil, []world.Op{{Key: "a", Lease: l}}); err == nil {
		t.Error("a lease of another world was taken")
	}
}

func BenchmarkPutWatch(b *testing.B) {
	w := memory.New()
	ctx := b.Context()
	for b.Loop() {
		if _, _, err := w.Txn(ctx, nil, []world.Op{{Key: "k", Value: []byte("v")}}); err != nil {
			b.Fatal(err)
		}
	}
}
