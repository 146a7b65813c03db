package reactor

import (
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// subscriptions are those of one vertex. They let the loop see what led to an
// event without taking it away from the resource.
type subscriptions struct {
	mu   sync.Mutex
	list []*subscription
}

// subscription is one of them. A resource that asks for the cause and the loop
// that shows it each get all of it.
type subscription struct {
	engine.Subscription
	of *vertex

	mu      sync.Mutex
	forRes  engine.Cause // taken by the loop, not yet by the resource
	forLoop engine.Cause // taken by the resource, not yet by the loop
}

// subscribed wraps a subscription of v.
func (v *vertex) subscribed(s engine.Subscription) engine.Subscription {
	if s == nil {
		return nil
	}
	sub := &subscription{Subscription: s, of: v}
	all := v.subs.Load()
	for all == nil {
		v.subs.CompareAndSwap(nil, &subscriptions{})
		all = v.subs.Load()
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.list = append(all.list, sub)
	return sub
}

// Cause implements engine.Subscription.
func (s *subscription) Cause() engine.Cause {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.Subscription.Cause()
	s.forLoop = mergeCauses(s.forLoop, c)
	c, s.forRes = mergeCauses(s.forRes, c), engine.Cause{}
	return c
}

// Close implements engine.Subscription.
func (s *subscription) Close() {
	s.Subscription.Close()
	all := s.of.subs.Load()
	all.mu.Lock()
	defer all.mu.Unlock()
	all.list = slices.DeleteFunc(all.list, func(o *subscription) bool { return o == s })
}

// take returns, for the loop, what led to the wake-ups since it asked last.
func (l *subscriptions) take() (c engine.Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.list {
		c = mergeCauses(c, s.take())
	}
	return c
}

func (s *subscription) take() engine.Cause {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.Subscription.Cause()
	s.forRes = mergeCauses(s.forRes, c)
	c, s.forLoop = mergeCauses(s.forLoop, c), engine.Cause{}
	return c
}

// mergeCauses joins two causes, the older one first.
func mergeCauses(a, b engine.Cause) engine.Cause {
	if a == (engine.Cause{}) {
		return b
	}
	a.Merged += b.Merged
	a.Resync = a.Resync || b.Resync
	return a
}
