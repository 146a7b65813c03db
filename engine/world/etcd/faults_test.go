//go:build !small

package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/internal/await"
)

// reader follows a prefix as a daemon does: after ErrUnavailable it watches again from where it was.
type reader struct {
	mu    sync.Mutex
	seen  []string
	lost  int // how often the store could not be reached
	ended error
}

// read starts a reader, which ends with the test.
func read(t *testing.T, w world.World, prefix string, from int64) *reader {
	r, ctx, done := &reader{}, t.Context(), make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for b, err := range w.Watch(ctx, prefix, from) {
				if !r.take(b, err) {
					return
				}
				from = max(from, b.Revision)
			}
		}
	}()
	t.Cleanup(func() {
		_ = w.Close()
		<-done
	})
	return r
}

// take keeps a batch, and reports whether to go on.
func (r *reader) take(b world.Batch, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range b.Updates {
		r.seen = append(r.seen, string(u.Value))
	}
	if errors.Is(err, world.ErrUnavailable) {
		r.lost++
		return true
	}
	r.ended = err
	return err == nil
}

// wants waits until the reader has seen exactly the numbers from 1 to n.
func (r *reader) wants(t *testing.T, n int) {
	t.Helper()
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint(i+1))
	}
	until(t, "the reader sees all", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if got := strings.Join(r.seen, " "); got != strings.Join(want, " ") {
			return fmt.Errorf("it has seen %s, want up to %d; ended with %v", got, n, r.ended)
		}
		return nil
	})
}

// outages returns how often the reader has lost the store.
func (r *reader) outages() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// TestStoreGone: while the store is away each call says so, and a Watch, too. When it is back all goes on, with the
// same lease, and the Watch has lost nothing.
func TestStoreGone(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := single(t, v)
		w := open(t, etcd.Options{Endpoints: []string{m.endpoint}, Timeout: time.Second})
		l, err := w.Lease(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "leased", Lease: l}}); err != nil {
			t.Fatal(err)
		}
		r := read(t, w, "n", put(t, w, "first", "0"))
		put(t, w, "n", "1")
		r.wants(t, 1)
		m.kill()
		unavailable(t, w)
		until(t, "the Watch tells", func() error {
			if r.outages() == 0 {
				return errors.New("it has not told that the store is away")
			}
			return nil
		})
		m.start()
		until(t, "the store is back", func() error { _, err := w.Get(t.Context(), "n"); return err })
		put(t, w, "n", "2")
		r.wants(t, 2)
		if _, err := w.Get(t.Context(), "leased"); err != nil || l.Done() == nil {
			t.Error("the lease:", err)
		}
		select {
		case <-l.Done():
			t.Error("the lease has ended")
		default:
		}
	})
}

// unavailable fails where a call on a store that is away does not say so. No call hangs, and all wait at once.
func unavailable(t *testing.T, w *etcd.World) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	var get, list, txn, lease error
	var all sync.WaitGroup
	all.Go(func() { _, get = w.Get(ctx, "n") })
	all.Go(func() { _, list = w.List(ctx, "n", world.ListOptions{}) })
	all.Go(func() { _, _, txn = w.Txn(ctx, nil, []world.Op{{Key: "lost"}}) })
	all.Go(func() { _, lease = w.Lease(ctx, time.Second) })
	all.Wait()
	for what, err := range map[string]error{"Get": get, "List": list, "Txn": txn, "Lease": lease} {
		if !errors.Is(err, world.ErrUnavailable) || errors.Is(err, world.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestStoreAwayAtFirst: a World is made while the store is away, with and without a password, and serves when the
// store comes.
func TestStoreAwayAtFirst(t *testing.T) {
	t.Parallel()
	m := prepare(t, versions[0], "m0", "http")
	m.args = append(m.args, "--initial-cluster=m0=http://"+m.peer)
	o := etcd.Options{Endpoints: []string{m.endpoint}, Timeout: time.Second}
	w := open(t, o)
	o.User, o.Password = "root", "secret"
	other := open(t, o)
	unavailable(t, w)
	unavailable(t, other)
	m.start()
	for _, w := range []*etcd.World{w, other} {
		until(t, "the store has come", func() error {
			_, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "n"}})
			return err
		})
	}
}

// TestLeaseOutlived: where the store does not answer for the time of a lease, the lease has ended: it says so, takes
// no keys, and Close reports what it could not do.
func TestLeaseOutlived(t *testing.T) {
	t.Parallel()
	m := single(t, versions[0])
	w := open(t, etcd.Options{Endpoints: []string{m.endpoint}, Timeout: time.Second})
	l, err := w.Lease(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	long, err := w.Lease(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	m.kill()
	select {
	case <-l.Done():
	case <-time.After(await.Left()):
		t.Fatal("the end of the lease is not told")
	}
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "a", Lease: l}}); !errors.Is(err, world.ErrRefused) {
		t.Errorf("a put with it: %v", err)
	}
	if err := w.Close(); !errors.Is(err, world.ErrUnavailable) || !strings.Contains(err.Error(), long.ID()) {
		t.Errorf("Close with a lease that it cannot revoke: %v", err)
	}
}

