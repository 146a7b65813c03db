package watch

import (
	"context"
	"sync"
	"time"
)

// Context is the context of one Watch. There is one for each vertex all the
// time, so it is small: it is not registered with its parent, whose end the loop
// passes on, and it has room for its one AfterFunc without a map.
type Context struct {
	parent context.Context
	done   chan struct{}

	mu    sync.Mutex
	ended bool
	after *afterFunc // the last one

	Result error // of the Watch; written by it, read by the loop after its end
}

type afterFunc struct {
	f    func()
	next *afterFunc
}

func newContext(parent context.Context) *Context {
	return &Context{parent: parent, done: make(chan struct{})}
}

// cancel ends the context.
func (c *Context) cancel() {
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
func (c *Context) Done() <-chan struct{} { return c.done }

// Err implements context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return context.Canceled
	}
	return nil
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Value implements context.Context.
func (c *Context) Value(key any) any { return c.parent.Value(key) }

// AfterFunc is what context.AfterFunc and contexts derived from this one use, so
// that they need no goroutine.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
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

func (c *Context) forget(a *afterFunc) bool {
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
