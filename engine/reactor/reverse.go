package reactor

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// remembers reports whether the old state has to be looked at before v is altered for the first
// time: the metaparameter reverse. It is called by the run of v.
func (x *runner) remembers(v *vertex) bool {
	return v.meta.Undoes() && v.abil.Reversible && v.abil.Readable && x.memory.undo.Wants(v.ID, v.Res, v.wired().Received())
}

// remember keeps the present state, if it has to be kept. It is called by the run of v, after a
// check that wants a change and before anything is altered; on an error nothing must be.
func (x *runner) remember(ctx context.Context, v *vertex) error {
	if !x.remembers(v) {
		return nil
	}
	subject := &undo.Subject{ID: v.ID, Res: v.Res, Secret: v.secretFields(), Clean: v.Text}
	if at := v.run.job.stand; at != nil {
		subject.At = *at
	}
	step, err := x.memory.undo.Keep(ctx, subject)
	if err != nil {
		return err
	}
	if step.Why != "" {
		x.log.Warn(step.Warning(), slog.String("resource", v.ID), slog.String("reason", step.Why))
	}
	if len(step.Writes) > 0 {
		if err := x.commit(ctx, v, step.Writes); err != nil {
			return step.NotWritten(err)
		}
	}
	x.memory.undo.Kept(step)
	return nil
}

// pruneUndo forgets records that are kept in vain now that the graph has taken effect.
func (m *memory) pruneUndo(ctx context.Context, has func(id string) bool) {
	if m.readOnly {
		return
	}
	writes := m.undo.Prune(has)
	if len(writes) == 0 {
		return
	}
	if err := m.store.Commit(ctx, writes); err != nil {
		m.log.Warn("the store was not tidied up", slog.Any("error", fmt.Errorf("cannot forget what can't be undone: %w", err)))
		return
	}
	for _, w := range writes {
		m.undo.Forget(w.Key)
	}
}

// hide keeps parameters from being shown whose type is plain, as if they had been
// received from a secret.
func (v *vertex) hide(fields []string) {
	if len(fields) == 0 {
		return
	}
	v.wiring().Mark(v.ID, fields)
	for _, f := range fields {
		if x, err := schema.Get(v.Res, f); err == nil {
			v.Hide(x, true)
		}
	}
}
