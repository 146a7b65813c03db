package file

import (
	"context"
	"path"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// subs is what a Watch listens to.
// One goroutine owns it, from subscribe to close.
type subs struct {
	main  events.Subscription
	parts events.Subscription // of fragments; nil for none
	stop  func()              // ends the news of paths below a purged folder that have left the graph; nil for none
	early atomic.Int32        // whether such news came before Running, when nobody may be told: isEarly, wasEarly or told
}

const (
	isEarly int32 = iota
	wasEarly
	told
)

// Watch waits for changes of the path and of the sources of its content.
// It blocks until ctx ends and then returns nil. Events carry no data, and several changes may
// become one event.
func (r *Res) Watch(ctx context.Context) error {
	s := &subs{}
	defer s.close()
	if err := r.subscribe(ctx, s); err != nil {
		return err
	}
	r.init.Running()
	if s.early.Swap(told) == wasEarly {
		r.init.Event()
	}
	for s.next(ctx) {
		r.init.Event()
	}
	return nil
}

// Watches says what the host can watch without Watch.
func (r *Res) Watches() (paths []string, o events.Options, ok bool) {
	paths, parts := r.watched()
	return paths, r.watchOptions(paths[0]), len(parts) == 0 && !r.waitsForUnmanaged()
}

func (r *Res) watchOptions(at string) events.Options {
	return events.Options{Recurse: r.IsFolder() && r.Recurse, Own: r.leftAt(at)}
}

// waitsForUnmanaged reports whether it has to be looked at when a path below leaves the graph.
func (r *Res) waitsForUnmanaged() bool { return r.Purge || r.undo != nil && r.IsFolder() }

// subscribe stands apart from Watch because Watch lasts: its stack should stay small.
// On an error, close ends the begun ones.
func (r *Res) subscribe(ctx context.Context, s *subs) (err error) {
	paths, parts := r.watched()
	if s.main, err = r.init.Host.Watch(ctx, paths, r.watchOptions(paths[0])); err != nil {
		return err
	}
	if len(parts) > 0 {
		if s.parts, err = r.init.Host.Watch(ctx, parts, events.Options{Contents: true}); err != nil {
			return err
		}
	}
	if r.waitsForUnmanaged() {
		s.stop = r.shared().Purge(r.filePath(), func() {
			if !s.early.CompareAndSwap(isEarly, wasEarly) && s.early.Load() == told {
				r.init.Event()
			}
		})
	}
	return nil
}

// next waits for a change. It reports false when ctx has ended.
func (s *subs) next(ctx context.Context) bool {
	var more <-chan struct{}
	if s.parts != nil {
		more = s.parts.C()
	}
	select {
	case <-s.main.C():
	case <-more:
	case <-ctx.Done():
		return false
	}
	return true
}

// close ends all subscriptions. It may be called with some of them missing.
func (s *subs) close() {
	if s.stop != nil {
		s.stop()
	}
	for _, sub := range []events.Subscription{s.parts, s.main} {
		if sub != nil {
			sub.Close()
		}
	}
}

// leftAt tells whether the file is exactly as the last run has left it: then the wake-up tells of that run's own write,
// and a check would find nothing. A run that goes on has left nothing yet.
func (r *Res) leftAt(at string) *safepath.Left {
	return &safepath.Left{Machine: r.init.Host, Path: at, State: r.left}
}

// copied returns the paths that the content comes from.
// Some of them may end in a slash, which means all below.
func (r *Res) copied() []string {
	if r.Source == "" || r.Symlink {
		return r.Fragments
	}
	return append([]string{r.Source}, r.Fragments...)
}

// watched returns the paths to watch, and those of fragments.
// Sources are watched like the path; of fragments also the contents of a folder count.
func (r *Res) watched() (paths, parts []string) {
	paths = []string{path.Clean(r.filePath())}
	if r.Source != "" && !r.Symlink {
		paths = append(paths, path.Clean(files.OwnCredential(r.Source)))
	}
	for _, f := range r.Fragments {
		parts = append(parts, path.Clean(f))
	}
	return paths, parts
}
