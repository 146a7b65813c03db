// Package worldtest is the one suite that every world.World passes.
//
// # Laws
//
//   - A Txn does all of its operations or none, and all its changes get one new revision, greater
//     than every one before.
//   - Compare holds exactly if the key's last change has that revision; 0 stands for an absent key,
//     also after a deletion.
//   - A List is of one revision, and a Watch from that revision continues it without a gap. The
//     pages of a list at one revision are the list, whatever is written between them.
//   - A Watch yields all changes and deletions in order, once each, whole revisions at a time. It
//     ends with its context, without an error. A slow or late Watch either gets everything or
//     world.ErrCompacted, never a gap. A quiet prefix gets bookmarks.
//   - Limits hold: a Txn of more is refused with the figure, and one of exactly as much is done.
//   - Values are copied in and out. A key keeps the revision of its creation until it is deleted.
//   - A key put with a lease goes when the lease ends; a key put again without it stays. An ended
//     lease says so by Done, takes no keys, and can be revoked again.
//   - A closed World answers world.ErrClosed, and its leases have ended.
//
// A maker of a World calls Run, and Same for a random comparison with the World in memory.
// Each test needs a store that is empty and has no other users.
package worldtest

import (
	"context"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Backend is a World under test, empty and without other users. Only Bookmarks, Lease
// and Advance may be left at their zero values.
type Backend struct {
	// World is closed by the test or by the Cleanup of open. A second Close does
	// nothing, so both may.
	World world.World
	// Lose ends World as the death of its process would, and returns another World on the same
	// store. The leases of the first end there within their time at the latest.
	Lose func(t *testing.T) world.World
	// Advance moves the clock that leases are measured by. When nil, the suite
	// waits in real time.
	Advance func(time.Duration)
	// Compact makes the World forget the history up to now. The suite calls it after
	// writes only, so a store may compact up to its newest revision.
	Compact func(t *testing.T)
	// Lease is the shortest lease that the World measures; a second when 0.
	Lease time.Duration
	// Bookmarks: a quiet prefix gets a bookmark after some 1,000 foreign revisions. A store that
	// sends them by the clock alone cannot be asked here.
	Bookmarks bool
}

// patience is how long anything may take that has to come. It is long, since a busy
// machine must fail no test. Only a failing test waits for so long.
const patience = time.Minute

// bench is one test with its backend. Every wait of a test ends with ctx, so a World
// that hangs fails the test and not the run. Helpers that call Fatal belong to the
// goroutine of the test.
type bench struct {
	Backend
	t   *testing.T
	ctx context.Context
}

// Run runs the suite. open is called for each test with a World of no keys, and leaves
// closing to the test's Cleanup. A World may be closed by its test before that. The
// tests run one after the other, each with a deadline of six times patience.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*bench)
	}{
		{"get", testGet},
		{"created", testCreated},
		{"list", testList},
		{"list in pages", testPages},
		{"list at a forgotten revision", testPagesCompacted},
		{"txn", testTxn},
		{"txn refused", testTxnRefused},
		{"limits", testLimits},
		{"copies", testCopies},
		{"counter", testCounter},
		{"model", testModel},
		{"cancelled", testCancelled},
		{"watch replays", testWatchReplays},
		{"watch follows", testWatchFollows},
		{"watch ends", testWatchEnds},
		{"watch without a gap", testWatchNoGap},
		{"watch compacted", testWatchCompacted},
		{"watch whole revisions", testWatchWhole},
		{"watch bookmarks", testBookmarks},
		{"closed", testClosed},
		{"lease lost", testLeaseLost},
		{"lease kept", testLeaseKept},
		{"lease let go", testLeaseLet},
		{"lease revoked", testLeaseRevoked},
		{"lease left", testLeaseLeft},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
			defer cancel()
			b := &bench{open(t), t, ctx}
			if b.Lease == 0 {
				b.Lease = time.Second
			}
			c.run(b)
		})
	}
}

// must do all operations without comparisons. It returns the revision of the change, or
// the present revision where nothing was changed.
func (b *bench) must(ops ...world.Op) int64 {
	b.t.Helper()
	rev, ok, err := b.World.Txn(b.ctx, nil, ops)
	if err != nil || !ok {
		b.t.Fatalf("Txn(%v): %t, %v", ops, ok, err)
	}
	return rev
}

// put is a write.
func put(key, value string) world.Op { return world.Op{Key: key, Value: []byte(value)} }

// del is a removal.
func del(key string) world.Op { return world.Op{Key: key, Delete: true} }

// list returns key=value for each key.
// The keys are in order, so that a test compares one text.
func (b *bench) list(prefix string) ([]string, int64) {
	b.t.Helper()
	p, err := b.World.List(b.ctx, prefix, world.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return pairs(p.KVs), p.Revision
}

// pairs writes keys with their values.
func pairs(kvs []world.KV) []string {
	var out []string
	for _, kv := range kvs {
		out = append(out, kv.Key+"="+string(kv.Value))
	}
	return out
}

// take reads n updates. It may return more than n, since a batch is never cut.
// Bookmarks are passed over. It ends its Watch, and fails the test if fewer have come
// within patience.
func (b *bench) take(prefix string, from int64, n int) []world.Update {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	var got []world.Update
	for batch, err := range b.World.Watch(ctx, prefix, from) {
		if err != nil {
			b.t.Fatalf("Watch(%q, %d): %v", prefix, from, err)
		}
		if got = append(got, batch.Updates...); len(got) >= n {
			return got
		}
	}
	b.t.Fatalf("Watch(%q, %d): %d updates of %d came", prefix, from, len(got), n)
	return nil
}

// advance lets time pass. A backend with a clock of its own returns at once.
func (b *bench) advance(d time.Duration) {
	if b.Advance != nil {
		b.Advance(d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}