// TestEndedByTheStore: an operator ends a lease in the store. Its owner is told with the next renewal, and not when the time of the lease is over.
func TestEndedByTheStore(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := single(t, v)
		var log bytes.Buffer
		w := open(t, etcd.Options{Endpoints: []string{m.endpoint}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		l, err := w.Lease(t.Context(), 6*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "a", Lease: l}}); err != nil {
			t.Fatal(err)
		}
		id, err := strconv.ParseInt(l.ID(), 16, 64)
		if err != nil {
			t.Fatal("etcdctl cannot name this lease:", err)
		}
		if _, err := plain(t, clientv3.Config{Endpoints: []string{m.endpoint}}).Revoke(t.Context(), clientv3.LeaseID(id)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-l.Done():
		case <-time.After(await.Left()):
			t.Fatal("the end of the lease is not told")
		}
		if _, err := w.Get(t.Context(), "a"); !errors.Is(err, world.ErrNotFound) {
			t.Error("its key:", err)
		}
		if err := w.Close(); err != nil { // which awaits the goroutine that logs
			t.Error(err)
		}
		if !strings.Contains(log.String(), "the store has ended a lease") {
			t.Errorf("the log says %q", log.String())
		}
	})
}

// TestSuspended: a lease that ended while the machine was suspended is over soon after the resume, before the store is asked. A short
// suspend costs nothing.
func TestSuspended(t *testing.T) {
	t.Parallel()
	m := single(t, versions[0])
	var slept atomic.Int64
	begin := time.Now()
	w := open(t, etcd.Options{Endpoints: []string{m.endpoint}, Timeout: time.Second, Uptime: func() time.Duration {
		return time.Since(begin) + time.Duration(slept.Load())
	}})
	l, err := w.Lease(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	slept.Add(int64(30 * time.Minute))
	select {
	case <-l.Done():
		t.Fatal("the lease has ended in half of its time")
	case <-time.After(3 * time.Second):
	}
	m.kill() // so that only the clock tells
	slept.Add(int64(time.Hour))
	select {
	case <-l.Done():
	case <-time.After(await.Left()):
		t.Fatal("the end of the lease is not noticed")
	}
}

// TestFindingR1Holds: whether a lease holds is counted at the moment of the question, from the moment when its last renewal was sent. A process that was
// stopped, or a machine that was suspended, has no moment in which it takes a lease for its own that the store may have ended.
func TestFindingR1Holds(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := single(t, v)
		var slept atomic.Int64
		begin := time.Now()
		w := open(t, etcd.Options{Endpoints: []string{m.endpoint}, Timeout: time.Second, Uptime: func() time.Duration {
			return time.Since(begin) + time.Duration(slept.Load())
		}})
		l, err := w.Lease(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "a", Lease: l}, {Key: "b"}}); err != nil {
			t.Fatal(err)
		}
		kv, err := w.Get(t.Context(), "a")
		if err != nil || kv.Lease != l.ID() || w.Held(kv.Lease) != l || !l.Holds() {
			t.Errorf("the key has the lease %q, %v; held %v", kv.Lease, err, w.Held(kv.Lease))
		}
		if kv, err := w.Get(t.Context(), "b"); err != nil || kv.Lease != "" || w.Held("") != nil {
			t.Errorf("a key without one has %q, %v", kv.Lease, err)
		}
		m.stop() // it answers nothing, and tells nothing
		defer m.signal(syscall.SIGCONT)
		slept.Add(int64(59 * time.Minute))
		if !l.Holds() {
			t.Error("the lease does not hold within its time")
		}
		slept.Add(int64(2 * time.Minute))
		if l.Holds() {
			t.Error("the lease holds after its time")
		}
	})
}

// TestSlowStore: a server that holds its connections and answers nothing ends each call in its time. When it goes on,
// the Watch has lost nothing, and shows nothing twice.
func TestSlowStore(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := single(t, v)
		w := open(t, etcd.Options{Endpoints: []string{m.endpoint}, Timeout: time.Second})
		r := read(t, w, "n", put(t, w, "first", "0"))
		put(t, w, "n", "1")
		r.wants(t, 1)
		m.stop()
		unavailable(t, w)
		m.signal(syscall.SIGCONT)
		until(t, "the server goes on", func() error { _, err := w.Get(t.Context(), "n"); return err })
		put(t, w, "n", "2")
		r.wants(t, 2)
	})
}

// signal stops the process, or lets it go on.
func (m *member) signal(s syscall.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
}

