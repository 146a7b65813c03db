package worldtest

import (
	"errors"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
)

// lease makes a lease of the length that the bench can wait for. A test need not revoke
// it: the Close of its World does.
func (b *bench) lease() world.Lease {
	b.t.Helper()
	l, err := b.World.Lease(b.ctx, b.Lease)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// leased is a write that ends with a lease. The lease must be of the World that does
// the Txn.
func leased(key, value string, l world.Lease) world.Op {
	return world.Op{Key: key, Value: []byte(value), Lease: l}
}

// keys compares all keys that are there now. The wanted text is key=value for each key,
// sorted by the bytes of the keys, with one blank between them.
func (b *bench) keys(want string) {
	b.t.Helper()
	if got, _ := b.list(""); strings.Join(got, " ") != want {
		b.t.Errorf("the world holds %v, want %s", got, want)
	}
}

// ended fails where a lease has not said within patience that it is over. It waits,
// since a World may close Done later than Revoke returns.
func (b *bench) ended(l world.Lease) {
	b.t.Helper()
	select {
	case <-l.Done():
	case <-time.After(patience):
		b.t.Error("the end of a lease is not told")
	}
}

// testLeaseLost: the keys of a World whose process died go, at the latest when the time
// is over, and a Watch sees that. The test lets the time of the lease pass twice. A
// cluster that changes its leader may count it once more. The Watch begins behind the
// lost puts and on the second World, so the deletions must be in the history that the
// users share.
func testLeaseLost(b *bench) {
	l := b.lease()
	rev := b.must(leased("a", "1", l), leased("b", "1", l), put("c", "1"))
	b.World = b.Lose(b.t)
	b.advance(2 * b.Lease)
	b.expect(b.take("", rev, 2), "a deleted", "b deleted")
	b.keys("c=1")
}

// testLeaseKept: a lease lives on without its owner's doing, since the World renews it.
// Two leases have two names. A lease without a length is refused at once, since its
// keys would be gone before a reader sees them.
func testLeaseKept(b *bench) {
	l := b.lease()
	b.must(leased("a", "1", l))
	// In sum the time is three times the length: a World that renews too late loses the
	// key here.
	for range 3 {
		b.advance(b.Lease)
	}
	b.keys("a=1")
	select {
	case <-l.Done():
		b.t.Error("a lease of a living World has ended")
	default:
	}
	// A reader learns from the key that it is its own, and whether that is still sure.
	kv, err := b.World.Get(b.ctx, "a")
	if err != nil || kv.Lease != l.ID() || b.World.Held(kv.Lease) != l || !l.Holds() {
		b.t.Errorf("the lease of the key is %q, %v; it is %q, and holds: %t", kv.Lease, err, l.ID(), l.Holds())
	}
	other := b.lease()
	if l.ID() == "" || l.ID() == other.ID() {
		b.t.Errorf("two leases are called %q and %q", l.ID(), other.ID())
	}
	if _, err := b.World.Lease(b.ctx, 0*time.Second); !errors.Is(err, world.ErrRefused) {
		b.t.Errorf("a lease of no time: %v", err)
	}
}

// testLeaseLet: the keys of a lease that was let go stay until its time is over, and nobody renews it. It takes no more keys.
func testLeaseLet(b *bench) {
	l := b.lease()
	rev := b.must(leased("a", "1", l), put("c", "1"))
	l.Leave()
	l.Leave()
	b.ended(l)
	if l.Holds() || b.World.Held(l.ID()) != nil {
		b.t.Error("a lease that was let go proves something")
	}
	b.keys("a=1 c=1")
	if _, _, err := b.World.Txn(b.ctx, nil, []world.Op{leased("d", "2", l)}); !errors.Is(err, world.ErrLeaseEnded) {
		b.t.Errorf("a put with a lease that was let go: %v", err)
	}
	b.World = b.Lose(b.t) // or the store of one process would wait for its end
	b.advance(2 * b.Lease)
	b.expect(b.take("", rev, 1), "a deleted")
	b.keys("c=1")
}

// testLeaseRevoked: the end of a lease removes its keys at one revision, and no others.
// An owner may revoke in a defer as well, so a second Revoke succeeds.
func testLeaseRevoked(b *bench) {
	l, other := b.lease(), b.lease()
	rev := b.must(leased("a", "1", l), leased("b", "1", other), leased("c", "1", l))
	if err := l.Revoke(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.ended(l)
	b.keys("b=1")
	gone := b.take("", rev, 2)
	b.expect(gone, "a deleted", "c deleted")
	if gone[0].Revision != gone[1].Revision {
		b.t.Errorf("the keys of one lease went at the revisions %d and %d", gone[0].Revision, gone[1].Revision)
	}
	if err := l.Revoke(b.ctx); err != nil {
		b.t.Errorf("a second Revoke: %v", err)
	}
	// A put with an ended lease would never go. Therefore the whole Txn is refused, its
	// put without a lease too.
	if _, _, err := b.World.Txn(b.ctx, nil, []world.Op{put("d", "1"), leased("a", "2", l)}); !errors.Is(err, world.ErrLeaseEnded) {
		b.t.Errorf("a put with an ended lease: %v", err)
	}
	// The lease is looked at first. A client knows of its end, and a server may not yet.
	failing := []world.Compare{{Key: "never", Revision: 1}}
	if _, _, err := b.World.Txn(b.ctx, failing, []world.Op{leased("a", "2", l)}); !errors.Is(err, world.ErrLeaseEnded) {
		b.t.Errorf("a put with an ended lease, where the comparison fails: %v", err)
	}
	b.keys("b=1")
}

// testLeaseLeft: a key that was put again without the lease, or with another, or was
// deleted and made anew, is not its own any more. The revision of a key does not say
// whose it is: only the lease of its newest put counts.
func testLeaseLeft(b *bench) {
	l, other := b.lease(), b.lease()
	b.must(leased("a", "1", l), leased("b", "1", l), leased("c", "1", l), leased("d", "1", l))
	b.must(put("a", "2"), leased("b", "2", other), del("c"))
	// The key c needs a second Txn, since one Txn may not alter a key twice.
	b.must(put("c", "2"))
	if err := l.Revoke(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.keys("a=2 b=2 c=2")
	if err := other.Revoke(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.keys("a=2 c=2")
}
