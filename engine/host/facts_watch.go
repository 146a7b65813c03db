package host

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
)

// WatchFacts implements engine.Host. Files, the hostname of the kernel and the addresses of its
// links are followed as long as facts are watched; a watcher is woken when a fact has changed, and
// not by each write.
func (h *Host) WatchFacts(ctx context.Context) (events.Subscription, error) {
	return h.feed.watch(ctx)
}

// A factFeed wakes those who watch facts.
type factFeed struct {
	host *Host
	on   atomic.Bool    // something watches: what the kernel tells is known
	runs sync.WaitGroup // what follows

	mu   sync.Mutex
	subs map[*factSub]struct{}
	last engine.Facts // as they were told
	end  func()       // ends what follows; nil while nothing watches
}

// watch subscribes to changes of facts. The first subscription starts the following, and the last one that closes ends it.
func (f *factFeed) watch(ctx context.Context) (events.Subscription, error) {
	for _, c := range []context.Context{ctx, f.host.ctx} {
		if c.Err() != nil {
			return nil, context.Cause(c)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.start(); err != nil {
		return nil, err
	}
	s := &factSub{feed: f, wake: make(chan struct{}, 1)}
	f.subs[s] = struct{}{}
	return s, nil
}

// start follows all that facts come from, unless that is done already. The lock is
// held.
func (f *factFeed) start() error {
	if f.end != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(f.host.ctx)
	files, err := f.host.Watch(ctx, FactPaths(), events.Options{})
	if err != nil {
		cancel()
		return err
	}
	kernel, err := openKernelFacts()
	if err != nil {
		f.host.log.Warn("what the kernel tells of its name and addresses can't be followed; it is seen when another fact changes", "event", "facts_unwatched", "err", err)
	} else {
		context.AfterFunc(ctx, kernel.close)
		f.runs.Go(func() { kernel.follow(f.look) })
	}
	f.runs.Go(func() {
		for {
			select {
			case <-files.C():
				f.look()
			case <-ctx.Done():
				return
			}
		}
	})
	f.end, f.subs, f.last = cancel, map[*factSub]struct{}{}, f.host.facts.read(true)
	f.on.Store(true)
	return nil
}

// look reads the facts, and wakes everybody if one has changed.
func (f *factFeed) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.host.facts.read(true)
	if reflect.DeepEqual(now, f.last) {
		return
	}
	f.last = now
	for s := range f.subs {
		s.merged++
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// factSub is one watcher of facts. The lock of the feed guards its fields.
type factSub struct {
	feed   *factFeed
	wake   chan struct{}
	merged int
}

// C implements events.Subscription.
func (s *factSub) C() <-chan struct{} { return s.wake }

// Cause implements events.Subscription.
func (s *factSub) Cause() events.Cause {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	c := events.Cause{Source: "facts", Merged: s.merged}
	s.merged = 0
	return c
}

// Close implements events.Subscription. The last one ends what follows.
func (s *factSub) Close() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, open := f.subs[s]; !open {
		return
	}
	delete(f.subs, s)
	if len(f.subs) == 0 {
		f.on.Store(false)
		f.end()
		f.end = nil
	}
}
