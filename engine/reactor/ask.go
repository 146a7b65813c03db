package reactor

import "context"

// begun waits until Run has begun. After its end it returns ErrStopped.
func (c *core) begun(ctx context.Context) error {
	select {
	case <-c.stopped:
		return ErrStopped
	default:
	}
	select {
	case <-c.started:
		return nil
	case <-c.stopped:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// do has f done on the loop and waits for its end.
func (c *core) do(ctx context.Context, f func()) error {
	if err := c.begun(ctx); err != nil {
		return err
	}
	q := newRequest(f)
	select {
	case c.requests <- q:
		<-q.done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return ErrStopped
	}
}

// ask has f called on the loop, which must only look, and waits for its end. It is
// answered also while Run waits for the methods that still run.
func (c *core) ask(ctx context.Context, f func()) error {
	if err := c.begun(ctx); err != nil {
		return err
	}
	q := newRequest(f)
	select {
	case c.questions <- q:
		<-q.done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.stopped:
		return ErrStopped
	}
}

// doAndAwait has f called on the loop, and waits until the channels that it adds to all are closed. What closes them is news of vertices:
// the loop takes news meanwhile, also where the Listener is behind. A listener that changes the graph would wait for itself otherwise.
func (c *core) doAndAwait(ctx context.Context, all *[]<-chan struct{}, f func()) error {
	c.mail.expected.Add(1)
	defer c.mail.expected.Add(-1)
	if err := c.do(ctx, f); err != nil {
		return err
	}
	for _, done := range *all {
		if err := c.await(ctx, done); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a channel is closed.
func (c *core) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return ErrStopped
	}
}

// UnknownResourceError is the error of a call that names a resource which is not
// in the graph.
type UnknownResourceError struct{ Resource string }

func (e *UnknownResourceError) Error() string { return e.Resource + " is not in the graph" }
