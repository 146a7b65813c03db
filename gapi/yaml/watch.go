package yaml

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// watcher is the subscription to all files of a graph.
type watcher struct {
	host   engine.Host
	log    *slog.Logger
	settle time.Duration
	paths  []string
	sub    engine.Subscription
}

// arm watches these paths instead of those before, and reports whether they
// differ.
func (w *watcher) arm(ctx context.Context, paths []string) (bool, error) {
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	if w.sub != nil && slices.Equal(paths, w.paths) {
		return false, nil
	}
	sub, err := w.host.Watch(ctx, paths, engine.WatchOptions{Contents: true})
	if err != nil {
		return false, err
	}
	w.close()
	w.sub, w.paths = sub, paths
	return true, nil
}

func (w *watcher) close() {
	if w.sub != nil {
		w.sub.Close()
	}
}

// wait blocks until something happened and then nothing for the time of settle.
// It returns false when the context or the subscription has ended.
func (w *watcher) wait(ctx context.Context) bool {
	if !w.next(ctx, nil) {
		return false
	}
	latest := time.Now().Add(maxSettle * w.settle)
	for time.Now().Before(latest) {
		if !w.waitFor(ctx, w.settle) {
			break
		}
	}
	c := w.sub.Cause()
	w.log.Debug("the files of the graph may have changed",
		slog.String("path", c.Path), slog.String("source", c.Source), slog.Int("merged", c.Merged), slog.Bool("resync", c.Resync))
	return ctx.Err() == nil
}

// waitFor reports whether something happens within d.
func (w *watcher) waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	return w.next(ctx, t.C)
}

// next blocks until something happens, and returns false when the context, the
// subscription or the time ends first.
func (w *watcher) next(ctx context.Context, timeout <-chan time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-timeout:
		return false
	case _, ok := <-w.sub.C():
		return ok
	}
}
