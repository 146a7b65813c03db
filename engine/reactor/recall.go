package reactor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/records"
)

// memory has the records that survive the process. The recorder, the book and what undoes vertices
// are for any goroutine; all else is for the loop.
type memory struct {
	store    records.Store
	readOnly bool
	log      *slog.Logger
	recorder *ledger.Recorder
	book     ledger.Book // numbers the refreshes
	seen     values.Seen // not altered once it was read
	undo     undo.Store  // what undoes the vertices
}

// recall reads the records that an earlier process has left.
func (m *memory) recall(ctx context.Context) error {
	for _, t := range ledger.Tables() {
		if err := m.recallTable(ctx, t[0], t[1], func(rec records.Record) { m.book.Recall(t[0], rec) }); err != nil {
			return err
		}
	}
	if err := m.recallTable(ctx, values.TableSeen, "the received values", m.seen.Recall); err != nil {
		return err
	}
	return m.undo.Recall(ctx, m.store)
}

func (m *memory) recallTable(ctx context.Context, table, words string, read func(records.Record)) error {
	for rec, err := range m.store.Records(ctx, table) {
		if err != nil {
			return fmt.Errorf("%s: %w", words, err)
		}
		read(rec)
	}
	return nil
}

// inheritLeft gives v the records that an earlier process has left for its name.
func (m *memory) inheritLeft(v *vertex) {
	v.ledger = m.book.Take(v.ID)
	if v.byDefault() {
		if w, changed := v.ledger.SetRetries(v.ID, 0); changed {
			m.recorder.NoteAll(w)
		}
	}
}

// forgetLeft forgets the records of an earlier process for names that are not in the first graph:
// as if they had left it now.
func (m *memory) forgetLeft(present func(id string) bool) {
	rest := m.book.Rest()
	for _, id := range slices.Sorted(maps.Keys(rest)) {
		m.tellDropped(id, rest[id].Pending())
		m.recorder.NoteAll(rest[id].Forget(id)...)
	}
	m.recorder.NoteAll(m.seen.Forget(present)...)
}

// setRetries counts the retries of v, also for the next process.
func (m *memory) setRetries(v *vertex, n int32) {
	w, changed := v.ledger.SetRetries(v.ID, n)
	if changed && !v.byDefault() { // else the next process tries it at once
		m.recorder.NoteAll(w)
	}
}

// tellDropped says that a resource has left the graph before it was refreshed.
func (m *memory) tellDropped(id string, ps []ledger.Pending) {
	if len(ps) > 0 {
		m.log.Warn("left the graph before it was refreshed: the refresh is dropped, also if the resource comes back",
			slog.String("resource", id), slog.String("from", ps[0].Source), slog.Int("refreshes", len(ps)))
	}
}

// forget has the records of a vertex deleted, whose name has left.
func (m *memory) forget(v *vertex) {
	m.tellDropped(v.ID, v.ledger.Pending())
	m.recorder.NoteAll(v.ledger.Forget(v.ID)...)
	m.recorder.NoteAll(v.wired().Forget(v.ID)...)
}
