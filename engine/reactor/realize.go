package reactor

import (
	"context"
	"log/slog"
	"slices"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// awaitRealized waits until every vertex that leaves and asks for it has been
// brought about once, or can't be: it has failed for good, is blocked, paused or
// held.
func (s *swap) awaitRealized(ctx context.Context) error {
	r := s.r
	if len(s.leaving) == 0 {
		return nil
	}
	var gone []<-chan struct{}
	err := r.doAndAwait(ctx, &gone, func() {
		var list []*vertex
		for _, v := range s.leaving {
			if v.meta.Realize && r.loop.unrealized(v) {
				list = append(list, v)
			}
		}
		if len(list) == 0 {
			return
		}
		r.log.Info("the new graph waits for what has to be brought about before it leaves",
			slog.String("resource", list[0].ID), slog.Int("resources", len(list)))
		r.loop.realizing = &realizing{list: list, done: make(chan struct{})}
		gone = append(gone, r.loop.realizing.done)
	})
	if err != nil {
		_ = r.do(context.WithoutCancel(ctx), func() { r.loop.realizing = nil })
	}
	return err
}

// unrealizedOnes returns the vertices that a new graph waits for.
func (l *loop) unrealizedOnes() (ids []string) {
	if l.realizing == nil {
		return nil
	}
	for _, v := range l.realizing.list {
		if l.unrealized(v) {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

// unrealized reports whether v is on its way to be brought about for the first
// time.
func (l *loop) unrealized(v *vertex) bool {
	if v.past.realized || v.hold.IsHeld() || l.holds.pauses.Of(v.ID) != nil {
		return false
	}
	switch l.m.State(v.slot) {
	case resgraph.StateStarting, resgraph.StateWaiting, resgraph.StateRunning:
		return true
	case resgraph.StateFailed:
		return v.past.retryAt > 0 && !v.byDefault() // nothing waits for ever
	default:
		return false
	}
}

// checkRealized lets the Swap go on that waits, if it may.
func (l *loop) checkRealized() {
	w := l.realizing
	if w == nil {
		return
	}
	if slices.ContainsFunc(w.list, l.unrealized) {
		return
	}
	l.realizing = nil
	close(w.done)
}

// rewatchFailed tries those again that have failed for good and ask for it at each
// graph: the metaparameter rewatch.
func (l *loop) rewatchFailed() {
	for _, v := range l.byIndex {
		if !v.meta.Rewatch || v.membership.suspended || v.watch.Active() && !v.watch.Is(watch.Running) || v.wired().Refused() != nil ||
			v.past.retryAt > 0 && !v.byDefault() || l.m.State(v.slot) != resgraph.StateFailed {
			continue
		}
		l.memory.setRetries(v, 0)
		l.because(v, Trigger{Cause: CauseRetry})
		v.watch.SetTries(0)
		if v.watch.Is(watch.Running) || v.unwatched() {
			l.event(v)
		} else {
			l.startWatch(v)
		}
	}
}
