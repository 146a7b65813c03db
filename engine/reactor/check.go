package reactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/world"
)

// proofWait is how soon a vertex without its proof is looked at again: an answer of the store may have proved it again. A graph without the vertex,
// or with another proof, comes by itself.
const proofWait = time.Second

// unproved says of each vertex that may not begin what it waits for, and reports whether there is one. It is asked right before each CheckApply begins:
// the process may have been stopped in the middle of a run. The vertices of a batch have the same proofs in their declarations, and may have
// received others.
func (x *runner) unproved(vs []*vertex, outs []engine.Outcome) (some bool) {
	if len(vs) == 0 || !vs[0].run.job.apply { // what alters nothing may look
		return false
	}
	for i, v := range vs {
		for _, p := range v.proofs() {
			if l := x.opt.World.Held(p.Lease); l == nil || !l.Holds() {
				outs[i] = engine.Outcome{Err: &failure.WaitError{For: "a lease that proves " + p.Of, Again: proofWait}}
				some = true
				break
			}
		}
	}
	return some
}

// checkProved is check of the vertices whose outcome has no error: the others wait for a proof.
func (x *runner) checkProved(ctx context.Context, apply bool, vs []*vertex, outs []engine.Outcome) {
	var proved []*vertex
	var at []int
	for i, v := range vs {
		if outs[i].Err == nil {
			proved, at = append(proved, v), append(at, i)
		}
	}
	rest := make([]engine.Outcome, len(proved))
	x.check(ctx, apply, proved, rest)
	for n, o := range rest {
		outs[at[n]] = o
	}
}

// proofs are the leases without which no run of v begins: those of its declaration, and those of the values that it has received. What it sends
// needs them, too.
func (v *vertex) proofs() []world.Proof {
	received := v.wired().Proofs()
	if len(received) == 0 {
		return v.meta.Proofs
	}
	return slices.Concat(v.meta.Proofs, received)
}

// proofsKey tells apart the batches that need other leases.
func proofsKey(m *engine.MetaParams) string {
	if len(m.Proofs) == 0 {
		return ""
	}
	return fmt.Sprint(m.Proofs)
}

// errTimeout is the cause of a context that ended by the metaparameter timeout.
var errTimeout = errors.New("timed out")

func (x *runner) withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return clock.WithTimeout(ctx, x.opt.Clock, d, fmt.Errorf("%w after %s", errTimeout, d))
}

// check calls CheckApply of one vertex, or CheckApplyBatch of the first of several, and stores the
// outcomes. Reports of an earlier call of the same run are dropped.
func (x *runner) check(ctx context.Context, apply bool, vs []*vertex, outs []engine.Outcome) {
	if x.unproved(vs, outs) {
		x.checkProved(ctx, apply, vs, outs)
		return
	}
	for _, v := range vs {
		v.run.anew(apply)
		v.run.job.during = ctx
		if x.opt.Debug {
			defer v.unaltered("CheckApply")()
		}
	}
	switch len(vs) {
	case 0:
	case 1:
		outs[0].Err = lifecycle.Call("CheckApply", func() (err error) {
			outs[0].OK, err = vs[0].Res.CheckApply(ctx, apply)
			return err
		})
	default:
		copy(outs, checkBatch(ctx, apply, vs))
	}
	for i := range outs {
		if outs[i].Err == nil && i < len(vs) {
			outs[i].Err = checkMembers(vs[i].Res)
		}
		outs[i].Err = explain(ctx, callsafe.CopyError("CheckApply", outs[i].Err))
		outs[i].OK = outs[i].OK && outs[i].Err == nil
	}
}

// explain says in an error that the time was over, or that a place was lost, where that was so.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, errTimeout), errors.Is(err, errPlaceLost):
		return err
	case errors.Is(cause, errPlaceLost) && errors.Is(err, context.Canceled):
		return cause
	case !errors.Is(cause, errTimeout) && !errors.Is(cause, errPlaceLost):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
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
