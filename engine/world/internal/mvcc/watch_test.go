package mvcc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/internal/mvcc"
	"github.com/reactivegraph/mgmt/internal/await"
)

// weighed counts the bytes that one View hands out.
type weighed struct {
	slow
	bytes, most int
}

func (b *weighed) View(do func(mvcc.Reader) error) error {
	b.bytes = 0
	err := do(b)
	b.most = max(b.most, b.bytes)
	return err
}

func (b *weighed) Last(key string, at int64) (mvcc.Version, bool, error) {
	v, ok, err := b.slow.Last(key, at)
	b.bytes += len(v.Value)
	return v, ok, err
}

// TestWatchTakesLittleAtOnce: a Watch has few bytes in memory, however large the values are, and a whole revision in any case. It still
// tells each revision once, in order.
func TestWatchTakesLittleAtOnce(t *testing.T) {
	const size, each, all = 100_000, 3, 30
	b := &weighed{}
	c := mvcc.New(b, &still{now: time.Unix(0, 0)}, mvcc.Keep{Most: 1000, For: time.Hour}).Client()
	for range all {
		var ops []world.Op
		for i := range each {
			ops = append(ops, world.Op{Key: fmt.Sprint("k", i), Value: make([]byte, size)})
		}
		if _, ok, err := c.Txn(t.Context(), nil, ops); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	next := int64(1)
	for batch, err := range c.Watch(t.Context(), "", 0) {
		if err != nil || batch.Revision != next || len(batch.Updates) != each {
			t.Fatalf("revision %d with %d updates, want %d with %d: %v", batch.Revision, len(batch.Updates), next, each, err)
		}
		if next++; next > all {
			break
		}
	}
	if most := 256<<10 + each*size; b.most > most {
		t.Errorf("a Watch took %d bytes at once, and %d are the most", b.most, most)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestRevokeAfterItsTime: a context that has ended revokes nothing, and the lease still takes keys.
func TestRevokeAfterItsTime(t *testing.T) {
	c := mvcc.New(&slow{}, &still{now: time.Unix(0, 0)}, mvcc.Keep{Most: 10, For: time.Hour}).Client()
	l, err := c.Lease(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := l.Revoke(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the revocation: %v", err)
	}
	if _, ok, err := c.Txn(t.Context(), nil, []world.Op{{Key: "k", Lease: l}}); !ok || err != nil {
		t.Errorf("a key of the lease: %t, %v", ok, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestQuietWatchGetsABookmark: a Watch whose prefix stays quiet is told of a revision from which it may begin anew, before its own is forgotten.
func TestQuietWatchGetsABookmark(t *testing.T) {
	const writes = 300
	c := mvcc.New(&slow{}, &still{now: time.Unix(0, 0)}, mvcc.Keep{Most: 1000, For: time.Hour}).Client()
	for range writes {
		if _, _, err := c.Txn(t.Context(), nil, put("other")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	told := false
	for b, err := range c.Watch(ctx, "quiet", 0) {
		if told = true; err != nil || len(b.Updates) != 0 || b.Revision != writes {
			t.Errorf("%+v, %v; want a bookmark of revision %d", b, err, writes)
		}
		break
	}
	if !told {
		t.Error("no bookmark came")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
