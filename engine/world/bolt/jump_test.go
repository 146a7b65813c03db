package bolt_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

// jumping is the clock of the machine, whose time of day somebody sets. Its timers go on as they were.
type jumping struct {
	clock.System
	off atomic.Int64
}

func (c *jumping) Now() time.Time { return c.System.Now().Add(time.Duration(c.off.Load())) }

// TestJumpingClock: somebody sets the time of day forward and back. Revisions go on, a lease holds, a watch misses nothing, the
// newest state is there, and so it is after a restart with yet another time.
func TestJumpingClock(t *testing.T) {
	path, clock := file(t), &jumping{}
	w := open(t, path, bolt.Options{Clock: clock})
	lease, err := w.Lease(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "leased", Value: []byte("x"), Lease: lease}}); err != nil {
		t.Fatal(err)
	}
	last := put(t, w, "k", "first")
	for i, off := range []time.Duration{48 * time.Hour, -96 * time.Hour, 0, 10 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour} {
		clock.off.Store(int64(off))
		want := fmt.Sprint(i)
		now := put(t, w, "k", want)
		if now <= last {
			t.Fatalf("revision %d after %d, at %v", now, last, off)
		}
		for b, err := range w.Watch(t.Context(), "k", last) {
			if err != nil {
				t.Fatalf("a watch from the last revision, at %v: %v", off, err)
			}
			if len(b.Updates) == 0 {
				continue
			}
			if u := b.Updates[0]; u.Revision != now || string(u.Value) != want {
				t.Errorf("the watch tells %q at %d, want %q at %d", u.Value, u.Revision, want, now)
			}
			break
		}
		select {
		case <-lease.Done():
			t.Fatalf("the lease has ended at %v", off)
		default:
		}
		if kv, err := w.Get(t.Context(), "leased"); err != nil || string(kv.Value) != "x" {
			t.Fatalf("the key of the lease is %q at %v: %v", kv.Value, off, err)
		}
		last = now
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	clock.off.Store(int64(time.Hour))
	w = open(t, path, bolt.Options{Clock: clock})
	if kv, err := w.Get(t.Context(), "k"); err != nil || string(kv.Value) != "4" {
		t.Errorf("after a restart: %q, %v", kv.Value, err)
	}
	if _, err := w.Get(t.Context(), "leased"); !errors.Is(err, world.ErrNotFound) {
		t.Errorf("a lease has outlived its process: %v", err)
	}
	if now := put(t, w, "k", "more"); now <= last {
		t.Errorf("revision %d after %d", now, last)
	}
}
