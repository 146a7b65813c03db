package reactor

import (
	"context"
	"sync"
	"time"
)

// watchContext is the context of one Watch. There is one for each vertex all the
// time, so it is small: it is not registered with its parent, whose end the loop
// passes on, and it has room for its one AfterFunc without a map.
type watchContext struct {
	parent context.Context
	done   chan struct{}

	mu    sync.Mutex
	ended bool
	after *afterFunc // the last one

	result error // of the Watch; written by it, read by the loop after mailWatched
}

type afterFunc struct {
	f    func()
	next *afterFunc
}

func newWatchContext(parent context.Context) *watchContext {
	return &watchContext{parent: parent, done: make(chan struct{})}
}

// cancel ends the context.
func (c *watchContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.done)
	for a := c.after; a != nil; a = a.next {
		go a.f()
	}
	c.after = nil
}

// Done implements context.Context.
func (c *watchContext) Done() <-chan struct{} { return c.done }

// Err implements context.Context.
func (c *watchContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return context.Canceled
	}
	return nil
}

// Deadline implements context.Context.
func (c *watchContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Value implements context.Context.
func (c *watchContext) Value(key any) any { return c.parent.Value(key) }

// AfterFunc is what context.AfterFunc and contexts derived from this one use, so
// that they need no goroutine.
func (c *watchContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		go f()
		return func() bool { return false }
	}
	a := &afterFunc{f, c.after}
	c.after = a
	return func() bool { return c.forget(a) }
}

func (c *watchContext) forget(a *afterFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := &c.after; *at != nil; at = &(*at).next {
		if *at == a {
			*at = a.next
			return true
		}
	}
	return false
}
