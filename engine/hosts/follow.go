package hosts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Change is one step of Follow.
type Change struct {
	Whole    bool // Updates has everything below the prefix; all other keys are gone
	Revision int64
	Updates  []world.Update
}

// Store is a World with the clock and the log of its users.
type Store struct {
	World world.World
	Clock clock.Clock
	// Tell is called with why the store cannot be used, once for each Loss, and with nil when
	// it can be used again. A loss that becomes another one is told anew. It must not block; nil for none.
	Tell func(error)
	// Over is called with a QuotaError when a host exports more than others take over. It must not block; nil for none.
	Over func(error)
}

// Loss is why a store cannot be used, as far as an operator acts on it.
type Loss int

// The losses.
const (
	NoLoss  Loss = iota
	Away         // the store is out of reach, or this host is taken for dead
	Refused      // the store is there, and refuses this host
)

// LossOf returns the loss that an error of a store means; nil means none.
func LossOf(err error) Loss {
	switch {
	case err == nil:
		return NoLoss
	case errors.Is(err, world.ErrRefused):
		return Refused
	}
	return Away
}

// teller says that the store is lost, or back, once for each loss.
type teller struct {
	say func(error) // nil for none
	was Loss
}

func (t *teller) tell(err error) {
	if now := LossOf(err); now != t.was {
		t.was = now
		if t.say != nil {
			t.say(err)
		}
	}
}

// WarnLost logs that the store cannot be used, and what goes on meanwhile. A store that refuses this host is told apart from one that
// is out of reach: the operator has to give rights to the one, and to repair the way to the other.
func WarnLost(log *slog.Logger, err error, meanwhile string, args ...any) {
	args = append(args, slog.String("meanwhile", meanwhile), slog.Any("error", err))
	if LossOf(err) == Refused {
		log.Warn("the store refuses this host: mgmt hosts allow gives a host its rights", args...)
		return
	}
	log.Warn("the store is out of reach", args...)
}

// callTime is how long the store may take for one answer. errSlow says that it took longer.
const callTime = 10 * time.Second

var errSlow = fmt.Errorf("%w: it did not answer for %s", world.ErrUnavailable, callTime)

// call bounds one question to the store, which may block for as long as its context.
func (s *Store) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := s.Clock.AfterFunc(callTime, func() { cancel(errSlow) })
	defer stop()
	err := do(ctx)
	if err != nil && context.Cause(ctx) == errSlow {
		return errSlow
	}
	return err
}

// The time between two tries to reach a store.
const (
	firstWait = 50 * time.Millisecond
	mostWait  = 5 * time.Second
)

// backoff waits longer after each try that has failed.
type backoff struct{ next time.Duration }

// wait waits before another try. It answers false when ctx has ended.
func (b *backoff) wait(ctx context.Context, c clock.Clock) bool {
	if b.next != roomAfter {
		b.next = min(max(2*b.next, firstWait), mostWait)
	}
	return clock.Sleep(ctx, c, b.next) == nil
}

// over reports whether an error ends all tries.
func over(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, world.ErrClosed)
}

// Follow yields all keys below a prefix, and then their changes, until ctx ends or the World is
// closed. Where the store is lost it tries again, and begins with all keys where it cannot go on.
func (s *Store) Follow(ctx context.Context, prefix string) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		var wait backoff
		told := teller{say: s.Tell}
		most := newQuota(prefix, s.Over)
		for {
			more, err := s.followOnce(ctx, prefix, most, yield, func() { told.tell(nil) }, func() { wait = backoff{} })
			if !more || over(ctx, err) {
				return
			}
			if !errors.Is(err, world.ErrCompacted) {
				told.tell(err)
			}
			if _, full := errors.AsType[*FullError](err); full {
				wait.next = roomAfter // a list of so much is not asked for often
			}
			if !wait.wait(ctx, s.Clock) {
				return
			}
		}
	}
}

// followOnce lists and watches until something goes wrong. It calls reached after the list, and sound after
// each batch: a store that lists but does not watch is asked less and less often. more says whether the reader goes on.
func (s *Store) followOnce(ctx context.Context, prefix string, most *quota, yield func(Change) bool, reached, sound func()) (more bool, err error) {
	changed := s.changed()
	kvs, rev, err := s.listWithin(ctx, prefix, most)
	if err != nil {
		return true, err
	}
	reached()
	if !yield(wholeOf(kvs, rev)) {
		return false, nil
	}
	watch, end := context.WithCancel(ctx)
	defer end()
	if changed != nil {
		over := make(chan struct{})
		defer func() { end(); <-over }()
		go func() {
			defer close(over)
			select {
			case <-changed: // other hosts count now
				end()
			case <-watch.Done():
			}
		}()
	}
	var again func() bool
	for batch, err := range s.World.Watch(watch, prefix, rev) {
		if err != nil {
			return true, err
		}
		sound()
		updates := counting(s, batch.Updates, func(u world.Update) world.KV { return u.KV })
		if most != nil {
			updates = slices.Clone(updates)
			for i, u := range updates {
				updates[i] = most.take(u)
			}
			if err := most.full(); err != nil {
				return true, err
			}
			if most.room && again == nil {
				again = s.Clock.AfterFunc(roomAfter, end)
				defer again()
			}
		}
		if len(updates) > 0 && !yield(Change{Revision: batch.Revision, Updates: updates}) {
			return false, nil
		}
	}
	if ctx.Err() == nil && watch.Err() != nil {
		return true, world.ErrCompacted // other hosts count, or an export has room now: all keys are read again
	}
	return true, context.Cause(ctx)
}

// pageSize is how many keys one question asks for: a page of a store over the network has a limit.
const pageSize = 1000

// list returns all keys below a prefix, at one revision.
func (s *Store) list(ctx context.Context, prefix string) (all []world.KV, rev int64, err error) {
	return s.listWithin(ctx, prefix, newQuota(prefix, nil))
}

// listWithin is list without what hosts have beyond a quota.
func (s *Store) listWithin(ctx context.Context, prefix string, most *quota) (all []world.KV, rev int64, err error) {
	most.begin()
	o := world.ListOptions{Limit: pageSize}
	for {
		var p world.Page
		err := s.call(ctx, func(ctx context.Context) (err error) {
			p, err = s.World.List(ctx, prefix, o)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		for _, kv := range counting(s, p.KVs, func(kv world.KV) world.KV { return kv }) {
			if most.put(kv) {
				all = append(all, kv)
			}
		}
		if err := most.full(); err != nil {
			return nil, 0, err
		}
		if !p.More {
			most.listed()
			return all, p.Revision, nil
		}
		last := p.KVs[len(p.KVs)-1]
		if o.At, o.After = p.Revision, last.Key; most != nil && (most.over(last.Key) || !Counts(s.World, ownerOf(last))) {
			o.After = most.behind(last.Key)
		}
	}
}

// wholeOf is a list as a step of Follow.
func wholeOf(kvs []world.KV, rev int64) Change {
	all := Change{Whole: true, Revision: rev, Updates: make([]world.Update, len(kvs))}
	for i, kv := range kvs {
		all.Updates[i].KV = kv
	}
	return all
}
