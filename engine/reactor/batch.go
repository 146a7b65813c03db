package reactor

import (
	"cmp"
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/failure"
)

// prepareSome returns the members that have to be altered, and may.
func (x *runner) prepareSome(ctx context.Context, vs []*vertex, outs []engine.Outcome) []*vertex {
	var wants, todo []*vertex
	var at []int
	for i, v := range vs {
		if outs[i].Err == nil && (!outs[i].OK || v.run.refresh.Load()) {
			wants, at = append(wants, v), append(at, i)
		}
	}
	for j, err := range x.prepare(ctx, wants...) {
		if err != nil {
			outs[at[j]] = engine.Outcome{Err: err}
		} else {
			todo = append(todo, wants[j])
		}
	}
	return todo
}

// endEarly ends the run of the members that need no change: they are right, or cannot be altered.
// It returns the context of the rest, in which the first of todo leads.
func (x *runner) endEarly(ctx context.Context, t *task, vs []*vertex, outs []engine.Outcome, todo []*vertex) context.Context {
	t.early = make(map[*vertex]bool, len(vs)-len(todo))
	next := 0
	for _, v := range vs {
		if next < len(todo) && todo[next] == v {
			next++
			continue
		}
		t.early[v] = true
	}
	x.finish(ctx, vs, outs, t.early, true)
	for i, v := range vs {
		if t.early[v] {
			x.endOne(t, v, outs[i])
		}
	}
	return context.WithValue(ctx, runKey{}, todo[0])
}

// finishSome merges the outcomes of applying into those of the check. It writes down how the
// members ended that did not fail and have not ended early.
func (x *runner) finishSome(ctx context.Context, t *task, vs []*vertex, outs []engine.Outcome, todo []*vertex, applied []engine.Outcome) {
	next := 0
	for i, v := range vs {
		if next < len(todo) && todo[next] == v {
			outs[i] = applied[next]
			next++
			if outs[i].OK && outs[i].Err == nil || failure.IsWait(outs[i].Err) {
				x.untake(v)
			}
		}
	}
	x.finish(ctx, vs, outs, t.early, false)
}

// prepare is done when vertices are about to be altered: the limits must allow it, the old
// state is kept for reverse, and the intents are durable, all of them together. It returns the
// error of each.
func (x *runner) prepare(ctx context.Context, vs ...*vertex) []error {
	errs := make([]error, len(vs))
	var good []*vertex
	for i, v := range vs {
		if errs[i] = x.allowed(v); errs[i] == nil {
			errs[i] = x.take(v)
		}
		if errs[i] == nil {
			errs[i] = x.remember(ctx, v)
		}
		if errs[i] == nil {
			v.picture(ctx)
			good = append(good, v)
		}
	}
	if len(good) > 0 {
		if err := x.intend(ctx, good...); err != nil {
			for i := range errs {
				errs[i] = cmp.Or(errs[i], err)
			}
		}
	}
	for i, v := range vs {
		if errs[i] != nil {
			x.untake(v)
		}
	}
	return errs
}

// endOne posts the end of the run of v. From then on the run must not touch v any more.
func (x *runner) endOne(t *task, v *vertex, o engine.Outcome) {
	v.run.job.out = outcome{ok: o.OK, err: o.Err, took: time.Duration(x.now() - t.began)}
	if d := x.opt.Declared; d != nil {
		d.ends(v)
	}
	x.mail.post(v, mailRan)
}
