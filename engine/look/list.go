package look

import (
	"context"
	"iter"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
)

// List yields all things of the kind of a target as they are found: its parameters and its
// backend steer the search. An error that it yields is about one of them, or is the last.
func (l *Inspector) List(ctx context.Context, t Target) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		defer l.rest()
		x, err := l.openBare(ctx, t)
		if err != nil {
			yield(Observation{}, err)
			return
		}
		x.closing(yield, func() (bool, error) { return x.list(ctx, yield) })
	}
}

// closing calls the yielding function, cleans up also after a panic of the loop
// body, and yields the error if it may.
func (x *looked) closing(yield func(Observation, error) bool, do func() (on bool, err error)) {
	on, err := func() (on bool, err error) {
		defer x.close(&err)
		return do()
	}()
	if err != nil && on {
		yield(Observation{}, err)
	}
}

// list yields the things found, and reports whether more may be yielded.
func (x *looked) list(ctx context.Context, yield func(Observation, error) bool) (on bool, err error) {
	if err := x.Share().Begin(ctx); err != nil {
		return true, x.fault(err)
	}
	for res, err := range lifecycle.List(ctx, x.Res) {
		var s Observation
		if err == nil {
			s, err = x.observe(nameOf(res), res)
		}
		if !yield(s, x.Error(err)) {
			return false, nil
		}
	}
	return ctx.Err() == nil, nil
}

func nameOf(res engine.Res) (name string) {
	_ = lifecycle.Call("Name", func() error { name = res.Name(); return nil }) // Show says it of one that is nil
	return name
}
