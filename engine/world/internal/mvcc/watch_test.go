package mvcc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/world/internal/mvcc"
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
		var ops []engine.Op
		for i := range each {
			ops = append(ops, engine.Op{Key: fmt.Sprint("k", i), Value: make([]byte, size)})
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
