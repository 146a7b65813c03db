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
func (x *runner) intend(ctx context.Context, vs ...*vertex) error {
	var writes []engine.Write
	for _, v := range vs {
		writes = v.owed.Intend(v.id, &v.run.job.owed, writes)
		writes = x.spent(v, writes)
	}
	if len(writes) == 0 {
		return nil
	}
	if err := x.commit(ctx, vs[0], writes); err != nil {
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
func (x *runner) commit(ctx context.Context, v *vertex, writes []engine.Write) error {
	defer x.committing.Add(-1)
	if x.committing.Add(1) <= maxCommitting {
		defer v.wait(ctx)()
	}
	return x.r.memory.recorder.Commit(ctx, writes)
}

// finish writes down how runs ended that may alter and did not fail: the refreshes
// that they acted on are cleared, and their intents become pending refreshes. A
// failure keeps the intent, so that the next success counts as a change. It runs in
// the run's goroutine; the loop does not touch the vertex's intent and job meanwhile.
//
// What is only an intent that becomes refreshes nobody waits for: after a crash the
// intent says the same. The end of a refresh has the key of that refresh, so it comes
// after this, or together with it.
func (x *runner) finish(ctx context.Context, vs ...*vertex) error {
	var over, owed []engine.Write
	for _, v := range vs {
		if v.isOver() {
			over = append(over, x.r.memory.undo.Over(v.id)...)
		}
		over = v.run.job.owed.Clear(v.id, over)
		owed = v.owed.Owe(v.id, &v.run.job.owed, &x.r.memory.book, owed)
	}
	switch {
	case len(over) > 0:
		if err := x.commit(context.WithoutCancel(ctx), vs[0], append(over, owed...)); err != nil {
			return fmt.Errorf("cannot record the change: %w", err)
		}
	case len(owed) > 0:
		x.r.memory.recorder.NoteAll(owed...)
	default:
		return nil
	}
	for _, v := range vs {
		if v.isOver() {
			x.r.memory.undo.Forget(v.id)
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
func (l *loop) refreshed(v *vertex, changed bool) {
	if !v.run.job.apply {
		return
	}
	if v.owed.Succeed(&v.run.job.owed, changed) {
		l.notifyAll(v)
	}
}

// notifyAll marks the targets of v dirty, with the refreshes that its run has
// recorded.
func (l *loop) notifyAll(v *vertex) {
	for f := range v.run.job.owed.Due() {
		t := l.named(f.Target)
		if t == nil { // it has left meanwhile
			l.r.memory.recorder.NoteAll(f.Over())
			continue
		}
		t.owed.Refresh(f)
		l.from(t, CauseRefresh, v, "")
		l.event(t)
	}
	l.notifyNew(v)
}

// notifyNew refreshes those that the run of v did not know of, because a graph
// with their edges took effect while it ran, maybe with another vertex in the place
// of v. That is written down only now.
func (l *loop) notifyNew(v *vertex) {
	now := l.named(v.id)
	if now == nil {
		return
	}
	for _, t := range now.notify {
		if v.run.job.owed.Knew(t.id) {
			continue
		}
		l.r.memory.recorder.NoteAll(t.owed.RefreshNow(t.id, v.id, &l.r.memory.book))
		l.from(t, CauseRefresh, v, "")
		l.event(t)
	}
}

// tellDropped says that a resource has left the graph before it was refreshed.
func (m *memory) tellDropped(id string, ps []ledger.Pending) {
	if len(ps) > 0 {
		m.r.log.Warn("left the graph before it was refreshed: the refresh is dropped, also if the resource comes back",
			slog.String("resource", id), slog.String("from", ps[0].Source), slog.Int("refreshes", len(ps)))
	}
}

// forget has the records of a vertex deleted, whose name has left.
func (m *memory) forget(v *vertex) {
	m.tellDropped(v.id, v.owed.Pending())
	m.recorder.NoteAll(v.owed.Forget(v.id)...)
	m.recorder.NoteAll(v.wired().Forget(v.id)...)
}
