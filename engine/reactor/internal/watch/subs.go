package watch

import (
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/events"
)

// subscription is one of those of a vertex. It lets the loop see what led to an
// event without taking it away from the resource: each gets all of it.
type subscription struct {
	events.Subscription
	of     *Subs
	paths  []string      // that it watches, where that was said
	alone  bool          // the resource does not know of it
	next   *subscription // of the same vertex; guarded by mu of Subs, as the next fields
	forRes *events.Cause // taken by the loop, not yet by the resource; nil for nothing

	forLoop *events.Cause // taken by the resource, not yet by the loop
}

// Subs are the subscriptions of one vertex. The zero value has none; a nil one keeps none. Callable from any goroutine.
type Subs struct {
	last atomic.Pointer[subscription] // written under mu
	mu   sync.Mutex
}

// Add wraps a subscription of the vertex; nil stays nil.
func (l *Subs) Add(s events.Subscription) events.Subscription {
	if s == nil || l == nil {
		return s
	}
	return l.add(&subscription{Subscription: s, of: l})
}

// AddOf is Add of a subscription that watches these paths.
func (l *Subs) AddOf(s events.Subscription, paths []string) events.Subscription {
	if s == nil || l == nil {
		return s
	}
	return l.add(&subscription{Subscription: s, of: l, paths: paths})
}

// Paths returns the paths that the subscriptions watch, as far as that was said.
func (l *Subs) Paths() (paths []string) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := l.last.Load(); s != nil; s = s.next {
		paths = append(paths, s.paths...)
	}
	return paths
}

func (l *Subs) add(sub *subscription) *subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	sub.next = l.last.Load()
	l.last.Store(sub)
	return sub
}

// Cause implements events.Subscription.
func (s *subscription) Cause() events.Cause {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	c := s.Subscription.Cause()
	add(&s.forLoop, c)
	return take(&s.forRes, c)
}

// Close implements events.Subscription.
func (s *subscription) Close() {
	s.Subscription.Close()
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if first := s.of.last.Load(); first == s {
		s.of.last.Store(s.next)
		return
	}
	for o := s.of.last.Load(); o != nil; o = o.next {
		if o.next == s {
			o.next = s.next
			return
		}
	}
}

// Led returns, for the loop, what led to the wake-ups of the vertex since it asked last.
func (l *Subs) Led() (c events.Cause) {
	if l == nil || l.last.Load() == nil {
		return c
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := l.last.Load(); s != nil; s = s.next {
		got := s.Subscription.Cause()
		if !s.alone {
			add(&s.forRes, got)
		}
		c.Merge(take(&s.forLoop, got))
	}
	return c
}

// add keeps a cause for its vertex.
func add(to **events.Cause, c events.Cause) {
	switch {
	case c == (events.Cause{}):
	case *to == nil:
		kept := c // so that c itself stays on the stack
		*to = &kept
	default:
		(*to).Merge(c)
	}
}

// take returns the kept causes, and c after them, and keeps them no more.
func take(from **events.Cause, c events.Cause) events.Cause {
	if *from == nil {
		return c
	}
	all := **from
	*from = nil
	all.Merge(c)
	return all
}
