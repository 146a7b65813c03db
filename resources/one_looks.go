package resources

import "context"

// oneLooks has CheckApply and Watch look one after the other: while CheckApply runs Watch
// waits, and compares then with what that has seen last. So what CheckApply does itself is
// no event. It is full while one of them looks.
type oneLooks chan struct{}

func newOneLooks() oneLooks { return make(oneLooks, 1) }

// lock waits until nobody else looks. The error is why the context has ended.
func (l oneLooks) lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l oneLooks) unlock() { <-l }
