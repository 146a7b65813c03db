package gapi

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
)

// wake is what has ended a wait.
type wake uint8

const (
	ended   wake = iota // the context or the subscription is over
	idle                // nothing happened in time
	touched             // a file may have changed
	asked               // a caller wants the files to be read at once
)

// watcher is the subscription to all files of an input, and to the facts that it reads.
type watcher struct {
	host   engine.Host
	clock  clock.Clock
	log    *slog.Logger
	settle time.Duration
	reload <-chan struct{}             // requests to read the files at once; may be nil
	before func(context.Context) error // see Env.Before
	wake   <-chan struct{}             // see Input.Wake; may be nil
	paths  []string
	sub    events.Subscription
	facts  events.Subscription // nil while no fact is read
}

// arm watches these paths, and the facts, instead of what was watched before. It reports whether that differs.
func (w *watcher) arm(ctx context.Context, paths []string, facts bool) (bool, error) {
	anew, err := w.armFacts(ctx, facts)
	if err != nil {
		return false, err
	}
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	if w.sub != nil && slices.Equal(paths, w.paths) {
		return anew, nil
	}
	sub, err := w.host.Watch(ctx, paths, events.Options{Contents: true})
	if err != nil {
		return false, err
	}
	if w.sub != nil {
		w.sub.Close()
	}
	w.sub, w.paths = sub, paths
	return true, nil
}

// armFacts watches the facts, or ends that, and reports whether they are watched only from now on.
func (w *watcher) armFacts(ctx context.Context, wanted bool) (anew bool, err error) {
	switch {
	case wanted && w.facts == nil:
		w.facts, err = w.host.WatchFacts(ctx)
		return err == nil, err
	case !wanted && w.facts != nil:
		w.facts.Close()
		w.facts = nil
	}
	return false, nil
}

func (w *watcher) close() {
	for _, sub := range []events.Subscription{w.sub, w.facts} {
		if sub != nil {
			sub.Close()
		}
	}
}

// factsWake returns the channel of changed facts, nil while they are not watched.
func (w *watcher) factsWake() <-chan struct{} {
	if w.facts == nil {
		return nil
	}
	return w.facts.C()
}

// wait blocks until something happened and then nothing for the time of settle, or
// a request comes: it returns ended, touched or asked.
func (w *watcher) wait(ctx context.Context) wake {
	why := w.next(ctx, nil, w.reload)
	latest := w.clock.Now().Add(maxSettle * w.settle)
	for why == touched && w.clock.Now().Before(latest) {
		next := w.waitFor(ctx, w.settle, w.reload)
		if next == idle {
			break
		}
		why = next
	}
	if why == touched {
		c := w.sub.Cause()
		w.log.Debug("the files of the graph may have changed",
			slog.String("path", c.Path), slog.String("source", c.Source), slog.Int("merged", c.Merged), slog.Bool("resync", c.Resync))
	}
	return why
}

// waitFor is next for the time d.
func (w *watcher) waitFor(ctx context.Context, d time.Duration, reload <-chan struct{}) wake {
	t := clock.NewTimer(w.clock, d)
	defer t.Stop()
	return w.next(ctx, t.C, reload)
}

// next blocks until something happens, a request comes, or the time is over.
func (w *watcher) next(ctx context.Context, timeout <-chan time.Time, reload <-chan struct{}) wake {
	select {
	case <-ctx.Done():
		return ended
	case _, ok := <-w.factsWake():
		if !ok {
			return ended
		}
		return touched
	case <-w.wake:
		return touched
	case <-timeout:
		return idle
	case <-reload:
		return asked
	case _, ok := <-w.sub.C():
		if !ok {
			return ended
		}
		return touched
	}
}
