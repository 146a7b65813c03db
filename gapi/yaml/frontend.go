package yaml

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/reactivegraph/mgmt/gapi"
)

// Defaults of Options.
const (
	DefaultMaxBytes = 64 << 20
	DefaultSettle   = 25 * time.Millisecond
)

const (
	maxSettle = 20 // times Settle: a file that never rests is read after that
	gone      = 10 // times Settle: how long a file may be gone or empty before that counts
)

// Options of a Frontend. The zero value is good.
type Options struct {
	// MaxBytes bounds the sizes of all files of a graph together; 0 for
	// DefaultMaxBytes.
	MaxBytes int64

	// Settle is how long nothing must have happened to the files before they are
	// read again; 0 for DefaultSettle.
	Settle time.Duration
}

func (o Options) maxBytes() int64 {
	if o.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return o.MaxBytes
}

func (o Options) settle() time.Duration {
	if o.Settle == 0 {
		return DefaultSettle
	}
	return o.Settle
}

// Frontend reads the graph at one path; see the package comment.
type Frontend struct {
	path string
	opts Options
}

var _ gapi.Frontend = (*Frontend)(nil)

// New returns a frontend for a file, a folder, or "-" for standard input. It does
// not touch the path yet.
func New(path string, o Options) *Frontend { return &Frontend{path, o} }

// Graphs yields the graph that is there, and with every edit the one that is
// there then. A bad edit yields its Diagnostics. When Env.Reload asks, everything
// is read again at once and yielded, the same or not; what can be read only once
// answers with an error. If the first graph can't be read, the sequence ends with
// that. When the files can no longer be watched, it says so, and ends unless
// Env.Reload can ask.
func (f *Frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		files := newFiles(f.path, f.opts, env.Stdin)
		again := watchable(f.path)
		if again && !env.NoWatch && env.Host != nil {
			files.again = true
			w := &watcher{host: env.Host, log: env.Log(), settle: f.opts.settle(), reload: env.Reload}
			defer w.close()
			if !f.follow(ctx, files, w, yield) {
				return
			}
		} else if d, err := files.load(ctx).result(); !yield(d, err) || err != nil {
			return
		}
		if again {
			files.again = true
			onDemand(ctx, env.Reload, yield, func() (*gapi.Declared, error) { return files.load(ctx).result() })
		} else {
			onDemand(ctx, env.Reload, yield, func() (*gapi.Declared, error) { return nil, errReadOnce })
		}
	}
}

var errReadOnce = errors.New("the graph comes from a pipe or the like, which can't be read again; name a file to be able to reload")

// onDemand yields what read gives whenever somebody asks.
func onDemand(ctx context.Context, reload <-chan struct{}, yield func(*gapi.Declared, error) bool, read func() (*gapi.Declared, error)) {
	for reload != nil {
		select {
		case <-ctx.Done():
			return
		case <-reload:
		}
		d, err := read()
		if ctx.Err() != nil || !yield(d, err) {
			return
		}
	}
}

// watchable reports whether a path can be read more than once. What is not there
// can: its absence is reported by reading it.
func watchable(path string) bool {
	if path == "-" {
		return false
	}
	info, err := os.Stat(path)
	return err != nil || info.IsDir() || info.Mode().IsRegular()
}

// follow yields a graph whenever the files read differently from before, or
// somebody asks. It returns whether to go on without watching.
func (f *Frontend) follow(ctx context.Context, files *loader, w *watcher, yield func(*gapi.Declared, error) bool) bool {
	var last *loading
	for why := touched; why != ended; why = w.wait(ctx) {
		now, err := f.settled(ctx, files, w, last, why)
		if ctx.Err() != nil {
			return false
		}
		if why == asked || !now.same(last) {
			d, bad := now.result()
			if !yield(d, bad) || last == nil && bad != nil {
				return false
			}
			last = now
		}
		if err != nil {
			return yield(nil, fmt.Errorf("the graph is not watched any more: %w", err))
		}
	}
	return false
}

// settled reads the files, with all of them watched. A file that is gone or empty
// since last time gets a moment to come back, unless somebody waits for the answer.
func (f *Frontend) settled(ctx context.Context, files *loader, w *watcher, last *loading, why wake) (*loading, error) {
	patience := last != nil && why != asked
	for {
		now := files.load(ctx)
		anew, err := w.arm(ctx, now.watch)
		switch {
		case err != nil, ctx.Err() != nil:
			return now, err
		case anew:
			continue // something may have changed before it was watched
		case now.missing && patience && !now.same(last):
			patience = false
			w.waitFor(ctx, gone*w.settle, nil) // who asks meanwhile is heard by wait
			continue
		}
		return now, nil
	}
}
