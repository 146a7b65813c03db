package reactor

import (
	"cmp"
	"context"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// run runs one vertex, or several of one key in one call, and posts the end of each. A method that ends the goroutine has failed.
func (x *runner) run(t task) {
	t.began = x.now()
	var outs []engine.Outcome
	defer func() {
		if outs == nil {
			outs = failAll(len(t.vs), callsafe.Exited("CheckApply"))
		}
		for i, v := range t.vs {
			if !t.early[v] {
				x.endOne(&t, v, outs[i])
			}
		}
	}()
	outs = x.attend(&t)
}

// attend checks vertices and makes them right, once their semaphores are free. Vertices that can't
// be run fail without the others.
func (x *runner) attend(t *task) []engine.Outcome {
	ctx, vs := t.ctx, t.vs
	semas := hold.Named(semasOf(vs, false))
	if err := x.acquire(ctx, vs[0], semas); err != nil {
		return failAll(len(vs), err)
	}
	defer x.semas.Release(semas)
	broken := 0
	for _, v := range vs {
		if v.run.job.broken = cmp.Or(v.run.job.broken, v.Share().Begin(ctx), v.run.job.unchecked()); v.run.job.broken != nil {
			broken++
		}
	}
	if broken == 0 {
		return x.attendSound(t, vs)
	}
	outs := checkedOf(vs)
	defer lookAtFailed(ctx, vs, outs)
	var sound []*vertex
	var at []int
	for i, v := range vs {
		if outs[i].Err = v.run.job.broken; outs[i].Err == nil {
			sound, at = append(sound, v), append(at, i)
		}
	}
	if len(sound) > 0 {
		for n, o := range x.attendSound(t, sound) {
			outs[at[n]] = o
		}
	}
	return outs
}

// acquire takes semaphores for a run that a vertex leads. The run gives its slot back meanwhile.
func (x *runner) acquire(ctx context.Context, lead *vertex, semas []hold.Semaphore) error {
	if len(semas) == 0 {
		return nil
	}
	defer lead.wait(ctx)()
	return x.semas.Acquire(ctx, semas)
}

// attendSound attends to at least one vertex. They are asked first if anything has to be done
// before one is altered: see prepare; and if they are several: right ones do not wait until the
// others are right. A pending refresh is over only by CheckApply(true), whatever the check says.
func (x *runner) attendSound(t *task, vs []*vertex) []engine.Outcome {
	ctx, cancel := x.withTimeout(t.ctx, vs[0].meta.Timeout)
	defer cancel()
	outs, todo := checkedOf(vs), vs
	if !vs[0].run.job.apply {
		x.check(ctx, false, vs, outs)
		lookAtFailed(ctx, vs, outs)
		return outs
	}
	if len(vs) > 1 || slices.ContainsFunc(vs, x.asksFirst) {
		x.check(ctx, false, vs, outs)
		placed, release := x.place(t.ctx, ctx, vs, outs)
		defer release()
		ctx = placed
		todo = x.prepareSome(ctx, vs, outs)
		if len(todo) > 0 && len(todo) < len(vs) {
			ctx = x.endEarly(ctx, t, vs, outs, todo)
		}
	}
	applied := appliedOf(todo)
	x.check(ctx, true, todo, applied)
	x.finishSome(ctx, t, vs, outs, todo, applied)
	return outs
}

// asksFirst reports whether v is asked by CheckApply(false) before it is altered.
func (x *runner) asksFirst(v *vertex) bool {
	return v.run.job.refreshes.Notifies() || x.account.On() || x.guards.Load().on() || v.meta.Drift == engine.DriftAsk || x.remembers(v) || x.pictures(v) || len(semasOf([]*vertex{v}, true)) > 0
}
