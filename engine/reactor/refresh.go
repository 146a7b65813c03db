package reactor

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/records"
)

// intend makes it durable that vertices are about to be altered. The wait gives
// the run's slot back, so that many are written down together.
func (x *runner) intend(ctx context.Context, vs ...*vertex) error {
	var writes []records.Write
	for _, v := range vs {
		writes = v.ledger.Intend(v.ID, &v.run.job.refreshes, writes)
		writes = x.spent(v, writes)
	}
	if len(writes) == 0 {
		return nil
	}
	if err := x.commit(ctx, vs[0], writes); err != nil {
		return fmt.Errorf("what is about to change cannot be recorded, so nothing was changed: %w", err)
	}
	for _, v := range vs {
		v.ledger.Intended(&v.run.job.refreshes)
	}
	return nil
}

// maxCommitting is how many runs may have given back their slots because they wait
// for the store. They are written down together; more of them at once would cost
// more in stacks than it saves in commits.
const maxCommitting = 64

// commit writes to the store, within a run of v.
func (x *runner) commit(ctx context.Context, v *vertex, writes []records.Write) error {
	defer x.committing.Add(-1)
	if x.committing.Add(1) <= maxCommitting {
		defer v.wait(ctx)()
	}
	return x.memory.recorder.Commit(ctx, writes)
}

// finish writes down how those of the runs ended that may alter, are early or not as which says, and did not fail: the
// refreshes that they acted on are cleared, and their intents become pending refreshes. A failure
// keeps the intent, so that the next success counts as a change. It runs in the run's goroutine;
// the loop does not touch the vertex's intent and job meanwhile. The runs fail if that can't be
// written.
//
// No run waits for an intent that only becomes refreshes: after a crash the intent says the same.
// The end of a refresh has the key of that refresh, so it comes after this, or together with it.
func (x *runner) finish(ctx context.Context, vs []*vertex, outs []engine.Outcome, early map[*vertex]bool, which bool) {
	var over, owed []records.Write
	for i, v := range vs {
		if outs[i].Err != nil || early[v] != which {
			continue
		}
		if v.isOver() {
			over = append(over, x.memory.undo.Over(v.ID)...)
		}
		over = v.run.job.refreshes.Clear(v.ID, over)
		owed = v.ledger.Owe(v.ID, &v.run.job.refreshes, &x.memory.book, owed)
	}
	var err error
	switch {
	case len(over) > 0:
		err = x.commit(context.WithoutCancel(ctx), vs[0], append(over, owed...))
	case len(owed) > 0:
		x.memory.recorder.NoteAll(owed...)
	default:
		return
	}
	for i, v := range vs {
		switch {
		case outs[i].Err != nil || early[v] != which:
		case err != nil:
			outs[i] = engine.Outcome{Err: fmt.Errorf("cannot record the change: %w", err)}
		case v.isOver():
			x.memory.undo.Forget(v.ID)
		}
	}
}

// beginRefreshes returns the refreshes that a run of v acts on, and the vertices that its change will
// refresh.
func (v *vertex) beginRefreshes() ledger.Run {
	if len(v.notify) == 0 {
		return v.ledger.Begin(v.ID, 0, nil)
	}
	return v.ledger.Begin(v.ID, len(v.notify), func(i int) (string, *ledger.Vertex) {
		t := v.notify[i]
		return t.ID, &t.ledger
	})
}

// promise writes a refresh down for a target of v that a graph has brought while a run goes on, of v or of the one in whose place it
// stands: the run may have changed something already.
func (v *vertex) promise(to *vertex) {
	for of := v; of != nil; of = of.membership.before {
		if of.run.inRun && of.run.job.apply {
			m := &v.core.memory
			m.recorder.NoteAll(of.run.job.refreshes.Promise(v.ID, to.ID, &m.book, nil)...)
		}
	}
}
