package mvcc_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/internal/mvcc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a Backend of no content, whose Updates a test holds and fails. It counts them.
type backend struct {
	hold    chan struct{} // where not nil, an Update waits for it
	fail    error
	updates int
	closed  atomic.Int32
	state   mvcc.State
	keys    map[string]mvcc.Version
}

func newBackend() *backend { return &backend{keys: map[string]mvcc.Version{}} }

func (b *backend) View(do func(mvcc.Reader) error) error { return do(b) }

func (b *backend) Update(do func(mvcc.Writer) error) error {
	if b.hold != nil {
		<-b.hold
	}
	b.updates++
	if b.fail != nil {
		return b.fail
	}
	return do(b)
}

func (b *backend) Close() error                                               { b.closed.Add(1); return nil }
func (b *backend) State() mvcc.State                                          { return b.state }
func (b *backend) Changes(int64, func(mvcc.Change) bool) error                { return nil }
func (b *backend) Forget() error                                              { return nil }
func (b *backend) Scan(_, _ string, _ int64, _ func(mvcc.Version) bool) error { return nil }

func (b *backend) Last(key string, _ int64) (mvcc.Version, bool, error) {
	v, ok := b.keys[key]
	return v, ok, nil
}

func (b *backend) Put(v mvcc.Version, _ int64) error {
	b.keys[v.Key], b.state.Rev = v, v.Rev
	return nil
}

func put(key string) []world.Op { return []world.Op{{Key: key}} }

// TestTogether: what waits while a group is committed is the next group, as one Update, in order;
// one that is refused fails alone.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend()
		b.hold = make(chan struct{})
		c := mvcc.New(b, clock.System{}, mvcc.Keep{Most: 100}).Client()
		revs := make([]int64, 5)
		var wg sync.WaitGroup
		for i := range revs {
			wg.Go(func() {
				compare := []world.Compare{{Key: "never", Revision: int64(i / 4)}} // the last one does not hold
				rev, ok, err := c.Txn(t.Context(), compare, put("k"))
				if err != nil || ok != (i < 4) {
					t.Error(i, ok, err)
				}
				revs[i] = rev
			})
			synctest.Wait()
		}
		close(b.hold)
		wg.Wait()
		if b.updates != 2 {
			t.Errorf("%d updates for one transaction and four that waited", b.updates)
		}
		if !slices.Equal(revs, []int64{1, 2, 3, 4, 4}) {
			t.Errorf("the revisions are %v", revs)
		}
	})
}

// TestContextWhileWaiting: a context ends the wait for a group that has not begun, and the work goes on
// to the next one that waits. A group that has begun is waited for.
func TestContextWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend()
		b.hold = make(chan struct{})
		c := mvcc.New(b, clock.System{}, mvcc.Keep{Most: 100}).Client()
		txn := func(ctx context.Context, key string) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, _, err := c.Txn(ctx, nil, put(key))
				done <- err
			}()
			synctest.Wait()
			return done
		}
		begun, endBegun := context.WithCancel(t.Context())
		waits, endWaits := context.WithCancel(t.Context())
		first, second, third := txn(begun, "first"), txn(waits, "second"), txn(t.Context(), "third")
		endWaits()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("one that waits: %v", err)
		}
		endBegun()
		synctest.Wait()
		close(b.hold)
		if err := <-first; err != nil {
			t.Errorf("one whose group has begun: %v", err)
		}
		if err := <-third; err != nil {
			t.Errorf("the next one: %v", err)
		}
		if _, there := b.keys["second"]; there || len(b.keys) != 2 {
			t.Errorf("the keys are %v", b.keys)
		}
	})
}

// TestFailedUpdate: each of a group hears of it, and a lease whose keys could not be deleted is
// ended by the next Revoke.
func TestFailedUpdate(t *testing.T) {
	b := newBackend()
	c := mvcc.New(b, clock.System{}, mvcc.Keep{Most: 100}).Client()
	l, err := c.Lease(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Txn(t.Context(), nil, []world.Op{{Key: "a", Lease: l}}); err != nil {
		t.Fatal(err)
	}
	b.fail = errors.New("the disk is gone")
	if _, _, err := c.Txn(t.Context(), nil, put("b")); !errors.Is(err, b.fail) {
		t.Errorf("Txn: %v", err)
	}
	if err := l.Revoke(t.Context()); !errors.Is(err, b.fail) {
		t.Errorf("Revoke: %v", err)
	}
	b.fail = nil
	if _, _, err := c.Txn(t.Context(), nil, []world.Op{{Key: "c", Lease: l}}); !errors.Is(err, world.ErrRefused) {
		t.Errorf("a put with a lease that is ending: %v", err)
	}
	if err := l.Revoke(t.Context()); err != nil || !b.keys["a"].Deleted {
		t.Errorf("a second Revoke: %v, the keys are %v", err, b.keys)
	}
}

// TestOverdueLease: the keys of a lease that could not be deleted go with the next transaction that the disk takes.
func TestOverdueLease(t *testing.T) {
	b := newBackend()
	c := mvcc.New(b, clock.System{}, mvcc.Keep{Most: 100}).Client()
	l, err := c.Lease(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Txn(t.Context(), nil, []world.Op{{Key: "a", Lease: l}}); err != nil {
		t.Fatal(err)
	}
	b.fail = errors.New("the disk is full")
	if err := l.Revoke(t.Context()); !errors.Is(err, b.fail) {
		t.Errorf("Revoke: %v", err)
	}
	if _, _, err := c.Txn(t.Context(), nil, put("b")); !errors.Is(err, b.fail) {
		t.Errorf("Txn: %v", err)
	}
	b.fail = nil
	if _, _, err := c.Txn(t.Context(), nil, put("b")); err != nil || !b.keys["a"].Deleted || b.keys["b"].Deleted {
		t.Errorf("the next transaction: %v, the keys are %v", err, b.keys)
	}
	if err := errors.Join(l.Revoke(t.Context()), c.Close()); err != nil || b.closed.Load() != 1 {
		t.Error(err, b.closed.Load())
	}
}

// TestLastClientCloses: the backend is closed by the last user, or by the end of the last lease of
// an abandoned one.
func TestLastClientCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend()
		s := mvcc.New(b, clock.System{}, mvcc.Keep{Most: 100})
		one, two := s.Client(), s.Client()
		if _, err := one.Lease(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		one.Abandon()
		if err := two.Close(); err != nil || b.closed.Load() != 0 {
			t.Fatalf("closed %d times, %v, while a lease runs out", b.closed.Load(), err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if b.closed.Load() != 1 {
			t.Errorf("closed %d times", b.closed.Load())
		}
	})
}
