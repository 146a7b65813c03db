package edges

import (
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/traits"
)

// wants has the requests of a resource when automatic edges are made: things that are there or not,
// and paths. An unmanaged path is asked for again as its folder, and so on up, so the first match
// is the nearest one of the graph. At each of them the mount there is asked for, too.
type wants struct {
	Ask        []autoedge.UID     // the next question: at first the things, then the paths
	paths      []*autoedge.KeyUID // those for which nothing was found yet; each is asked by again, one folder up
	things     int32              // how many of them stand in ask
	begun      bool
	FixedOrder bool // the present request keeps its direction where both are to go

	// Room for what most of them ask for: there is one of each file of a graph.
	asks   [3]autoedge.UID
	folder [1]*autoedge.KeyUID
	mount  [1]autoedge.KeyUID
	Pkg    autoedge.KeyUID // the first one; whatever it asks for, its base is that of all
	parent autoedge.KeyUID
}

func New(r engine.Res) *wants {
	w := &wants{Pkg: *traits.PkgFileUID(autoedge.UIDOf(r), "")}
	w.Ask, w.paths = w.asks[:0], w.folder[:0]
	return w
}

func (w *wants) Base() autoedge.BaseUID {
	b := w.Pkg.BaseUID
	b.FixedOrder = w.FixedOrder
	return b
}

// Path asks for a path, or else the nearest managed folder above it.
func (w *wants) Path(p string) {
	if path.IsAbs(p) {
		w.paths = append(w.paths, traits.FileUID(w.Base(), path.Clean(p)))
	}
}

// Below asks for all files below a folder that is read.
func (w *wants) Below(p string) {
	if path.IsAbs(p) {
		w.Ask = append(w.Ask, traits.BelowUID(w.Base(), path.Clean(p)))
	}
}

// Above asks for the nearest managed folder above a path. It is called once at most.
func (w *wants) Above(p string) {
	if p = path.Clean(p); path.IsAbs(p) && p != "/" {
		w.parent = *traits.FileUID(w.Base(), above(p))
		w.paths = append(w.paths, &w.parent)
	}
}

// Account asks for a user and a group, by name or number; empty for none.
func (w *wants) Account(user, group string) {
	if user != "" {
		w.Ask = append(w.Ask, traits.UserUID(w.Base(), user))
	}
	if group != "" {
		w.Ask = append(w.Ask, traits.GroupUID(w.Base(), group))
	}
}

// Installed asks for the package that brings a path.
func (w *wants) Installed(p string) {
	u := &w.Pkg
	if u.Key != "" {
		u = new(autoedge.KeyUID)
	}
	*u = *traits.PkgFileUID(w.Base(), path.Clean(p))
	w.Ask = append(w.Ask, u)
}

// Written asks for what everything that writes a file at p wants: the nearest managed
// folder above it and the package that has it, or its folder in /etc, before; and after, the
// service that it configures. A package that goes does so before its files do: it may need them for that, and
// leave some. It is called once at most.
func (w *wants) Written(p string) {
	w.FixedOrder = true
	w.Installed(p)
	w.configured(p)
	w.FixedOrder = false
	w.Above(p)
	w.configures(p)
}

// Next asks for the things once, and for the paths as far up as they have come.
func (w *wants) Next() []autoedge.UID {
	if w.begun {
		w.Ask = w.Ask[:0]
	}
	w.begun, w.things = true, int32(len(w.Ask))
	mounts := w.mount[:] // at the same paths
	if len(w.paths) > 1 {
		mounts = make([]autoedge.KeyUID, len(w.paths)) // one that is found is kept, and the next question comes
	}
	for _, u := range w.paths {
		w.Ask = append(w.Ask, u)
	}
	for i, u := range w.paths {
		mounts[i] = *traits.MountUID(w.Base(), u.Key)
		w.Ask = append(w.Ask, &mounts[i])
	}
	return w.Ask
}

// Test goes on with the folders of the paths at which nothing was found. Only a found UID is kept
// by the asker, so the others are used again.
func (w *wants) Test(found []bool) bool {
	up, n := w.paths[:0], len(w.paths)
	was := func(at int) bool { return at < len(found) && found[at] }
	for i, u := range w.paths {
		if at := int(w.things) + i; u.Key != "/" && !was(at) && !was(at+n) {
			u.Key = above(u.Key)
			up = append(up, u)
		}
	}
	w.paths = up
	return len(up) > 0
}

// above returns the folder that a clean path is in; that of / is /.
func above(p string) string { return p[:max(1, strings.LastIndexByte(p, '/'))] }

// configured asks for the package that brings the folder of /etc that a path is below.
func (w *wants) configured(p string) {
	rest, ok := strings.CutPrefix(p, "/etc/")
	if name, _, below := strings.Cut(rest, "/"); ok && below {
		w.Installed("/etc/" + name)
	}
}
