package resources

import (
	"context"
	"path"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// Watch waits for changes of the path and of what its content comes from.
func (r *FileRes) Watch(ctx context.Context) error {
	paths, parts := r.watched()
	o := engine.WatchOptions{Recurse: r.isFolder() && r.Recurse, Own: func() bool { return r.asLeft(paths[0]) }}
	main, err := r.init.Host.Watch(ctx, paths, o)
	if err != nil {
		return err
	}
	defer main.Close()
	var more <-chan struct{}
	if len(parts) > 0 {
		sub, err := r.init.Host.Watch(ctx, parts, engine.WatchOptions{Contents: true})
		if err != nil {
			return err
		}
		defer sub.Close()
		more = sub.C()
	}
	var unmanaged <-chan struct{}
	if r.Purge || r.undo != nil && r.isFolder() {
		wake, stop := r.shared().purge(r.filePath())
		defer stop()
		unmanaged = wake
	}
	r.init.Running()
	for {
		select {
		case <-main.C():
		case <-more:
		case <-unmanaged:
		case <-ctx.Done():
			return nil
		}
		r.init.Event()
	}
}

// asLeft reports whether the file is exactly as the last run has left it: then the wake-up tells of that run's own write,
// and a check would find nothing. A run that goes on has left nothing yet.
func (r *FileRes) asLeft(at string) bool {
	left := r.left.Load()
	if left == nil {
		return false
	}
	now, err := atomicfile.Glance(at)
	return err == nil && now == *left
}

// copied returns the paths that the content comes from.
func (r *FileRes) copied() []string {
	if r.Source == "" || r.Symlink {
		return r.Fragments
	}
	return append([]string{r.Source}, r.Fragments...)
}

// watched returns the paths to watch, and those of fragments.
func (r *FileRes) watched() (paths, parts []string) {
	paths = []string{path.Clean(r.filePath())}
	if r.Source != "" && !r.Symlink {
		paths = append(paths, path.Clean(ownCredential(r.Source)))
	}
	for _, f := range r.Fragments {
		parts = append(parts, path.Clean(f))
	}
	return paths, parts
}
