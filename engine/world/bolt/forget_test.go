package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
	"github.com/reactivegraph/mgmt/engine/world/worldtest"
	"github.com/reactivegraph/mgmt/internal/await"
)

// seen is all that a World shows: the list at each revision, and the changes behind each.
func seen(t *testing.T, w world.World, newest int64) string {
	t.Helper()
	var b strings.Builder
	for at := range newest + 2 {
		p, err := w.List(t.Context(), "", world.ListOptions{At: at})
		fmt.Fprintf(&b, "%d:", at)
		for _, kv := range p.KVs {
			fmt.Fprintf(&b, " %s=%s@%d,%d", kv.Key, kv.Value, kv.Revision, kv.Created)
		}
		if err != nil {
			fmt.Fprintf(&b, " compacted %t", errors.Is(err, world.ErrCompacted))
		}
		b.WriteString(" then")
		changes(t, &b, w, at, newest)
		b.WriteByte('\n')
	}
	return b.String()
}

// changes writes what a Watch tells behind a revision.
func changes(t *testing.T, b *strings.Builder, w world.World, from, newest int64) {
	t.Helper()
	if from == newest {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Left()) // of a Watch that never ends
	defer cancel()
	for batch, err := range w.Watch(ctx, "", from) {
		if err != nil {
			fmt.Fprintf(b, " compacted %t", errors.Is(err, world.ErrCompacted))
			return
		}
		for _, u := range batch.Updates {
			fmt.Fprintf(b, " %s=%s@%d", u.Key, u.Value, u.Revision)
		}
		if batch.Revision == newest {
			return
		}
	}
	t.Errorf("the Watch from %d ended before revision %d", from, newest)
}

// records counts the versions in a closed file, and the changes that it still has behind its oldest revision.
func records(t *testing.T, path string) (versions, log int, floor int64) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		versions = tx.Bucket([]byte("versions")).Stats().KeyN
		log = tx.Bucket([]byte("history")).Stats().KeyN
		_, from, said := state(t, tx.Bucket([]byte("!")))
		if floor = from; int(said) != log {
			t.Errorf("the state tells of %d changes, and the file has %d", said, log)
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return versions, log, floor
}

// TestForgetsAsMemory: a file with a short history shows at each moment what the store in memory shows, before and after a restart. It has
// no version that nothing can see any more, so it does not grow for ever.
func TestForgetsAsMemory(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		keep := []int{1, 4, 20, 60}[seed] // the newest 800 bytes stand apart: some histories are shorter than that
		path, o := file(t), bolt.Options{History: keep}
		w, m := open(t, path, o), worldtest.Memory(keep)
		newest := int64(0)
		for step := range 120 {
			var ops []world.Op
			for i := range 6 {
				if r.IntN(4) == 0 {
					ops = append(ops, world.Op{Key: fmt.Sprint("key", i), Value: fmt.Append(nil, step), Delete: r.IntN(3) == 0})
				}
			}
			rev, _, err := w.Txn(t.Context(), nil, ops)
			same, _, e := m.Txn(t.Context(), nil, ops)
			if err := errors.Join(err, e); err != nil || rev != same {
				t.Fatalf("step %d: revisions %d and %d, %v", step, rev, same, err)
			}
			newest = rev
			if step%15 == 14 {
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				versions, log, floor := records(t, path)
				old := world.Page{}
				if floor > 0 {
					var err error
					if old, err = m.List(t.Context(), "", world.ListOptions{At: floor}); err != nil {
						t.Fatal(err)
					}
				}
				if versions != len(old.KVs)+log || log > keep+keep/8+6 {
					t.Fatalf("step %d: %d versions for %d keys and %d changes, of which %d are kept", step, versions, len(old.KVs), log, keep)
				}
				w = open(t, path, o)
			}
			if got, want := seen(t, w, newest), seen(t, m, newest); got != want {
				t.Fatalf("history %d, step %d: the file shows\n%sand memory shows\n%s", keep, step, got, want)
			}
		}
	}
}
