package reactor

import (
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
)

// subscription is one of those of a vertex. It lets the loop see what led to an
// event without taking it away from the resource: each gets all of it.
type subscription struct {
	engine.Subscription
	of     *vertex
	next   *subscription // of the same vertex; guarded by its mu, as what follows
	forRes *engine.Cause // taken by the loop, not yet by the resource; nil for nothing

	forLoop *engine.Cause // taken by the resource, not yet by the loop
}

// subscriptions are those of one vertex.
type subscriptions = atomic.Pointer[subscription]

// subscribed wraps a subscription of v.
func (v *vertex) subscribed(s engine.Subscription) engine.Subscription {
	if s == nil {
		return nil
	}
	sub := &subscription{Subscription: s, of: v}
	v.mu.Lock()
	defer v.mu.Unlock()
	sub.next = v.subs.Load()
	v.subs.Store(sub)
	return sub
}

// Cause implements engine.Subscription.
func (s *subscription) Cause() engine.Cause {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	c := s.Subscription.Cause()
	add(&s.forLoop, c)
	return take(&s.forRes, c)
}

// Close implements engine.Subscription.
func (s *subscription) Close() {
	s.Subscription.Close()
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if first := s.of.subs.Load(); first == s {
		s.of.subs.Store(s.next)
		return
	}
	for o := s.of.subs.Load(); o != nil; o = o.next {
		if o.next == s {
			o.next = s.next
			return
		}
	}
}

// led returns, for the loop, what led to the wake-ups of v since it asked last.
func (v *vertex) led() (c engine.Cause) {
	if v.subs.Load() == nil {
		return c
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for s := v.subs.Load(); s != nil; s = s.next {
		got := s.Subscription.Cause()
		add(&s.forRes, got)
		c = mergeCauses(c, take(&s.forLoop, got))
	}
	return c
}

// add keeps a cause for somebody.
func add(to **engine.Cause, c engine.Cause) {
	switch {
	case c == (engine.Cause{}):
	case *to == nil:
		kept := c // so that c itself stays on the stack
		*to = &kept
	default:
		**to = mergeCauses(**to, c)
	}
}

// take returns what is kept, and c after it, and keeps it no more.
func take(from **engine.Cause, c engine.Cause) engine.Cause {
	if *from != nil {
		c = mergeCauses(**from, c)
		*from = nil
	}
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
