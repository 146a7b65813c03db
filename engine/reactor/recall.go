package reactor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
)

// memory has the records that survive the process. The recorder, the book and what undoes vertices
// are for any goroutine; all else is for the loop.
type memory struct {
	r        *Reactor
	recorder *ledger.Recorder
	book     ledger.Book // numbers the refreshes
	seen     values.Seen // not altered once it was read
	undo     undo.Store  // what undoes the vertices
}

// recall reads the records that an earlier process has left.
func (m *memory) recall(ctx context.Context) error {
	for _, t := range ledger.Tables() {
		if err := m.recallTable(ctx, t[0], t[1], func(rec engine.Record) { m.book.Recall(t[0], rec) }); err != nil {
			return err
		}
	}
	if err := m.recallTable(ctx, values.TableSeen, "the received values", m.seen.Recall); err != nil {
		return err
	}
	if err := m.undo.Recall(ctx, m.r.opt.Store); err != nil {
		return err
	}
	if err := m.r.loop.holds.recallBudget(ctx); err != nil {
		return err
	}
	return m.r.loop.holds.recallPauses(ctx)
}

func (m *memory) recallTable(ctx context.Context, table, words string, read func(engine.Record)) error {
	for rec, err := range m.r.opt.Store.Records(ctx, table) {
		if err != nil {
			return fmt.Errorf("%s: %w", words, err)
		}
		read(rec)
	}
	return nil
}

// end has the records written that are left, and after Abandon only some of them.
func (m *memory) end() {
	m.r.loop.end.waitOrQuit(m.recorder.End(), nil)
	m.recorder.Cut()
}

// inheritLeft gives v the records that an earlier process has left for its name.
func (m *memory) inheritLeft(v *vertex) {
	v.ledger = m.book.Take(v.ID)
	if v.byDefault() {
		if w, changed := v.ledger.SetRetries(v.ID, 0); changed {
			m.recorder.NoteAll(w)
		}
	}
	for _, p := range v.ledger.Pending() {
		m.r.loop.because(v, Trigger{Cause: CauseRefresh, From: p.Source})
	}
}

// forgetLeft forgets the records of an earlier process for names that are not in the first graph:
// as if they had left it now.
func (m *memory) forgetLeft() {
	rest := m.book.Rest()
	for _, id := range slices.Sorted(maps.Keys(rest)) {
		m.tellDropped(id, rest[id].Pending())
		m.recorder.NoteAll(rest[id].Forget(id)...)
	}
	m.recorder.NoteAll(m.seen.Forget(func(id string) bool { return m.r.loop.named(id) != nil })...)
}

// setRetries counts the retries of v, also for the next process.
func (m *memory) setRetries(v *vertex, n int32) {
	w, changed := v.ledger.SetRetries(v.ID, n)
	if changed && !v.byDefault() { // else the next process tries it at once
		m.recorder.NoteAll(w)
	}
}
