package file

import (
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/traits"
)

// Leaving reports whether the file is to be absent.
// Then edges to it point the other way: users of the file go before it.
func (r *Res) Leaving() bool { return r.State == Absent }

// UIDs names the file by its path.
// Other kinds that want a file or folder find it by this path.
func (r *Res) UIDs() []autoedge.UID {
	return []autoedge.UID{traits.FileUID(autoedge.UIDOf(r), path.Clean(r.filePath()))}
}

// Rooted says that a folder is enough for all but owners, labels and commands.
func (r *Res) Rooted() (writes, apart []string) {
	return []string{path.Clean(r.filePath())}, []string{"owner", "group", "selinux", "validate"}
}

// AutoEdges wants the nearest managed folder above the path, the source of the content, the names
// in the content of a unit, the owner and the group. It wants the package that has the path, or its
// folder in /etc; and to come before the service that it configures.
// It does no I/O: it only states wishes, and the transform finds the resources that fulfil them.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	// Each wish names a path or an account; a wish that no resource fulfils makes no edge.
	p := r.filePath()
	w := edges.New(r)
	w.Account(r.Owner, r.Group)
	w.Written(p)
	if r.Content != nil {
		w.UnitFile(p, *r.Content)
	}
	if r.Source != "" && !r.Symlink {
		if w.Path(r.Source); r.IsFolder() {
			w.Below(r.Source)
		}
	}
	for _, f := range r.Fragments {
		if w.Path(f); strings.HasSuffix(f, "/") {
			w.Below(f)
		}
	}
	return w, nil
}
