package hosts

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Keeper keeps keys of one host in the store, under one lease. Make it with NewKeeper, and run
// it on a goroutine. Its methods are callable from any goroutine, and never block on the store.
type Keeper struct {
	store Store
	ttl   time.Duration
	wake  chan struct{} // capacity 1: Set was called

	told   teller
	live   bool
	onLive func(bool)

	mu     sync.Mutex
	groups map[string]map[string][]byte
}

// NewKeeper returns a Keeper whose keys outlive the process by ttl.
func NewKeeper(s Store, ttl time.Duration) *Keeper {
	return &Keeper{store: s, ttl: ttl, told: teller{say: s.Tell}, wake: make(chan struct{}, 1), groups: map[string]map[string][]byte{}}
}

// OnLive sets a function. It gets true when the keys are in the store under a lease that holds, and
// false when that has ended. It must not block, and is set before Run.
func (k *Keeper) OnLive(f func(bool)) { k.onLive = f }

// Set replaces the keys of one group by others. Groups have no key in common. The maps and values
// must not be altered after the call.
func (k *Keeper) Set(group string, keys map[string][]byte) {
	k.mu.Lock()
	k.groups[group] = keys
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// all returns the keys of all groups.
func (k *Keeper) all() map[string][]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string][]byte{}
	for _, g := range k.groups {
		maps.Copy(all, g)
	}
	return all
}

// say tells of a lease that holds, or holds no longer.
func (k *Keeper) say(live bool) {
	if live != k.live && k.onLive != nil {
		k.onLive(live)
	}
	k.live = live
}

// Run keeps the keys until ctx ends or the World is closed, and deletes them then.
func (k *Keeper) Run(ctx context.Context) {
	var wait backoff
	defer k.say(false)
	for {
		var lease engine.Lease
		err := k.store.call(ctx, func(ctx context.Context) (err error) {
			lease, err = k.store.World.Lease(ctx, k.ttl)
			return err
		})
		if err == nil {
			err = k.hold(ctx, lease, &wait)
			k.say(false)
			k.end(ctx, lease)
		}
		if over(ctx, err) {
			return
		}
		k.told.tell(err)
		if !wait.wait(ctx, k.store.Clock) {
			return
		}
	}
}

// end gives a lease up, unless it has ended: then its keys go by its time, as those of a dead host.
func (k *Keeper) end(ctx context.Context, lease engine.Lease) {
	select {
	case <-lease.Done():
	default:
		_ = k.store.call(context.WithoutCancel(ctx), lease.Revoke) // else its time ends it
	}
}

// again is a channel that is always ready.
var again = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// errLease says that the store has taken the host for dead.
var errLease = errors.New("the lease of this host has ended: the other hosts take it for dead until it is back")

// hold keeps the keys under a lease, until the lease or ctx ends. A write that fails is tried
// again as long as the lease holds.
func (k *Keeper) hold(ctx context.Context, lease engine.Lease, wait *backoff) error {
	has := map[string][]byte{}
	for {
		err := k.write(ctx, lease, has)
		switch {
		case err == nil:
			*wait = backoff{}
			k.told.tell(nil)
			k.say(true)
		case over(ctx, err), errors.Is(err, engine.ErrRefused):
			return err
		default:
			k.told.tell(err)
			if !wait.wait(ctx, k.store.Clock) {
				return context.Cause(ctx)
			}
		}
		news := k.wake
		if err != nil {
			news = again
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-lease.Done():
			return errLease
		case <-news:
		}
	}
}

// write brings the store from the keys in has to those of the groups, in transactions within the
// limits. It changes has with each.
func (k *Keeper) write(ctx context.Context, lease engine.Lease, has map[string][]byte) error {
	wanted := k.all()
	var ops []engine.Op
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if old, there := has[key]; !there || !bytes.Equal(old, wanted[key]) {
			ops = append(ops, engine.Op{Key: key, Value: wanted[key], Lease: lease})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(has)) {
		if _, stays := wanted[key]; !stays {
			ops = append(ops, engine.Op{Key: key, Delete: true})
		}
	}
	for part := range parts(ops, k.store.World.Limits()) {
		err := k.store.call(ctx, func(ctx context.Context) error {
			_, _, err := k.store.World.Txn(ctx, nil, part)
			return err
		})
		if err != nil {
			return err
		}
		for _, op := range part {
			if op.Delete {
				delete(has, op.Key)
			} else {
				has[op.Key] = op.Value
			}
		}
	}
	return nil
}

// parts cuts operations into transactions that the limits allow.
func parts(ops []engine.Op, l engine.Limits) func(yield func([]engine.Op) bool) {
	return func(yield func([]engine.Op) bool) {
		for len(ops) > 0 {
			n, size := 0, 0
			for n < len(ops) && n < l.Ops {
				size += len(ops[n].Key) + len(ops[n].Value)
				if n > 0 && size > l.Bytes {
					break
				}
				n++
			}
			if !yield(ops[:n]) {
				return
			}
			ops = ops[n:]
		}
	}
}
