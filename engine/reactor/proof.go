package reactor

import (
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// proofWait is how soon a vertex without its proof is looked at again: an answer of the store may have proved it again. A graph without the vertex,
// or with another proof, comes by itself.
const proofWait = time.Second

// unproved returns what a run of vertices waits for, nil where all their leases hold. It is asked right before each CheckApply begins: the
// process may have been stopped in the middle of a run. The vertices of a batch have the same proofs.
func (x *runner) unproved(vs []*vertex) error {
	if len(vs) == 0 || !vs[0].run.job.apply { // what alters nothing may look
		return nil
	}
	for _, p := range vs[0].meta.Proofs {
		if l := x.r.opt.World.Held(p.Lease); l == nil || !l.Holds() {
			return &engine.WaitError{For: "a lease that proves " + p.Of, Again: proofWait}
		}
	}
	return nil
}

// proofsKey tells apart the batches that need other leases.
func proofsKey(m *engine.MetaParams) string {
	if len(m.Proofs) == 0 {
		return ""
	}
	return fmt.Sprint(m.Proofs)
}
