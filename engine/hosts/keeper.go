package hosts

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
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

	onRefused func(string, error)
	denied    map[string]bool // the keys that onRefused was told of; they are not in the store

	onWritten func()

	outlives bool // the keys stay for the time of the lease after Run

	mu     sync.Mutex
	groups map[string]map[string][]byte
	kept   map[string]known // in the store under lease
	lease  world.Lease      // nil where kept is empty
	doubt  bool             // Again was called

	inherited map[string]bool // may be in the store by an earlier process or another Keeper
	forgotten []string        // another Keeper has them from now on
}

// NewKeeper returns a Keeper whose keys outlive the process by ttl.
func NewKeeper(s Store, ttl time.Duration) *Keeper {
	return &Keeper{store: s, ttl: ttl, told: teller{say: s.Tell}, wake: make(chan struct{}, 1), groups: map[string]map[string][]byte{}, denied: map[string]bool{}, inherited: map[string]bool{}}
}

// OnLive sets a function. It gets true when all keys are in the store under a lease that holds, and
// false when that has ended. It must not block, and is set before Run.
func (k *Keeper) OnLive(f func(bool)) { k.onLive = f }

// OnRefused sets a function. It gets each key that the store refuses, with the reason, once until the store takes it. The
// other keys are kept all the same. A refused key is tried again with another value, under another lease, and once a minute. The function
// must not block, and is set before Run.
func (k *Keeper) OnRefused(f func(key string, why error)) { k.onRefused = f }

// Outlive leaves the keys in the store at the end of Run, for the time of the lease. It is called before Run.
func (k *Keeper) Outlive() { k.outlives = true }

// Inherit says that keys may be in the store, by an earlier process or by another Keeper. Those that belong to no group are deleted.
func (k *Keeper) Inherit(keys ...string) {
	k.mu.Lock()
	for _, key := range keys {
		k.inherited[key] = true
	}
	k.mu.Unlock()
	k.wakeUp()
}

// Forget says that another Keeper has keys from now on, which inherits them: they are not deleted here.
func (k *Keeper) Forget(keys ...string) {
	k.mu.Lock()
	k.forgotten = append(k.forgotten, keys...)
	for _, key := range keys {
		delete(k.inherited, key)
	}
	k.mu.Unlock()
	k.wakeUp()
}

// HasInherited reports whether inherited keys are not under the lease of this Keeper, or deleted, yet.
func (k *Keeper) HasInherited() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.inherited) > 0
}

// moved takes what other Keepers have given and taken.
func (k *Keeper) moved(has map[string]known) (inherited []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.forgotten {
		delete(has, key)
	}
	k.forgotten = nil
	for key := range k.inherited {
		if inherited = append(inherited, key); !has[key].sure {
			has[key] = known{}
		}
	}
	return inherited
}

// taken notes that inherited keys are as they should be.
func (k *Keeper) taken(inherited []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range inherited {
		delete(k.inherited, key)
	}
}

// Set replaces the keys of one group by others. Groups have no key in common. The maps and values
// must not be altered after the call.
func (k *Keeper) Set(group string, keys map[string][]byte) {
	k.mu.Lock()
	k.groups[group] = keys
	k.mu.Unlock()
	k.wakeUp()
}

// wakeUp has Run look again.
func (k *Keeper) wakeUp() {
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

// OnWritten sets a function. It is called after each write, and when a lease has ended: then At may answer
// something else. It must not block, and is set before Run.
func (k *Keeper) OnWritten(f func()) { k.onWritten = f }

// At returns a key of this host in the store, with the revision that wrote it, as long as its lease holds.
func (k *Keeper) At(key string) (value []byte, revision int64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	x, ok := k.kept[key]
	return x.value, x.revision, ok && x.sure && k.lease.Holds()
}

// Has reports whether a key of this host may be in the store under its lease.
func (k *Keeper) Has(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, there := k.kept[key]
	return there
}

// Again has all keys written again: another process has altered some. Until then At knows none.
func (k *Keeper) Again() {
	k.mu.Lock()
	k.doubt, k.kept = true, nil
	k.mu.Unlock()
	k.wakeUp()
}

// keep publishes the keys of the store under a lease for At.
func (k *Keeper) keep(lease world.Lease, has map[string]known) {
	k.mu.Lock()
	k.lease = lease
	if k.kept = nil; !k.doubt {
		k.kept = maps.Clone(has)
	}
	k.mu.Unlock()
	if k.onWritten != nil {
		k.onWritten()
	}
}

// doubted reports whether Again was called since the last time.
func (k *Keeper) doubted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.doubt
	k.doubt = false
	return was
}

// say tells of a lease that holds, or holds no longer.
func (k *Keeper) say(live bool) {
	if live != k.live && k.onLive != nil {
		k.onLive(live)
	}
	k.live = live
}

