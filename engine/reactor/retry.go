package reactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// NotFailedError is the error of Retry for a resource that can't be tried again now.
type NotFailedError struct{ Resource, Why string }

func (e *NotFailedError) Error() string { return e.Resource + " " + e.Why }

// Retry tries failed resources again at once, as if they had never failed; without names,
// all failed resources. It returns their names, and does not wait for their runs. A paused
// resource is tried when its pause ends. The error names every resource that can't be tried;
// with an error no resource is tried. Callable from any goroutine.
func (r *Reactor) Retry(ctx context.Context, resources ...string) (tried []string, err error) {
	e := r.do(ctx, func() {
		var vs []*vertex
		if vs, err = r.loop.failedOnes(resources); err == nil {
			tried = r.tryAgain(vs)
		}
	})
	return tried, errors.Join(e, err)
}

// RetryFailed is Retry for those of some resources that can be tried again, and for named ones, which all must be: all at one moment.
// It returns which they are, each once.
func (r *Reactor) RetryFailed(ctx context.Context, among []string, named ...string) (tried []string, err error) {
	e := r.do(ctx, func() {
		var vs []*vertex
		if len(named) > 0 {
			if vs, err = r.loop.failedOnes(named); err != nil {
				return
			}
		}
		for _, id := range among {
			if v := r.loop.named(id); v != nil && r.loop.triable(v) && !slices.Contains(named, id) {
				vs = append(vs, v)
			}
		}
		tried = r.tryAgain(vs)
	})
	return tried, errors.Join(e, err)
}

// tryAgain has failed vertices tried again, and returns their names.
func (r *Reactor) tryAgain(vs []*vertex) (tried []string) {
	for _, v := range vs {
		r.loop.tryAgain(v, Trigger{Cause: CauseAsked})
		r.memory.setRetries(v, 0)
		v.watch.SetTries(0)
		delete(r.loop.failures.list, v)
		tried = append(tried, v.ID)
	}
	return tried
}

// failedOnes returns the failed vertices, of the named ones if any is named.
func (l *loop) failedOnes(ids []string) (vs []*vertex, err error) {
	if len(ids) == 0 {
		for _, v := range l.byIndex {
			if l.triable(v) {
				vs = append(vs, v)
			}
		}
		return vs, nil
	}
	for _, id := range ids {
		v := l.named(id)
		switch {
		case v == nil:
			err = errors.Join(err, &UnknownResourceError{id})
		case l.triable(v):
			vs = append(vs, v)
		default:
			err = errors.Join(err, &NotFailedError{id, l.untriable(v)})
		}
	}
	return vs, err
}

// untriable says why a vertex can't be tried again.
func (l *loop) untriable(v *vertex) string {
	switch s := l.status(v); {
	case s.State == resgraph.StatePaused && s.BlockedBy != "":
		return fmt.Sprintf("has not failed: it waits for %s, which is paused: resume that", s.BlockedBy)
	case s.State == resgraph.StateBlocked:
		return fmt.Sprintf("has not failed: it waits for %s, retry that", s.BlockedBy)
	case s.State != resgraph.StateFailed:
		return fmt.Sprintf("has not failed: it is %s", s.State)
	case v.wired().Refused() != nil:
		return "was sent a value that it refuses: it is tried again with another value"
	case v.membership.broken != nil:
		return "could not be initialised: it is tried again with the next graph"
	default:
		return "can't be tried again now: what it runs has not ended"
	}
}
