package reactor

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
)

// recall reads what an earlier process has left.
func (r *Reactor) recall(ctx context.Context) error {
	for _, t := range ledger.Tables() {
		if err := r.recallTable(ctx, t[0], t[1], func(rec engine.Record) { r.book.Recall(t[0], rec) }); err != nil {
			return err
		}
	}
	if err := r.recallTable(ctx, values.TableSeen, "the received values", r.seen.Recall); err != nil {
		return err
	}
	if err := r.undo.Recall(ctx, r.opt.Store); err != nil {
		return err
	}
	if err := r.recallBudget(ctx); err != nil {
		return err
	}
	return r.recallPauses(ctx)
}

func (r *Reactor) recallTable(ctx context.Context, table, words string, read func(engine.Record)) error {
	for rec, err := range r.opt.Store.Records(ctx, table) {
		if err != nil {
			return fmt.Errorf("%s: %w", words, err)
		}
		read(rec)
	}
	return nil
}

// inheritLeft gives v what an earlier process has left for its name.
func (r *Reactor) inheritLeft(v *vertex) {
	v.owed = r.book.Take(v.id)
	if v.byDefault() {
		if w, changed := v.owed.SetRetries(v.id, 0); changed {
			r.recorder.NoteAll(w)
		}
	}
	for _, p := range v.owed.Pending() {
		r.because(v, Trigger{Cause: CauseRefresh, From: p.Source})
	}
}

// forgetLeft forgets what an earlier process has left of names that are not in the
// first graph: as if they had left it now.
func (r *Reactor) forgetLeft() {
	r.book.Rest(func(id string, left *ledger.Vertex) {
		r.tellDropped(id, left.Pending())
		r.recorder.NoteAll(left.Forget(id)...)
	})
	r.recorder.NoteAll(r.seen.Forget(func(id string) bool { return r.named(id) != nil })...)
}

// setRetries counts the retries of v, also for the next process.
func (r *Reactor) setRetries(v *vertex, n int32) {
	w, changed := v.owed.SetRetries(v.id, n)
	if changed && !v.byDefault() { // else the next process tries it at once
		r.recorder.NoteAll(w)
	}
}
