package reactor

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
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
	x.finish(ctx, vs, outs, func(v *vertex) bool { return t.early[v] })
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
			if outs[i].OK && outs[i].Err == nil || engine.IsWait(outs[i].Err) {
				x.untake(v)
			}
		}
	}
	x.finish(ctx, vs, outs, func(v *vertex) bool { return !t.early[v] })
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
	members := make([]engine.Res, len(vs))
	for i, v := range vs {
		members[i] = v.Res
	}
	var outs []engine.Outcome
	err := lifecycle.Call("CheckApplyBatch", func() error {
		outs = vs[0].Res.(engine.Batcher).CheckApplyBatch(ctx, apply, members)
		return nil
	})
	if err == nil && len(outs) != len(vs) {
		err = fmt.Errorf("CheckApplyBatch of %d resources returned %d outcomes", len(vs), len(outs))
	}
	if err != nil {
		return failAll(len(vs), err)
	}
	return outs
}
