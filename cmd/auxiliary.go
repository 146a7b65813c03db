package cmd

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
)

// auxiliaryFiles are files beside the graph that a daemon watches: a change of one has everything read again, as SIGHUP does. The
// new content is taken over or refused with the settings, and so with its place.
type auxiliaryFiles struct {
	paths  []string // files, and folders with their entries; absolute
	reload chan<- struct{}
}

// newAuxiliaryFiles leaves empty names out.
func newAuxiliaryFiles(reload chan<- struct{}, names ...string) (*auxiliaryFiles, error) {
	b := &auxiliaryFiles{reload: reload}
	var errs []error
	for _, name := range names {
		if name == "" {
			continue
		}
		path, err := filepath.Abs(name)
		errs, b.paths = append(errs, err), append(b.paths, path)
	}
	return b, errors.Join(errs...)
}

// with adds the files to a frontend.
func (b *auxiliaryFiles) with(front gapi.Frontend) gapi.Frontend {
	if len(b.paths) == 0 {
		return front
	}
	return &watched{front, b}
}

// watched is a frontend with files beside it.
type watched struct {
	gapi.Frontend
	files *auxiliaryFiles
}

// Graphs implements gapi.Frontend.
func (w *watched) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	if env.NoWatch || env.Host == nil {
		return w.Frontend.Graphs(ctx, env)
	}
	return func(yield func(*gapi.Declared, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		sub, err := env.Host.Watch(ctx, w.files.paths, engine.WatchOptions{Contents: true})
		if err != nil {
			env.Log().Warn("files beside the graph cannot be watched: after a change, reload mgmt", "error", err)
		} else {
			defer sub.Close()
			wg.Go(func() { w.follow(ctx, env, sub) })
		}
		w.Frontend.Graphs(ctx, env)(yield)
	}
}

// filesSettle is how long nothing must have happened to the files, so that a half-written one is not read.
const filesSettle = 250 * time.Millisecond

// follow asks for a reload after each change.
func (w *watched) follow(ctx context.Context, env gapi.Env, sub engine.Subscription) {
	t := engine.NewTimer(engine.ClockOf(env.Host), filesSettle)
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
			t = engine.NewTimer(engine.ClockOf(env.Host), filesSettle)
		case <-t.C:
			env.Log().Debug("files beside the graph have changed", "path", sub.Cause().Path)
			ask(w.files.reload)
		}
	}
}
