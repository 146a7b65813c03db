package resources

import (
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

// Leaving reports whether the file is to be absent.
func (r *FileRes) Leaving() bool { return r.State == FileAbsent }

// UIDs names the file by its path.
func (r *FileRes) UIDs() []engine.ResUID {
	return []engine.ResUID{traits.FileUID(engine.UIDOf(r), path.Clean(r.filePath()))}
}

// AutoEdges wants the nearest managed folder above the path, what the content
// comes from, and what it names if it is that of a unit, the owner and the group, and the package that has the path, or its folder in /etc;
// and to come before the service that it configures.
func (r *FileRes) AutoEdges() (engine.AutoEdge, error) {
	p := r.filePath()
	w := newWants(r)
	w.account(r.Owner, r.Group)
	w.written(p)
	if r.Content != nil {
		w.unitFile(p, *r.Content)
	}
	if r.Source != "" && !r.Symlink {
		if w.path(r.Source); r.isFolder() {
			w.below(r.Source)
		}
	}
	for _, f := range r.Fragments {
		if w.path(f); strings.HasSuffix(f, "/") {
			w.below(f)
		}
	}
	return w, nil
}