// Run keeps the keys until ctx ends or the World is closed, and deletes them then, unless they outlive it.
func (k *Keeper) Run(ctx context.Context) {
	var wait backoff
	defer k.say(false)
	for {
		var lease world.Lease
		err := k.store.call(ctx, func(ctx context.Context) (err error) {
			lease, err = k.store.World.Lease(ctx, k.ttl)
			return err
		})
		if err == nil {
			err = k.hold(ctx, lease, &wait)
			k.say(false)
			k.keep(nil, nil)
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
func (k *Keeper) end(ctx context.Context, lease world.Lease) {
	select {
	case <-lease.Done():
	default:
		if k.outlives && ctx.Err() != nil {
			lease.Leave()
			return
		}
		_ = k.store.call(context.WithoutCancel(ctx), lease.Revoke) // else its time ends it
	}
}

// again is a channel that is always ready.
var again = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// errLease says that the store has taken the host for dead.
var errLease = errors.New("the lease of this host has ended: the other hosts take it for dead until it is back")

// refusedWait is how long a refused key waits before another try: rights may have been granted meanwhile.
const refusedWait = time.Minute

// known is a key that may be in the store under the lease.
type known struct {
	value    []byte
	revision int64
	sure     bool // false after a write with an unknown end: the key may be there or not, with any value
}

// held is what one lease keeps.
type held struct {
	lease   world.Lease
	has     map[string]known
	refused map[string]world.Op // that the store does not take, by key
	any     bool                // the store has taken a write under this lease
	none    error               // why the last write was refused whole; nil where the store took some of it
}

// hold keeps the keys under a lease, until the lease or ctx ends. A write that fails is tried
// again as long as the lease holds.
func (k *Keeper) hold(ctx context.Context, lease world.Lease, wait *backoff) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // a call that hangs must not hide the end of the lease
		select {
		case <-lease.Done():
			cancel(errLease)
		case <-ctx.Done():
		}
	}()
	h := &held{lease: lease, has: map[string]known{}, refused: map[string]world.Op{}}
	for {
		if k.doubted() {
			for key := range h.has {
				h.has[key] = known{}
			}
		}
		inherited := k.moved(h.has)
		err := k.write(ctx, h)
		if err == nil {
			k.taken(inherited)
		}
		k.keep(lease, h.has)
		switch {
		case err == nil:
			*wait = backoff{}
			if h.none == nil || k.told.was != NoLoss {
				k.told.tell(h.none) // a store that refuses all that it is asked is not back
			}
			k.say(len(h.refused) == 0)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case over(ctx, err), errors.Is(err, world.ErrRefused), errors.Is(err, errLease):
			return err
		default:
			k.told.tell(err)
			if !wait.wait(ctx, k.store.Clock) {
				return context.Cause(ctx)
			}
		}
		if err := k.await(ctx, h, err != nil); err != nil {
			return err
		}
	}
}

// await waits until there may be something to write: at once where a write has failed.
func (k *Keeper) await(ctx context.Context, h *held, failed bool) error {
	news := k.wake
	if failed {
		news = again
	}
	var retry <-chan struct{}
	if len(h.refused) > 0 {
		wake, stop := clock.After(k.store.Clock, refusedWait)
		defer stop()
		retry = wake
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-news:
	case <-retry:
		clear(h.refused)
	}
	return nil
}

// write brings the store from the keys that it has to those of the groups, in transactions within the limits.
// A key that the store refuses is left out, and the others are written. The error is ErrRefused where the store has
// taken nothing: then the lease has ended, or this host may write nothing.
func (k *Keeper) write(ctx context.Context, h *held) error {
	var refused error
	took := false
	for part := range parts(h.missing(k.all()), k.store.World.Limits()) {
		err := k.writePart(ctx, h, part)
		for i := 0; i < len(part) && errors.Is(err, world.ErrRefused); i++ {
			one := k.writePart(ctx, h, part[i:i+1])
			took = took || one == nil
			switch {
			case errors.Is(one, world.ErrRefused):
				refused = one
				k.refuse(h, part[i], one)
			case one != nil:
				err = one
			}
		}
		if err != nil && !errors.Is(err, world.ErrRefused) {
			return err
		}
		took = took || err == nil
	}
	switch {
	case took, len(h.refused) == 0:
		h.none = nil
	case refused != nil:
		h.none = refused
	}
	if !h.any {
		return refused
	}
	return nil
}

// refuse notes that the store does not take an operation, and says so.
func (k *Keeper) refuse(h *held, op world.Op, err error) {
	h.refused[op.Key] = op
	if k.onRefused != nil && !k.denied[op.Key] {
		k.denied[op.Key] = true
		k.onRefused(op.Key, err)
	}
}

// writePart does one transaction, and notes its end.
func (k *Keeper) writePart(ctx context.Context, h *held, part []world.Op) error {
	var rev int64
	err := k.store.call(ctx, func(ctx context.Context) (err error) {
		rev, _, err = k.store.World.Txn(ctx, nil, part)
		return err
	})
	switch {
	case errors.Is(err, world.ErrLeaseEnded):
		return errLease
	case err == nil:
		h.any = true
		for _, op := range part {
			delete(k.denied, op.Key)
			h.has[op.Key] = known{op.Value, rev, true}
			if op.Delete {
				delete(h.has, op.Key)
			}
		}
	case !errors.Is(err, world.ErrRefused):
		for _, op := range part {
			h.has[op.Key] = known{} // the store may have done it, though the answer was lost
		}
	}
	return err
}

// missing returns the operations that lead to the wanted keys, without the refused ones, sorted.
func (h *held) missing(wanted map[string][]byte) (ops []world.Op) {
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		old, there := h.has[key]
		if !there || !old.sure || !bytes.Equal(old.value, wanted[key]) {
			ops = append(ops, world.Op{Key: key, Value: wanted[key], Lease: h.lease})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.has)) {
		if _, stays := wanted[key]; !stays {
			ops = append(ops, world.Op{Key: key, Delete: true})
		}
	}
	maps.DeleteFunc(h.refused, func(key string, _ world.Op) bool {
		_, keeps := wanted[key]
		_, there := h.has[key]
		return !keeps && !there
	})
	return slices.DeleteFunc(ops, func(op world.Op) bool {
		old, refused := h.refused[op.Key]
		return refused && old.Delete == op.Delete && bytes.Equal(old.Value, op.Value)
	})
}

// parts cuts operations into transactions that the limits allow.
func parts(ops []world.Op, l world.Limits) func(yield func([]world.Op) bool) {
	return func(yield func([]world.Op) bool) {
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
