package reactor

import (
	"context"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine"
)

// remembers reports whether what is there has to be looked at before v is altered
// for the first time: the metaparameter reverse.
func (r *Reactor) remembers(v *vertex) bool { return r.undoing.wants(v) }

// remember keeps what is there now, if that has to be. It is called by the run of
// v, after a check that wants a change and before anything is altered; on an error
// nothing must be.
func (r *Reactor) remember(ctx context.Context, v *vertex) error {
	if !r.undoing.wants(v) {
		return nil
	}
	return r.undoing.keep(ctx, v)
}

// undone reports whether v has nothing to undo, or nothing more. It is asked after a run that has not failed.
func (v *vertex) undone() bool {
	u, ok := v.res.(engine.UndoingRes)
	if !ok || !v.once {
		return true
	}
	all := true
	_ = protect("Undone", func() error { all = u.Undone(); return nil }) // who can't say it has done what it does
	return all
}

// standing returns where v stands, if that may have to be kept.
func (r *Reactor) standing(v *vertex) standing {
	if !v.meta.Reverse {
		return standing{}
	}
	return standing{g: r.graph, all: r.byIndex, at: int(v.index)}
}

// pruneUndoing forgets what is kept in vain now that g has taken effect.
func (r *Reactor) pruneUndoing(ctx context.Context, g *engine.Graph) {
	if r.opt.ReadOnly {
		return
	}
	if err := r.undoing.prune(ctx, g); err != nil {
		r.log.Warn("the store was not tidied up", slog.Any("error", err))
	}
}
