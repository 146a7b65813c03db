package reactor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// runBatch runs many vertices of one key in one call.
func (r *Reactor) runBatch(ctx context.Context, vs []*vertex) {
	start := r.now()
	outs := r.attendBatch(ctx, vs)
	took := time.Duration(r.now() - start)
	for i, v := range vs {
		v.out = outcome{ok: outs[i].OK, err: outs[i].Err, took: took}
		r.mail.post(v, mailRan)
	}
}

func (r *Reactor) attendBatch(ctx context.Context, vs []*vertex) []engine.Outcome {
	release, err := r.semas.acquire(ctx, vs...)
	if err != nil {
		return failAll(len(vs), err)
	}
	defer release()
	for _, v := range vs {
		if err := cmp.Or(v.job.broken, v.shared.begin(ctx)); err != nil {
			return failAll(len(vs), err)
		}
	}
	ctx, cancel := withTimeout(ctx, vs[0].meta.Timeout)
	defer cancel()
	if !vs[0].job.apply {
		return checkBatch(ctx, false, vs)
	}
	outs, todo := make([]engine.Outcome, len(vs)), vs
	if slices.ContainsFunc(vs, r.asksFirst) {
		outs = checkBatch(ctx, false, vs)
		todo = r.prepareBatch(ctx, vs, outs)
	}
	applied := checkBatch(ctx, true, todo)
	r.finishBatch(ctx, vs, outs, todo, applied)
	return outs
}

// prepareBatch returns those that have to be altered, and may.
func (r *Reactor) prepareBatch(ctx context.Context, vs []*vertex, outs []engine.Outcome) []*vertex {
	var wants, todo []*vertex
	var at []int
	for i, v := range vs {
		if outs[i].Err == nil && (!outs[i].OK || v.refresh.Load()) {
			wants, at = append(wants, v), append(at, i)
		}
	}
	for j, err := range r.prepare(ctx, wants...) {
		if outs[at[j]].Err = err; err == nil {
			todo = append(todo, wants[j])
		}
	}
	return todo
}

// finishBatch merges what was applied into the outcomes of the check, and writes
// down how those ended that did not fail.
func (r *Reactor) finishBatch(ctx context.Context, vs []*vertex, outs []engine.Outcome, todo []*vertex, applied []engine.Outcome) {
	var good []*vertex
	next := 0
	for i, v := range vs {
		if next < len(todo) && todo[next] == v {
			outs[i] = applied[next]
			next++
			if outs[i].OK && outs[i].Err == nil {
				r.untake(v)
			}
		}
		if outs[i].Err == nil {
			good = append(good, v)
		}
	}
	if len(good) == 0 {
		return
	}
	if err := r.finish(ctx, good...); err != nil {
		for i := range outs {
			if outs[i].Err == nil {
				outs[i] = engine.Outcome{Err: err}
			}
		}
	}
}

func failAll(n int, err error) []engine.Outcome {
	outs := make([]engine.Outcome, n)
	for i := range outs {
		outs[i].Err = err
	}
	return outs
}

// checkBatch calls CheckApplyBatch on the first of the members.
func checkBatch(ctx context.Context, apply bool, vs []*vertex) []engine.Outcome {
	if len(vs) == 0 {
		return nil
	}
	members := make([]engine.Res, len(vs))
	for i, v := range vs {
		members[i] = v.res
		v.mu.Lock()
		v.changes, v.sent = nil, nil
		v.mu.Unlock()
	}
	var outs []engine.Outcome
	err := protect("CheckApplyBatch", func() error {
		outs = vs[0].res.(engine.Batcher).CheckApplyBatch(ctx, apply, members)
		return nil
	})
	if err == nil && len(outs) != len(vs) {
		err = fmt.Errorf("CheckApplyBatch of %d resources returned %d outcomes", len(vs), len(outs))
	}
	if err != nil {
		return failAll(len(vs), err)
	}
	for i := range outs {
		outs[i].Err = explain(ctx, outs[i].Err)
		outs[i].OK = outs[i].OK && outs[i].Err == nil
	}
	return outs
}
