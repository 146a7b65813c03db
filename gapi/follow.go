package gapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

const (
	maxSettle = 20 // times Settle: a file that never rests is read after that
	gone      = 10 // times Settle: how long a file may be gone or empty before that counts
)

// Input is where a frontend that reads files has its graph from.
type Input struct {
	// Path is a file, a folder, or "-" for standard input.
	Path string

	// Asker asks the file system of Path; nil for one of its own.
	Asker *Asker

	// Settle is how long nothing must have happened to the files before they are
	// read again.
	Settle time.Duration

	// Read reads everything. again says that it is not the only time, so that an
	// input that can be read only once is an error. It blocks on a pipe or a device
	// only, until the context ends.
	Read func(ctx context.Context, again bool) Reading

	// Wake has a token when something else than the files may make another graph. It is nil where there is nothing else, and never closed.
	Wake <-chan struct{}
}

// Reading is what was read once.
type Reading struct {
	Result  func() (*Declared, error) // what is yielded; called once at most, and then let go
	State   string                    // equal states, equal graphs
	Paths   []string                  // what to watch, absolute; what is missing too
	Facts   bool                      // a change of a fact may give another graph
	Missing bool                      // a file is gone or empty, as some editors leave it for a moment
}

// Follow yields the present graph, and a new one with every edit, as Frontend.Graphs
// should. It is the body of that method for frontends that read files. A bad edit
// yields its error. When Env.Reload asks, everything is read again at once and
// yielded, the same or not; an input that can be read only once answers with an
// error. If the first graph can't be read, the sequence ends with that. When the
// files can no longer be watched, it says so, and ends unless Env.Reload can ask. It
// starts no goroutine.
func Follow(ctx context.Context, env Env, in Input) iter.Seq2[*Declared, error] {
	return func(yield func(*Declared, error) bool) {
		again := in.watchable(ctx)
		if again && !env.NoWatch && env.Host != nil {
			w := &watcher{host: env.Host, clock: engine.ClockOf(env.Host), log: env.Log(), settle: in.Settle, reload: env.Reload, before: env.before, wake: in.Wake}
			defer w.close()
			if !in.follow(ctx, w, yield) {
				return
			}
		} else if d, err := in.readOnce(ctx, env); !yield(d, err) || err != nil {
			return
		}
		if again {
			onDemand(ctx, env, yield, func() (*Declared, error) { return in.Read(ctx, true).Result() })
		} else {
			onDemand(ctx, env, yield, func() (*Declared, error) { return nil, errReadOnce })
		}
	}
}

// waitNote is how long a graph may take to come before the log says what is waited for.
const waitNote = time.Second

// readOnce reads a graph that is not followed. Where that takes long, as with a pipe
// without a writer, the log says so.
func (in *Input) readOnce(ctx context.Context, env Env) (*Declared, error) {
	stop := engine.ClockOf(env.Host).AfterFunc(waitNote, func() {
		env.Log().Info("the graph is waited for: what writes it has not ended", "from", in.Path)
	})
	defer stop()
	return in.Read(ctx, false).Result()
}

var errReadOnce = errors.New("the graph comes from a pipe or the like, which can't be read again; name a file to be able to reload")

// onDemand yields the result of read at each question.
func onDemand(ctx context.Context, env Env, yield func(*Declared, error) bool, read func() (*Declared, error)) {
	for env.Reload != nil {
		select {
		case <-ctx.Done():
			return
		case <-env.Reload:
		}
		var d *Declared
		err := env.before(ctx)
		if err == nil {
			d, err = read()
		}
		if ctx.Err() != nil || !yield(d, err) {
			return
		}
	}
}

// watchable reports whether the path can be read more than once. A missing file can:
// its absence is reported by reading it.
func (in *Input) watchable(ctx context.Context) bool {
	if in.Path == "-" {
		return false
	}
	asker := in.Asker
	if asker == nil {
		asker = &Asker{}
	}
	info, err := asker.Stat(ctx, in.Path)
	return err != nil || info.IsDir() || info.Mode().IsRegular()
}

// follow yields a graph whenever the files read differently from before, or on
// request. It returns whether to go on without watching.
func (in *Input) follow(ctx context.Context, w *watcher, yield func(*Declared, error) bool) bool {
	var last *Reading
	for why := touched; why != ended; why = w.wait(ctx) {
		if why == asked {
			if err := w.before(ctx); err != nil {
				if ctx.Err() != nil || !yield(nil, err) {
					return false
				}
				why = touched // there may have been an edit, too
			}
		}
		now, err := in.settled(ctx, w, last, why)
		if ctx.Err() != nil {
			return false
		}
		if why == asked || !now.same(last) {
			d, bad := now.Result()
			if !yield(d, bad) || last == nil && bad != nil {
				return false
			}
			now.Result = nil // it may hold all that was read, for as long as nothing changes
			last = &now
		}
		if err != nil {
			return yield(nil, fmt.Errorf("the graph is not watched any more: %w", err))
		}
	}
	return false
}

// settled reads the files, with all of them watched. A file that is gone or empty
// since last time gets a moment to come back, unless a caller waits for the answer.
func (in *Input) settled(ctx context.Context, w *watcher, last *Reading, why wake) (Reading, error) {
	patience := last != nil && why != asked
	for {
		now := in.Read(ctx, true)
		anew, err := w.arm(ctx, now.Paths, now.Facts)
		switch {
		case err != nil, ctx.Err() != nil:
			return now, err
		case anew:
			continue // something may have changed before it was watched
		case now.Missing && patience && !now.same(last):
			patience = false
			w.waitFor(ctx, gone*w.settle, nil) // who asks meanwhile is heard by wait
			continue
		}
		return now, nil
	}
}

// same reports whether two readings read the same.
func (r *Reading) same(o *Reading) bool { return o != nil && r.State == o.State }