// stop holds the server, and returns when the kernel says that it is held: the signal alone lets it answer once more.
func (m *member) stop() {
	m.t.Helper()
	m.signal(syscall.SIGSTOP)
	until(m.t, "the server is held", func() error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
		if err != nil {
			return err
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(state, "T") {
			return errors.New("its state is " + state)
		}
		return nil
	})
}

// TestExpiredToken: a token that the server has forgotten is replaced, for calls, watches and leases. A password that
// was changed is refused.
func TestExpiredToken(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := single(t, v, "--auth-token-ttl=1")
		o := etcd.Options{Endpoints: []string{m.endpoint}, Timeout: await.Left()}
		if err := open(t, o).Protect(t.Context(), "secret"); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, o).Get(t.Context(), "n"); !errors.Is(err, world.ErrRefused) {
			t.Errorf("without a user: %v", err)
		}
		o.User, o.Password = "root", "secret"
		w := open(t, o)
		if err := w.Allow(t.Context(), "host", "first", etcd.Grant{Below: true, Write: true}); err != nil {
			t.Fatal(err)
		}
		o.User, o.Password = "host", "first"
		host := open(t, o)
		l, err := host.Lease(t.Context(), 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		r := read(t, host, "n", put(t, host, "first", "0"))
		<-time.After(3 * time.Second) // three times what a token lives without use
		put(t, host, "n", "1")
		r.wants(t, 1)
		m.kill() // tokens are in the memory of the server
		m.start()
		until(t, "the server is back", func() error { _, err := host.Get(t.Context(), "n"); return err })
		put(t, host, "n", "2")
		r.wants(t, 2)
		if _, _, err := host.Txn(t.Context(), nil, []world.Op{{Key: "leased", Lease: l}}); err != nil {
			t.Errorf("the lease: %v", err)
		}
		if err := w.Allow(t.Context(), "host", "second", etcd.Grant{Below: true, Write: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := host.Get(t.Context(), "n"); !errors.Is(err, world.ErrRefused) || strings.Contains(err.Error(), "first") {
			t.Errorf("with the old password: %v", err)
		}
	})
}

// TestUsersComeLater: a store gets its users while a host with a password works with it. Until then the host has no token; from then on it signs in, and its
// calls and its Watch go on.
func TestUsersComeLater(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := single(t, v)
		o := etcd.Options{Endpoints: []string{m.endpoint}, Timeout: await.Left()}
		admin := open(t, o)
		o.User, o.Password = "root", "secret"
		w := open(t, o)
		r := read(t, w, "n", put(t, w, "first", "0"))
		put(t, w, "n", "1")
		r.wants(t, 1)
		if err := admin.Protect(t.Context(), "secret"); err != nil {
			t.Fatal(err)
		}
		put(t, w, "n", "2")
		r.wants(t, 2)
	})
}

// TestSlowReader: a Watch whose user does not read holds no memory here. It shows what the server still had for it, in
// order and without a gap, and then that the rest is forgotten.
func TestSlowReader(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := single(t, v)
		w := open(t, etcd.Options{Endpoints: []string{m.endpoint}})
		from := put(t, w, "first", "0")
		big := strings.Repeat("x", 32<<10)
		put(t, w, "n", "0 "+big)
		next, writes := 0, 1200
		var failed error
		for b, err := range w.Watch(t.Context(), "n", from) {
			if failed = err; err != nil {
				break
			}
			for _, u := range b.Updates {
				if got, _, _ := strings.Cut(string(u.Value), " "); got != fmt.Sprint(next) {
					t.Fatalf("%s came, want %d", got, next)
				}
				next++
			}
			for i := range writes { // while the first batch is in the hands of the user
				put(t, w, "n", fmt.Sprint(i+1, " ", big))
			}
			if writes > 0 {
				compact(t, m.endpoint)
			}
			writes = 0
		}
		if !errors.Is(failed, world.ErrCompacted) {
			t.Errorf("after %d writes: %v", next, failed)
		}
	})
}

// TestForgottenToken: a member that has restarted knows no tokens of before, which the other members still know. A Watch
// that begins there gets a new token, and is not refused.
func TestForgottenToken(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		c := three(t, v)
		o := c.options()
		o.Timeout = await.Left()
		if err := open(t, o).Protect(t.Context(), "secret"); err != nil {
			t.Fatal(err)
		}
		o.User, o.Password = "root", "secret"
		w := open(t, o)
		from := put(t, w, "n", "0")
		put(t, w, "n", "1")
		for round := range 3 {
			m := c.members[round]
			m.kill()
			m.start()
			m.await(etcd.Options{Endpoints: []string{m.endpoint}, User: "root", Password: "secret"})
			for range 6 {
				for b, err := range w.Watch(t.Context(), "n", from) {
					if errors.Is(err, world.ErrUnavailable) {
						break // of a busy machine
					}
					if err != nil || len(b.Updates) != 1 || string(b.Updates[0].Value) != "1" {
						t.Fatalf("round %d: %v, %v", round, b, err)
					}
					break
				}
			}
		}
	})
}
