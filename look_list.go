package mgmt

import (
	"context"
	"errors"
	"iter"

	"github.com/reactivegraph/mgmt/engine"
)

// List yields all things of the kind of a target as they are found: its parameters and its
// backend steer the search. An error that it yields is about one of them, or is the last.
func (l *Looker) List(ctx context.Context, t Target) iter.Seq2[Sight, error] {
	return func(yield func(Sight, error) bool) {
		defer l.rest()
		x, err := l.openBare(ctx, t)
		if err != nil {
			yield(Sight{}, err)
			return
		}
		x.closing(yield, func() (bool, error) { return x.list(ctx, yield) })
	}
}

// closing calls the yielding function, cleans up also after a panic of the loop
// body, and yields the error if it may.
func (x *looked) closing(yield func(Sight, error) bool, do func() (on bool, err error)) {
	on, err := func() (on bool, err error) {
		defer x.close(&err)
		return do()
	}()
	if err != nil && on {
		yield(Sight{}, err)
	}
}

// list yields the things found, and reports whether more may be yielded. The
// sequence of the resource is pulled, so that its panic is told from one of whoever
// ranges.
func (x *looked) list(ctx context.Context, yield func(Sight, error) bool) (on bool, err error) {
	if err := x.shared.begin(); err != nil {
		return true, err
	}
	var p pull
	if err := protect("List", func() error { p.begin(x.res.(engine.Listable).List(ctx)); return nil }); err != nil {
		return true, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	for ctx.Err() == nil {
		res, err, more := p.next()
		if !more {
			return true, nil
		}
		var s Sight
		if err == nil {
			s, err = x.sight(nameOf(res), res)
		}
		if !yield(s, err) {
			return false, nil
		}
	}
	return false, nil
}

func nameOf(res engine.Res) (name string) {
	_ = protect("Name", func() error { name = res.Name(); return nil }) // Show says it of one that is nil
	return name
}

// pull is a sequence of resources whose panics are errors, after which it is over.
type pull struct {
	pull func() (engine.Res, error, bool)
	stop func()
}

func (p *pull) begin(seq iter.Seq2[engine.Res, error]) { p.pull, p.stop = iter.Pull2(seq) }

func (p *pull) next() (res engine.Res, err error, more bool) {
	if bad := protect("List", func() error { res, err, more = p.pull(); return nil }); bad != nil {
		return nil, bad, true
	}
	return res, err, more
}

func (p *pull) end() error {
	return protect("List", func() error { p.stop(); return nil })
}
