package reactor

import (
	"context"
	"slices"
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
	err   error
	after []*afterFunc
}

type afterFunc struct{ f func() }

func newWatchContext(parent context.Context) *watchContext {
	return &watchContext{parent: parent, done: make(chan struct{})}
}

// cancel ends the context.
func (c *watchContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = context.Canceled
	close(c.done)
	for _, a := range c.after {
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
	return c.err
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
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	a := &afterFunc{f}
	c.after = append(c.after, a)
	return func() bool { return c.forget(a) }
}

func (c *watchContext) forget(a *afterFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.after, a)
	if i >= 0 {
		c.after = slices.Delete(c.after, i, i+1)
	}
	return i >= 0
}
