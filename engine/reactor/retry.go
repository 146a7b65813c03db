package reactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
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
		if vs, err = r.loop.failures.failedOnes(resources); err == nil {
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
			if vs, err = r.loop.failures.failedOnes(named); err != nil {
				return
			}
		}
		for _, id := range among {
			if v := r.loop.named(id); v != nil && r.loop.failures.triable(v) && !slices.Contains(named, id) {
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
		r.loop.failures.tryAgain(v, Trigger{Cause: CauseAsked})
		r.memory.setRetries(v, 0)
		v.watch.SetTries(0)
		delete(r.loop.failures.list, v)
		tried = append(tried, v.ID)
	}
	return tried
}

// failedOnes returns the failed vertices, of the named ones if any is named.
func (f *failures) failedOnes(ids []string) (vs []*vertex, err error) {
	if len(ids) == 0 {
		for _, v := range f.l.byIndex {
			if f.triable(v) {
				vs = append(vs, v)
			}
		}
		return vs, nil
	}
	for _, id := range ids {
		v := f.l.named(id)
		switch {
		case v == nil:
			err = errors.Join(err, &UnknownResourceError{id})
		case f.triable(v):
			vs = append(vs, v)
		default:
			err = errors.Join(err, &NotFailedError{id, f.untriable(v)})
		}
	}
	return vs, err
}

// untriable says why a vertex can't be tried again.
func (f *failures) untriable(v *vertex) string {
	switch s := f.l.status(v); {
	case s.State == engine.StatePaused && s.BlockedBy != "":
		return fmt.Sprintf("has not failed: it waits for %s, which is paused: resume that", s.BlockedBy)
	case s.State == engine.StateBlocked:
		return fmt.Sprintf("has not failed: it waits for %s, retry that", s.BlockedBy)
	case s.State != engine.StateFailed:
		return fmt.Sprintf("has not failed: it is %s", s.State)
	case v.wired().Refused() != nil:
		return "was sent a value that it refuses: it is tried again with another value"
	case v.membership.broken != nil:
		return "could not be initialised: it is tried again with the next graph"
	default:
		return "can't be tried again now: what it runs has not ended"
	}
}
