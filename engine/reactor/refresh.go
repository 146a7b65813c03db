package reactor

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
)

// intend makes it durable that vertices are about to be altered. The wait gives
// the run's slot back, so that many are written down together.
func (r *Reactor) intend(ctx context.Context, vs ...*vertex) error {
	var writes []engine.Write
	for _, v := range vs {
		writes = v.owed.Intend(v.id, &v.run.job.owed, writes)
		writes = r.spent(v, writes)
	}
	if len(writes) == 0 {
		return nil
	}
	if err := r.commit(ctx, vs[0], writes); err != nil {
		return fmt.Errorf("what is about to change cannot be recorded, so nothing was changed: %w", err)
	}
	for _, v := range vs {
		v.owed.Intended(&v.run.job.owed)
	}
	return nil
}

// maxCommitting is how many runs may have given back their slots because they wait
// for the store. They are written down together; more of them at once would cost
// more in stacks than it saves in commits.
const maxCommitting = 64

// commit writes to the store, within a run of v.
func (r *Reactor) commit(ctx context.Context, v *vertex, writes []engine.Write) error {
	defer r.committing.Add(-1)
	if r.committing.Add(1) <= maxCommitting {
		defer v.wait(ctx)()
	}
	return r.recorder.Commit(ctx, writes)
}

// finish writes down how runs ended that may alter and did not fail: the refreshes
// that they acted on are cleared, and their intents become pending refreshes. A
// failure keeps the intent, so that the next success counts as a change. It runs in
// the run's goroutine; the loop does not touch the vertex's intent and job meanwhile.
//
// What is only an intent that becomes refreshes nobody waits for: after a crash the
// intent says the same. The end of a refresh has the key of that refresh, so it comes
// after this, or together with it.
func (r *Reactor) finish(ctx context.Context, vs ...*vertex) error {
	var over, owed []engine.Write
	for _, v := range vs {
		if v.isOver() {
			over = append(over, r.undo.Over(v.id)...)
		}
		over = v.run.job.owed.Clear(v.id, over)
		owed = v.owed.Owe(v.id, &v.run.job.owed, &r.book, owed)
	}
	switch {
	case len(over) > 0:
		if err := r.commit(context.WithoutCancel(ctx), vs[0], append(over, owed...)); err != nil {
			return fmt.Errorf("cannot record the change: %w", err)
		}
	case len(owed) > 0:
		r.recorder.NoteAll(owed...)
	default:
		return nil
	}
	for _, v := range vs {
		if v.isOver() {
			r.undo.Forget(v.id)
		}
	}
	return nil
}

// beginOwed returns what a run of v acts on, and whom its change will refresh.
func (v *vertex) beginOwed() ledger.Run {
	return v.owed.Begin(v.id, len(v.notify), func(i int) (string, *ledger.Vertex) {
		t := v.notify[i]
		return t.id, &t.owed
	})
}

// refreshed does what a run of v that ended without an error asks for: the
// refreshes that it acted on are over, and its change refreshes others.
func (r *Reactor) refreshed(v *vertex, changed bool) {
	if !v.run.job.apply {
		return
	}
	if v.owed.Succeed(&v.run.job.owed, changed) {
		r.notifyAll(v)
	}
}

// notifyAll marks the targets of v dirty, with the refreshes that its run has
// recorded.
func (r *Reactor) notifyAll(v *vertex) {
	for f := range v.run.job.owed.Due() {
		t := r.named(f.Target)
		if t == nil { // it has left meanwhile
			r.recorder.NoteAll(f.Over())
			continue
		}
		t.owed.Refresh(f)
		r.from(t, CauseRefresh, v, "")
		r.event(t)
	}
	r.notifyNew(v)
}

// notifyNew refreshes those that the run of v did not know of, because a graph
// with their edges took effect while it ran, maybe with another vertex in the place
// of v. That is written down only now.
func (r *Reactor) notifyNew(v *vertex) {
	now := r.named(v.id)
	if now == nil {
		return
	}
	for _, t := range now.notify {
		if v.run.job.owed.Knew(t.id) {
			continue
		}
		r.recorder.NoteAll(t.owed.RefreshNow(t.id, v.id, &r.book))
		r.from(t, CauseRefresh, v, "")
		r.event(t)
	}
}

// tellDropped says that a resource has left the graph before it was refreshed.
func (r *Reactor) tellDropped(id string, ps []ledger.Pending) {
	if len(ps) > 0 {
		r.log.Warn("left the graph before it was refreshed: the refresh is dropped, also if the resource comes back",
			slog.String("resource", id), slog.String("from", ps[0].Source), slog.Int("refreshes", len(ps)))
	}
}

// forget has the records of a vertex deleted, whose name has left.
func (r *Reactor) forget(v *vertex) {
	r.tellDropped(v.id, v.owed.Pending())
	r.recorder.NoteAll(v.owed.Forget(v.id)...)
	r.recorder.NoteAll(v.wired().Forget(v.id)...)
}
