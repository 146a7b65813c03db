package hosts

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Semaphore names a semaphore that the hosts of a topic share. Those of one name with other counts are others.
type Semaphore struct {
	Topic, Name string
	Count       int // how many places it has, above 0
}

// prefix is that of the requests for it.
func (x Semaphore) prefix() string {
	return tableSemaphores + join(x.Topic, x.Name+":"+strconv.Itoa(x.Count)) + "/"
}

// Held is a place of a Semaphore. It belongs to one lease, and is never had again once that has ended.
type Held struct {
	store Store
	lease world.Lease
}

// Done is closed when the place can no longer be proved: the lease has ended, or the store could not be reached for its
// time. Another host has the place only after that.
func (h *Held) Done() <-chan struct{} { return h.lease.Done() }

// Release gives the place back. It waits some seconds at most: then the end of the lease does it.
func (h *Held) Release() {
	_ = h.store.call(context.Background(), h.lease.Revoke)
}

// Acquire takes a place of a semaphore, and waits for one. Requests are served in the order in which the store has
// them. A request that loses its lease stands behind the others again. holder is the value of the request, for people.
// A store out of reach is tried again. The error is that of ctx, of a closed World, or of a store that refuses.
func (s Store) Acquire(ctx context.Context, ttl time.Duration, x Semaphore, holder string) (*Held, error) {
	told := teller{say: s.Tell}
	var wait backoff
	for {
		h, err := s.request(ctx, ttl, x, holder, func() { wait = backoff{}; told.tell(nil) })
		if err == nil {
			return h, nil
		}
		if over(ctx, err) {
			return nil, cmp.Or(context.Cause(ctx), err)
		}
		if errors.Is(err, world.ErrRefused) {
			return nil, err
		}
		told.tell(err)
		if !wait.wait(ctx, s.Clock) {
			return nil, context.Cause(ctx)
		}
	}
}

// Holder takes places of semaphores for one host, and logs when the store is lost meanwhile, and when it is back.
type Holder struct {
	World world.World
	Clock clock.Clock
	Lease time.Duration // for how long a place outlives a host that has died
	Host  string        // its name, which a request shows
	Log   *slog.Logger
}

// Place takes a place, as Store.Acquire does, and waits for one. The caller calls release once, at the end of its work. lost is
// closed when the place can no longer be proved: then the work has to end.
func (h *Holder) Place(ctx context.Context, topic, name string, count int) (release func(), lost <-chan struct{}, err error) {
	log := h.Log.With(slog.String("semaphore", topic+"/"+name))
	store := Store{World: h.World, Clock: h.Clock, Tell: func(err error) {
		if err == nil {
			log.Info("the store is back: this host waits for its place again")
		} else {
			WarnLost(log, err, "nothing that needs a place of this semaphore is altered")
		}
	}}
	held, err := store.Acquire(ctx, h.Lease, Semaphore{Topic: topic, Name: name, Count: count}, h.Host)
	if err != nil {
		return nil, nil, err
	}
	return held.Release, held.Done(), nil
}

// request asks once, under one lease. It calls queued when the request is in the store.
func (s Store) request(ctx context.Context, ttl time.Duration, x Semaphore, holder string, queued func()) (*Held, error) {
	h := &Held{store: s}
	err := s.call(ctx, func(ctx context.Context) (err error) {
		h.lease, err = s.World.Lease(ctx, ttl)
		return err
	})
	if err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-h.lease.Done():
			cancel(errLease)
		case <-inner.Done():
		}
	}()
	key := x.prefix() + join(h.lease.ID())
	err = s.call(inner, func(ctx context.Context) error {
		_, _, err := s.World.Txn(ctx, nil, []world.Op{{Key: key, Value: []byte(holder), Lease: h.lease}})
		return err
	})
	if err == nil {
		queued()
		err = s.turn(inner, x, key)
	}
	select {
	case <-h.lease.Done():
		cancel(errLease) // a store refuses a lease that has ended: that is a loss, and no refusal
	default:
	}
	if inner.Err() != nil {
		err = context.Cause(inner)
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// turn waits until a request is among the first.
func (s Store) turn(ctx context.Context, x Semaphore, key string) error {
	quiet := s
	full := false
	quiet.Tell = func(err error) { // of what else is lost the caller tells
		if _, now := errors.AsType[*FullError](err); (now || full) && s.Tell != nil {
			full = now
			s.Tell(err)
		}
	}
	queue := map[string]int64{} // when each request came, by key
	for c := range quiet.Follow(ctx, x.prefix()) {
		if c.Whole {
			clear(queue)
		}
		for _, u := range c.Updates {
			if queue[u.Key] = u.Created; u.Deleted {
				delete(queue, u.Key)
			}
		}
		before := 0
		for other, at := range queue {
			if at < queue[key] || at == queue[key] && other < key {
				before++
			}
		}
		if _, there := queue[key]; there && before < x.Count {
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return world.ErrClosed
}

// Holders returns the holders of a semaphore in the order of their requests, and then the waiting ones.
func (s Store) Holders(ctx context.Context, x Semaphore) (holders, waiting []string, err error) {
	kvs, _, err := s.list(ctx, x.prefix())
	if err != nil {
		return nil, nil, err
	}
	sorted.Func(kvs, func(a, b world.KV) int { return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Key, b.Key)) })
	for i, kv := range kvs {
		if i < x.Count {
			holders = append(holders, string(kv.Value))
		} else {
			waiting = append(waiting, string(kv.Value))
		}
	}
	return holders, waiting, nil
}
