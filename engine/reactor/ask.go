package reactor

import (
	"context"
	"sync/atomic"
)

// begun waits until Run has begun. After its end it returns ErrStopped.
func (r *Reactor) begun(ctx context.Context) error {
	select {
	case <-r.stopped:
		return ErrStopped
	default:
	}
	select {
	case <-r.started:
		return nil
	case <-r.stopped:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// request is a call that another goroutine wants done on the loop.
type request struct {
	do   func()
	done chan struct{} // closed by the loop once it is done
}

func newRequest(do func()) request { return request{do, make(chan struct{})} }

// do has f done on the loop and waits for its end.
func (r *Reactor) do(ctx context.Context, f func()) error {
	if err := r.begun(ctx); err != nil {
		return err
	}
	q := newRequest(f)
	select {
	case r.requests <- q:
		<-q.done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ctx.Done():
		return ErrStopped
	}
}

// ask has f called on the loop, which must only look, and waits for its end. It is
// answered also while Run waits for the methods that still run.
func (r *Reactor) ask(ctx context.Context, f func()) error {
	if err := r.begun(ctx); err != nil {
		return err
	}
	q := newRequest(f)
	select {
	case r.questions <- q:
		<-q.done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.stopped:
		return ErrStopped
	}
}

// doAndAwait has f called on the loop, and waits until the channels that it returns are closed. What closes them is news of vertices:
// the loop takes news meanwhile, also where the Listener is behind. A listener that changes the graph would wait for itself otherwise.
func (r *Reactor) doAndAwait(ctx context.Context, f func() []<-chan struct{}) error {
	r.mail.expected.Add(1)
	defer r.mail.expected.Add(-1)
	var all []<-chan struct{}
	if err := r.do(ctx, func() { all = f() }); err != nil {
		return err
	}
	for _, c := range all {
		if err := r.await(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a channel is closed.
func (r *Reactor) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ctx.Done():
		return ErrStopped
	}
}

// sayBusy implements Init.Busy.
func (r *Reactor) sayBusy() (done func()) {
	r.busy.Add(1)
	var once atomic.Bool
	return func() {
		if once.CompareAndSwap(false, true) {
			r.busy.Add(-1)
			r.wake()
		}
	}
}

// wake makes the loop turn.
func (r *Reactor) wake() {
	select {
	case r.mail.wake <- struct{}{}:
	default:
	}
}
