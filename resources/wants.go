package resources

import (
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

// wants is what a resource asks for when automatic edges are made: things that
// are there or not, and paths. A path that nobody manages is asked for again as
// the folder that it is in, and so on up, so what comes first is the nearest one
// of the graph. At each of them it is asked for what is mounted there, too.
type wants struct {
	ask    []engine.ResUID // the next question: at first the things, then the paths
	paths  []*engine.UID   // those for which nothing was found yet; each is asked by again, one folder up
	things int32           // how many of them stand in ask
	begun  bool
	firm   bool // what is asked for now keeps its direction where both are to go

	// Room for what most of them ask for: there is one of each file of a graph.
	asks   [3]engine.ResUID
	folder [1]*engine.UID
	mount  [1]engine.UID
	pkg    engine.UID // the first one; whatever it asks for, its base is that of all
	parent engine.UID
}

func newWants(r engine.Res) *wants {
	w := &wants{pkg: *traits.PkgFileUID(engine.UIDOf(r), "")}
	w.ask, w.paths = w.asks[:0], w.folder[:0]
	return w
}

func (w *wants) base() engine.BaseUID {
	b := w.pkg.BaseUID
	b.Firmly = w.firm
	return b
}

// path asks for a path, or else the nearest managed folder above it.
func (w *wants) path(p string) {
	if path.IsAbs(p) {
		w.paths = append(w.paths, traits.FileUID(w.base(), path.Clean(p)))
	}
}

// below asks for all files below a folder that is read.
func (w *wants) below(p string) {
	if path.IsAbs(p) {
		w.ask = append(w.ask, traits.BelowUID(w.base(), path.Clean(p)))
	}
}

// above asks for the nearest managed folder above a path. It is called once at most.
func (w *wants) above(p string) {
	if p = path.Clean(p); path.IsAbs(p) && p != "/" {
		w.parent = *traits.FileUID(w.base(), above(p))
		w.paths = append(w.paths, &w.parent)
	}
}

// account asks for a user and a group, by name or number; empty for none.
func (w *wants) account(user, group string) {
	if user != "" {
		w.ask = append(w.ask, traits.UserUID(w.base(), user))
	}
	if group != "" {
		w.ask = append(w.ask, traits.GroupUID(w.base(), group))
	}
}

// installed asks for the package that brings a path.
func (w *wants) installed(p string) {
	u := &w.pkg
	if u.Key != "" {
		u = new(engine.UID)
	}
	*u = *traits.PkgFileUID(w.base(), path.Clean(p))
	w.ask = append(w.ask, u)
}

// written asks for what everything that writes a file at p wants: the nearest managed
// folder above it and the package that has it, or its folder in /etc, before; and after, the
// service that it configures. A package that goes does so before its files do: it may need them for that, and
// leave some. It is called once at most.
func (w *wants) written(p string) {
	w.firm = true
	w.installed(p)
	w.configured(p)
	w.firm = false
	w.above(p)
	w.configures(p)
}

// Next asks for the things once, and for the paths as far up as they have come.
func (w *wants) Next() []engine.ResUID {
	if w.begun {
		w.ask = w.ask[:0]
	}
	w.begun, w.things = true, int32(len(w.ask))
	mounts := w.mount[:] // at the same paths
	if len(w.paths) > 1 {
		mounts = make([]engine.UID, len(w.paths)) // one that is found is kept, and the next question comes
	}
	for _, u := range w.paths {
		w.ask = append(w.ask, u)
	}
	for i, u := range w.paths {
		mounts[i] = *traits.MountUID(w.base(), u.Key)
		w.ask = append(w.ask, &mounts[i])
	}
	return w.ask
}

// Test goes on with the folders of the paths at which nothing was found. Only a UID that
// was found is kept by who asked for it, so the others are used again.
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
