package reactor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
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
				outs[i] = engine.Outcome{Err: &engine.WaitError{For: "a lease that proves " + p.Of, Again: proofWait}}
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
func (v *vertex) proofs() []engine.Proof {
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
