// Package worldtest is the one suite that every engine.World passes.
//
// # Laws
//
//   - A Txn does all of its operations or none, and all its changes get one new revision, greater
//     than every one before.
//   - Compare holds exactly if the key's last change has that revision; 0 stands for an absent key,
//     also after a deletion.
//   - A List is of one revision, and a Watch from that revision continues it without a gap.
//   - A Watch yields all changes and deletions in order, once each. It ends with its context,
//     without an error. A slow or late Watch either gets everything or engine.ErrCompacted, never a
//     gap.
//   - Values are copied in and out.
//   - A key put with a lease goes when the lease ends; a key put again without it stays. A lease
//     that has ended can't be renewed, but can be revoked.
package worldtest

import (
	"context"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Backend is a World under test, empty and without other users.
type Backend struct {
	World engine.World
	// Advance moves the clock that leases are measured by. When nil, the suite
	// waits in real time.
	Advance func(time.Duration)
	// Compact makes the World forget the history up to now.
	Compact func(t *testing.T)
	// Lease is the shortest lease that the World measures; a second when 0.
	Lease time.Duration
}

// patience is how long anything may take that has to come.
const patience = time.Minute

// bench is one test with its backend.
type bench struct {
	Backend
	t   *testing.T
	ctx context.Context
}

// Run runs the suite. open is called for each test, and leaves closing to the
// test's Cleanup.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*bench)
	}{
		{"get", testGet},
		{"list", testList},
		{"txn", testTxn},
		{"txn refused", testTxnRefused},
		{"copies", testCopies},
		{"counter", testCounter},
		{"model", testModel},
		{"cancelled", testCancelled},
		{"watch replays", testWatchReplays},
		{"watch follows", testWatchFollows},
		{"watch ends", testWatchEnds},
		{"watch without a gap", testWatchNoGap},
		{"watch compacted", testWatchCompacted},
		{"lease ends", testLeaseEnds},
		{"lease renewed", testLeaseRenewed},
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

// must do all operations without comparisons.
func (b *bench) must(ops ...engine.Op) int64 {
	b.t.Helper()
	rev, ok, err := b.World.Txn(b.ctx, nil, ops)
	if err != nil || !ok {
		b.t.Fatalf("Txn(%v): %t, %v", ops, ok, err)
	}
	return rev
}

// put is a write.
func put(key, value string) engine.Op { return engine.Op{Key: key, Value: []byte(value)} }

// del is a removal.
func del(key string) engine.Op { return engine.Op{Key: key, Delete: true} }

// list returns key=value for each key.
// The keys are in order, so that a test compares one text.
func (b *bench) list(prefix string) ([]string, int64) {
	b.t.Helper()
	kvs, rev, err := b.World.List(b.ctx, prefix)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, kv := range kvs {
		out = append(out, kv.Key+"="+string(kv.Value))
	}
	return out, rev
}

// take reads n updates.
func (b *bench) take(prefix string, from int64, n int) []engine.Update {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	var got []engine.Update
	for u, err := range b.World.Watch(ctx, prefix, from) {
		if err != nil {
			b.t.Fatalf("Watch(%q, %d): %v", prefix, from, err)
		}
		if got = append(got, u); len(got) == n {
			return got
		}
	}
	b.t.Fatalf("Watch(%q, %d): %d updates of %d came", prefix, from, len(got), n)
	return nil
}

// advance lets time pass.
func (b *bench) advance(d time.Duration) {
	if b.Advance != nil {
		b.Advance(d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}
