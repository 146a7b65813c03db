//go:build !small

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
)

// lease is a lease of etcd with the goroutine that renews it. ctx ends with the lease, or with the World.
type lease struct {
	w      *World
	id     clientv3.LeaseID
	ttl    time.Duration
	ctx    context.Context
	cancel context.CancelFunc

	until atomic.Int64 // of World.o.Uptime: the keys may go from then on

	mu      sync.Mutex
	revoked bool // the store has deleted the keys

	// Of the goroutine that renews. It keeps its stream, since with a password each new one costs the server a hash.
	stream pb.Lease_LeaseKeepAliveClient
	hangUp context.CancelFunc
}

// Lease implements world.World. etcd counts whole seconds, and has a shortest time that follows from its elections.
func (w *World) Lease(ctx context.Context, ttl time.Duration) (world.Lease, error) {
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	if ttl <= 0 {
		return nil, fmt.Errorf("%w: a lease of %s must be longer than nothing", world.ErrRefused, ttl)
	}
	l := &lease{w: w}
	l.ctx, l.cancel = context.WithCancel(w.ctx)
	var granted time.Duration
	err := w.call(ctx, once, func(ctx context.Context, c *clientv3.Client) error {
		granted = w.o.Uptime() // before the server begins to count
		resp, err := c.Grant(ctx, int64((ttl+time.Second-1)/time.Second))
		if err != nil {
			return err
		}
		l.id, l.ttl = resp.ID, time.Duration(resp.TTL)*time.Second
		return nil
	})
	if err != nil {
		l.cancel()
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, world.ErrClosed // the lease has no keys, and ends by itself
	}
	l.until.Store(int64(granted + l.ttl))
	w.leases[l] = struct{}{}
	w.owned.Go(func() { l.keep(granted) })
	return l, nil
}

// ID implements world.Lease. It is the name that etcdctl shows.
func (l *lease) ID() string { return leaseID(int64(l.id)) }

func leaseID(number int64) string { return strconv.FormatInt(number, 16) }

// Done implements world.Lease.
func (l *lease) Done() <-chan struct{} { return l.ctx.Done() }

// Holds implements world.Lease.
func (l *lease) Holds() bool {
	return l.ctx.Err() == nil && l.w.o.Uptime() < time.Duration(l.until.Load())
}

// Held implements world.World.
func (w *World) Held(id string) world.Lease {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.leases {
		if l.ID() == id {
			return l
		}
	}
	return nil
}

// end tells the owner that the lease is over. Its goroutine stops then.
func (l *lease) end() {
	l.cancel()
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	delete(l.w.leases, l)
}

// Leave implements world.Lease.
func (l *lease) Leave() { l.end() }

// Revoke implements world.Lease.
func (l *lease) Revoke(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revoked {
		return nil
	}
	err := l.w.call(ctx, repeatable, func(ctx context.Context, c *clientv3.Client) error {
		return gone(c.Revoke(ctx, l.id))
	})
	l.revoked = err == nil
	return err
}

// revoke is Revoke for Close, after which the World takes no calls.
func (l *lease) revoke(ctx context.Context) error {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revoked {
		return nil
	}
	err := l.w.signed(ctx, l.w.client, func(ctx context.Context, c *clientv3.Client) error { return gone(c.Revoke(ctx, l.id)) })
	if err != nil {
		return fmt.Errorf("lease %s is not revoked, and ends by itself within %s: %w", l.ID(), l.ttl, classify(err))
	}
	l.revoked = true
	return nil
}

// gone returns no error where the store has no such lease any more.
func gone(_ *clientv3.LeaseRevokeResponse, err error) error {
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// keep renews the lease until it ends, or the World does. It counts from before each request, so the lease ends here
// no later than in the store. The time in which the machine was suspended counts, too.
func (l *lease) keep(renewed time.Duration) {
	defer l.cancel()
	uptime, wait := l.w.o.Uptime, l.ttl/3
	for {
		if l.rest(wait) != nil {
			return
		}
		asked := uptime()
		left := renewed + l.ttl - asked
		if left <= 0 {
			l.w.log.Warn("a lease has ended, since the store did not answer", "lease", l.ID(), "seconds", l.ttl.Seconds())
			l.end()
			return
		}
		switch alive, err := l.renew(left); {
		case err == nil && alive:
			renewed, wait = asked, l.ttl/3
			l.until.Store(int64(renewed + l.ttl))
		case err == nil:
			l.w.log.Warn("the store has ended a lease", "lease", l.ID())
			l.end()
			return
		default:
			wait = min(l.ttl/10, max(renewed+l.ttl-uptime(), 0))
		}
	}
}

// wakeStep is how soon after a resume of the machine a lease is looked at. Timers stand still while the machine is suspended, so a
// longer one would tell the end of a lease late.
const wakeStep = time.Second

// rest waits, in steps, for a time that goes on while the machine is suspended.
func (l *lease) rest(wait time.Duration) error {
	for until := l.w.o.Uptime() + wait; ; {
		left := until - l.w.o.Uptime()
		if left <= 0 {
			return nil
		}
		if err := l.w.pause(l.ctx, min(left, wakeStep)); err != nil {
			return err
		}
	}
}

// renew asks the store once, and reports whether it still has the lease. A stream that fails is left.
func (l *lease) renew(left time.Duration) (alive bool, err error) {
	ctx, cancel := clock.WithTimeout(l.ctx, l.w.o.Clock, min(left, l.w.o.Timeout), nil)
	defer cancel()
	if l.stream == nil {
		if err := l.connect(ctx); err != nil {
			return false, err
		}
	}
	defer context.AfterFunc(ctx, l.hangUp)()
	if err = l.stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(l.id)}); err == nil {
		var resp *pb.LeaseKeepAliveResponse
		if resp, err = l.stream.Recv(); err == nil {
			return resp.TTL > 0, nil
		}
	}
	l.hangUp()
	l.stream = nil
	return false, err
}

// connect opens a stream, which ends with the lease.
func (l *lease) connect(ctx context.Context) error {
	c, err := l.w.connected(ctx)
	if err != nil {
		return err
	}
	own, hangUp := context.WithCancel(clientv3.WithRequireLeader(l.ctx))
	stop := context.AfterFunc(ctx, hangUp)
	s, err := pb.NewLeaseClient(c.ActiveConnection()).LeaseKeepAlive(own)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		hangUp()
		return err
	}
	l.stream, l.hangUp = s, hangUp
	return nil
}

// attached returns the lease of an operation as etcd names it.
func (w *World) attached(given world.Lease) (clientv3.LeaseID, error) {
	l, ok := given.(*lease)
	if !ok || l.w != w {
		return 0, fmt.Errorf("%w: the lease is of another store", world.ErrRefused)
	}
	if l.ctx.Err() != nil {
		return 0, world.ErrLeaseEnded
	}
	return l.id, nil
}
