package reactor

import (
	"context"
	"sync"
	"time"
)

// runContext is the context of one run, and lets Host tell a wait of the run from one of the Watch.
// It ends with the context of Run, and when no vertex of the run wants any more of it. It is registered
// with the context of Run only when a method asks for its channel or a value: most runs look at
// little, and that is what such a context costs.
type runContext struct {
	lead    *vertex
	members int // that want the run; owned by the loop

	mu    sync.Mutex
	inner context.Context // nil until it is asked for
	end   context.CancelCauseFunc
	why   error // of its end by the loop; nil before
}

type runKey struct{}

// join counts one more vertex that wants the run. It is called by the loop.
func (c *runContext) join() *runContext {
	c.members++
	return c
}

// leave says that one of them wants no more of it. The last one ends the context. It is called by the loop.
func (c *runContext) leave(why error) {
	if c.members--; c.members > 0 {
		return
	}
	c.mu.Lock()
	c.why = why
	end := c.end
	c.mu.Unlock()
	if end != nil {
		end(why)
	}
}

// asked returns the context that can be waited for.
func (c *runContext) asked() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.end = context.WithCancelCause(c.lead.core.ctx)
		if c.why != nil {
			c.end(c.why)
		}
	}
	return c.inner
}

// Done implements context.Context.
func (c *runContext) Done() <-chan struct{} { return c.asked().Done() }

// Err implements context.Context.
func (c *runContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.inner != nil:
		return c.inner.Err()
	case c.why != nil:
		return context.Canceled
	default:
		return c.lead.core.ctx.Err()
	}
}

// Deadline implements context.Context.
func (c *runContext) Deadline() (time.Time, bool) { return c.lead.core.ctx.Deadline() }

// Value implements context.Context.
func (c *runContext) Value(key any) any {
	if key == (runKey{}) {
		return c.lead
	}
	return c.asked().Value(key)
}
