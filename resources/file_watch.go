package resources

import (
	"context"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
)

// Watch waits for changes of the path and of what its content comes from.
func (r *FileRes) Watch(ctx context.Context) error {
	paths, parts := r.watched()
	main, err := r.init.Host.Watch(ctx, paths, engine.WatchOptions{Recurse: r.isFolder() && r.Recurse})
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
	if r.Purge {
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
		paths = append(paths, path.Clean(r.Source))
	}
	for _, f := range r.Fragments {
		parts = append(parts, path.Clean(f))
	}
	return paths, parts
}

// UIDs names the file by its path.
func (r *FileRes) UIDs() []engine.ResUID {
	return []engine.ResUID{thingUID{kind: "file", thing: path.Clean(r.filePath()), owner: r.Name()}}
}

// AutoEdges wants what the content comes from, and the nearest folder above the
// path that is managed.
func (r *FileRes) AutoEdges() (engine.AutoEdge, error) {
	e := &fileEdges{above: path.Clean(r.filePath())}
	if r.Source != "" && !r.Symlink {
		e.inputs = append(e.inputs, thingUID{kind: "file", thing: path.Clean(r.Source)})
	}
	for _, f := range r.Fragments {
		e.inputs = append(e.inputs, thingUID{kind: "file", thing: path.Clean(f)})
	}
	if r.Owner != "" {
		e.inputs = append(e.inputs, thingUID{kind: "user", thing: r.Owner})
	}
	if r.Group != "" {
		e.inputs = append(e.inputs, thingUID{kind: "group", thing: r.Group})
	}
	return e, nil
}

// fileEdges gives the inputs first, all at once, and then one folder after the
// other, from the nearest one up, until one of them is found.
type fileEdges struct {
	inputs []engine.ResUID
	above  string
	first  bool // the last answer was about inputs
}

// Next returns the next candidates.
func (e *fileEdges) Next() []engine.ResUID {
	if e.first = len(e.inputs) > 0; e.first {
		in := e.inputs
		e.inputs = nil
		return in
	}
	if e.above == "/" || !strings.HasPrefix(e.above, "/") {
		return nil
	}
	e.above = path.Dir(e.above)
	return []engine.ResUID{thingUID{kind: "file", thing: e.above}}
}

// Test goes on until a folder is found.
func (e *fileEdges) Test(found []bool) bool {
	return e.first || len(found) == 0 || !found[0]
}
