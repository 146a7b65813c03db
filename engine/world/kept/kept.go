package kept

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Options say what is kept, and where.
type Options struct {
	Path   string       // of the file; "" keeps nothing, and an away store then is an empty one
	Prefix string       // of the keys that are kept
	Away   bool         // the store cannot be reached now, or refuses this host
	Clock  clock.Clock  // nil is the machine's
	Log    *slog.Logger // nil is silent
}

// World is an world.World over a store, for one reader. Make it with New, and close it before the store.
type World struct {
	world.World
	o Options

	mu   sync.Mutex
	away *content // answers List until the store is met; nil after that
	file *file    // nil where nothing is kept

	watched bool            // a Watch of the store has begun: its reader has a state, and waits for the store
	stale   map[string]bool // the prefixes that the file has answered, and no Watch was told of
}

// New returns a World over a store, which its caller closes. It reads the file only where the store is away.
func New(store world.World, o Options) *World {
	w := &World{World: store, o: o, stale: map[string]bool{}}
	w.o.Clock = clock.Or(o.Clock)
	if o.Log == nil {
		w.o.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if o.Away {
		if w.away, err = read(o.Path); err != nil {
			w.warn(err)
		}
	}
	if o.Path == "" {
		return w
	}
	if w.file, err = openFile(o.Path); err != nil {
		w.drop(err)
	}
	return w
}

// Close lets go of the file, and leaves the store open. The World then keeps nothing more, and goes on to answer.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := w.file.close()
	w.file = nil
	return err
}

// warn says that the file is of no use.
func (w *World) warn(err error) {
	w.o.Log.Warn("the last state of the store can't be kept: a start without the store will lack it", slog.String("path", w.o.Path), slog.Any("error", err))
}

// drop gives up the file until the next start. Its caller holds mu, or is New.
func (w *World) drop(err error) {
	w.warn(err)
	_ = w.file.close()
	w.file = nil
}

// kept reports whether keys with a prefix are kept.
func (w *World) kept(key string) bool {
	return strings.HasPrefix(key, w.o.Prefix)
}

// List implements world.World.
func (w *World) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if !w.kept(prefix) {
		return w.World.List(ctx, prefix, o)
	}
	if last := w.answers(prefix); last != nil {
		return last.page(prefix, o), ctx.Err()
	}
	page, err := w.World.List(ctx, prefix, o)
	if errors.Is(err, world.ErrUnavailable) && o.After == "" && w.fallBack() {
		return w.List(ctx, prefix, o)
	}
	if err != nil {
		return page, err
	}
	w.note(func(f *file) error {
		if o.After == "" {
			f.lines = append(f.lines, line{Begin: prefix})
		}
		for _, kv := range page.KVs {
			f.lines = append(f.lines, line{Put: &kv})
		}
		if page.More {
			return nil
		}
		return f.commit(page.Revision)
	})
	return page, nil
}

// answers returns the content that answers a List while the store is away, and notes that it did.
func (w *World) answers(prefix string) *content {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away != nil {
		w.stale[prefix] = true
	}
	return w.away
}

// fallBack lets the file answer from now on, and reports whether it does: the store has gone away at the start of the
// host, after New. A file without an answer of the store is none.
func (w *World) fallBack() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched || w.o.Path == "" {
		return w.away != nil
	}
	if w.away == nil {
		if c, err := read(w.o.Path); err == nil && c.revision > 0 {
			w.away = c
			w.o.Log.Warn("the store has gone out of reach at the start: this host goes on with its last state")
		}
	}
	return w.away != nil
}

// outdated reports whether the reader of a Watch has a state of the file, or would have one.
func (w *World) outdated(prefix string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.away != nil
	for listed := range w.stale {
		if strings.HasPrefix(listed, prefix) || strings.HasPrefix(prefix, listed) {
			old = true
		}
	}
	w.watched = w.watched || !old
	return old
}

// note writes to the file, where there is one. A file that cannot be written is given up.
func (w *World) note(write func(*file) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return
	}
	if err := write(w.file); err != nil {
		w.drop(err)
	}
}

// The pauses before a store is asked again: one that is away, and one that refuses this host.
const (
	retry        = time.Second
	retryRefused = 10 * time.Second
)

// Watch implements world.World. Where the store was away, it waits for the store, and then ends with world.ErrCompacted:
// its reader lists again, from the store.
func (w *World) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		if w.kept(prefix) && w.outdated(prefix) {
			if w.meet(ctx, prefix) {
				yield(world.Batch{}, world.ErrCompacted)
			}
			return
		}
		for b, err := range w.World.Watch(ctx, prefix, from) {
			if err == nil {
				w.changed(b)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// meet waits until the store answers, or another Watch has met it, and reports whether it does. From then on the file
// answers nothing. A store that refuses this host is not met: a certificate may be renewed.
func (w *World) meet(ctx context.Context, key string) bool {
	for w.isAway() {
		_, err := w.World.Get(ctx, key)
		if ctx.Err() != nil {
			return false
		}
		pause := retry
		if errors.Is(err, world.ErrRefused) {
			pause = retryRefused
		} else if !errors.Is(err, world.ErrUnavailable) {
			break
		}
		woken, stop := clock.After(w.o.Clock, pause)
		select {
		case <-woken:
		case <-ctx.Done():
		}
		stop()
	}
	if ctx.Err() != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away != nil {
		w.o.Log.Info("the store is back: this host catches up with it")
	}
	w.away, w.watched = nil, true
	maps.DeleteFunc(w.stale, func(listed string, _ bool) bool {
		return strings.HasPrefix(listed, key) || strings.HasPrefix(key, listed)
	})
	return true
}

func (w *World) isAway() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away != nil
}

// changed keeps the changes of a revision.
func (w *World) changed(b world.Batch) {
	w.note(func(f *file) error {
		for _, u := range b.Updates {
			switch {
			case !w.kept(u.Key):
			case u.Deleted:
				f.lines = append(f.lines, line{Gone: u.Key})
			default:
				f.lines = append(f.lines, line{Put: &u.KV})
			}
		}
		if len(f.lines) == 0 {
			return nil
		}
		return f.commit(b.Revision)
	})
}
