package worldtest

import (
	"errors"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// lease grants a lease of the length that the bench can wait for.
func (b *bench) lease() engine.Lease {
	b.t.Helper()
	l, err := b.World.Lease(b.ctx, b.Lease)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// leased is a write that ends with a lease.
func leased(key, value string, l engine.Lease) engine.Op {
	return engine.Op{Key: key, Value: []byte(value), Lease: l}
}

// keys compares all keys that are there now.
func (b *bench) keys(want string) {
	b.t.Helper()
	if got, _ := b.list(""); strings.Join(got, " ") != want {
		b.t.Errorf("the world holds %v, want %s", got, want)
	}
}

// testLeaseEnds: its keys go when it is not renewed, and who watches sees that.
func testLeaseEnds(b *bench) {
	l := b.lease()
	rev := b.must(leased("a", "1", l), leased("b", "1", l), put("c", "1"))
	b.keys("a=1 b=1 c=1")
	b.advance(2 * b.Lease)
	gone := b.take("", rev, 2)
	b.expect(gone, "a deleted", "b deleted")
	b.keys("c=1")
	if err := l.Renew(b.ctx); !errors.Is(err, engine.ErrNotFound) {
		b.t.Errorf("Renew of an ended lease: %v", err)
	}
	if err := l.Revoke(b.ctx); err != nil {
		b.t.Errorf("Revoke of an ended lease: %v", err)
	}
	if _, _, err := b.World.Txn(b.ctx, nil, []engine.Op{put("d", "1"), leased("a", "2", l)}); err == nil {
		b.t.Error("a put with an ended lease is no error")
	}
	b.keys("c=1")
	if _, err := b.World.Lease(b.ctx, 0*time.Second); err == nil {
		b.t.Error("a lease of no time is no error")
	}
}

// testLeaseRenewed: a lease that is renewed in time keeps its keys for as long as its
// owner likes.
func testLeaseRenewed(b *bench) {
	l := b.lease()
	rev := b.must(leased("a", "1", l))
	for range 4 {
		b.advance(b.Lease / 2)
		if err := l.Renew(b.ctx); err != nil {
			b.t.Fatalf("Renew: %v", err)
		}
	}
	b.keys("a=1")
	b.advance(2 * b.Lease)
	b.expect(b.take("a", rev, 1), "a deleted")
	b.keys("")
}

// testLeaseRevoked: the end of a lease removes its keys at one revision, and no others.
func testLeaseRevoked(b *bench) {
	l, other := b.lease(), b.lease()
	rev := b.must(leased("a", "1", l), leased("b", "1", other), leased("c", "1", l))
	if err := l.Revoke(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	b.keys("b=1")
	b.expect(b.take("", rev, 2), "a deleted", "c deleted")
	if err := l.Revoke(b.ctx); err != nil {
		b.t.Errorf("a second Revoke: %v", err)
	}
	if err := l.Renew(b.ctx); !errors.Is(err, engine.ErrNotFound) {
		b.t.Errorf("Renew of a revoked lease: %v", err)
	}
}

// testLeaseLeft: a key that was put again without the lease, or with another, or was deleted and
// made anew, is not its own any more.
func testLeaseLeft(b *bench) {
	l, other := b.lease(), b.lease()
	b.must(leased("a", "1", l), leased("b", "1", l), leased("c", "1", l), leased("d", "1", l))
	b.must(put("a", "2"), leased("b", "2", other), del("c"))
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
