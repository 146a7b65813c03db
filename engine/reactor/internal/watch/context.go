package watch

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errEnded = errors.New("it was told to end")

// Teller hears the calls that a Watch would make. Its methods may be called on any goroutine, and
// must neither block nor call the Context.
type Teller interface {
	Running() // as Init.Running
	Event()   // as Init.Event
	Ended()   // when Watch would return; see Subscribe
}

// Context is the context of one Watch, or of the subscription in its place: see Subscribe. There is
// one for each vertex all the time, so it is small: it is not registered with its parent, whose end
// the loop passes on, and it has room for its one AfterFunc without a map.
type Context struct {
	parent context.Context

	mu    sync.Mutex
	done  chan struct{} // nil until it is asked for
	ended bool
	after *afterFunc // the last one

	// of a subscription in the place of a Watch: see Subscribe
	teller Teller
	sub    *subscription // nil before Notify has returned, and once it is to be closed
	over   bool          // the host has ended it

	Result error // of the Watch; written by it, read by the loop after its end
}

type afterFunc struct {
	f    func()
	next *afterFunc
}

func newContext(parent context.Context) *Context {
	return &Context{parent: parent}
}

// cancel ends the context.
func (c *Context) cancel() {
	if sub := c.end(); sub != nil {
		sub.Close()
		c.teller.Ended()
	}
}

// end ends the context, and returns the subscription that is to be closed; nil for none.
func (c *Context) end() (sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	if c.done == nil {
		c.done = closed
	} else {
		close(c.done)
	}
	for a := c.after; a != nil; a = a.next {
		go a.f()
	}
	sub, c.sub, c.after = c.sub, nil, nil
	return sub
}

// closed is the channel of a context that ended before it was asked for.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
	}
	return c.done
}

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
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.parent.Value(key)
}

type contextKey struct{}

// Of returns the context of the Watch that a context comes from; nil for none.
func Of(ctx context.Context) *Context {
	c, _ := ctx.Value(contextKey{}).(*Context)
	return c
}

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
