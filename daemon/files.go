package daemon

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/gapi"
)

// filesPart watches files next to the graph: the folders of models and of providers, and the trusted keys. A change of one has everything
// read again, as SIGHUP does: the new content is taken over or refused with the settings.
type filesPart struct {
	paths         []string // absolute, since a later change of the working folder must not move them
	requestReload func()
}

// Open implements Part. Without a file no watch is made.
func (b *filesPart) Open(_ context.Context, d *Daemon) error {
	b.requestReload = d.requestReload
	var errs []error
	for _, name := range append([]string{d.Kinds.Models, d.Kinds.Plugins}, d.TrustedKeys...) {
		if name == "" {
			continue
		}
		path, err := filepath.Abs(name)
		errs, b.paths = append(errs, err), append(b.paths, path)
	}
	if len(b.paths) > 0 {
		d.Beside(func(front gapi.Frontend) gapi.Frontend { return &watched{front, b} })
	}
	return errors.Join(errs...)
}

// Start implements Part: the watch lives with the frontend.
func (b *filesPart) Start(context.Context, *mgmt.Engine) error { return nil }

// Close implements Part.
func (b *filesPart) Close() error { return nil }

// watched is a frontend with auxiliary files.
type watched struct {
	gapi.Frontend
	files *filesPart
}

// Graphs implements gapi.Frontend.
// Its goroutine follows the files as long as the sequence is read. It has ended when the loop over
// the sequence ends.
// A watch that cannot be made is a warning and no error: SIGHUP and mgmt reload still work.
func (w *watched) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	if env.NoWatch || env.Host == nil {
		return w.Frontend.Graphs(ctx, env)
	}
	return func(yield func(*gapi.Declared, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		// Deferred calls run in reverse: the watch closes, the context ends, and then the goroutine
		// is awaited.
		defer cancel()
		sub, err := env.Host.Watch(ctx, w.files.paths, events.Options{Contents: true})
		if err != nil {
			env.Log().Warn("files next to the graph cannot be watched: after a change, reload mgmt", "error", err)
		} else {
			defer sub.Close()
			wg.Go(func() { w.follow(ctx, env, sub) })
		}
		w.Frontend.Graphs(ctx, env)(yield)
	}
}

// filesSettle is how long nothing must have happened to the files, so that a half-written one is not read.
// Each event begins it anew, so a file that is written without a pause is read at its end.
const filesSettle = 250 * time.Millisecond

// follow asks for a reload after each change.
// The timer is that of the host's clock (law 14), so a test decides when the files are at rest.
// It ends with ctx, or when the subscription is closed.
func (w *watched) follow(ctx context.Context, env gapi.Env, sub events.Subscription) {
	t := clock.NewTimer(engine.ClockOf(env.Host), filesSettle)
	t.Stop()
	defer func() { t.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-sub.C():
			if !ok {
				return
			}
			t.Stop()
			t = clock.NewTimer(engine.ClockOf(env.Host), filesSettle)
		case <-t.C:
			env.Log().Debug("files next to the graph have changed", "path", sub.Cause().Path)
			w.files.requestReload()
		}
	}
}
