package resources

import (
	"path"

	"github.com/reactivegraph/mgmt/engine"
)

// wants is what a resource asks for when automatic edges are made: things that
// are there or not, and paths. A path that nobody manages is asked for again as
// the folder that it is in, and so on up, so what comes first is the nearest one
// of the graph.
type wants struct {
	base   engine.BaseUID
	ask    []engine.ResUID   // the next question: at first the things, then the paths
	things int               // how many of them stand there
	paths  []*engine.FileUID // those for which nothing was found yet; each is asked by again, one folder up
	begun  bool
}

// newWants makes room for some things and paths.
func newWants(r engine.Res, things, paths int) *wants {
	return &wants{base: engine.UIDOf(r), ask: make([]engine.ResUID, 0, things+paths), paths: make([]*engine.FileUID, 0, paths)}
}

// path asks for a path, or else the nearest managed folder above it.
func (w *wants) path(p string) {
	if path.IsAbs(p) {
		w.paths = append(w.paths, &engine.FileUID{BaseUID: w.base, Path: path.Clean(p)})
	}
}

// above asks for the nearest managed folder above a path.
func (w *wants) above(p string) {
	if p = path.Clean(p); path.IsAbs(p) && p != "/" {
		w.paths = append(w.paths, &engine.FileUID{BaseUID: w.base, Path: path.Dir(p)})
	}
}

// account asks for a user and a group, by name or number; empty for none.
func (w *wants) account(user, group string) {
	if user != "" {
		w.ask = append(w.ask, &engine.UserUID{BaseUID: w.base, User: user})
	}
	if group != "" {
		w.ask = append(w.ask, &engine.GroupUID{BaseUID: w.base, Group: group})
	}
}

// installed asks for the package that brings a path.
func (w *wants) installed(p string) {
	w.ask = append(w.ask, &engine.PkgFileUID{BaseUID: w.base, Path: path.Clean(p)})
}

// Next asks for the things once, and for the paths as far up as they have come.
func (w *wants) Next() []engine.ResUID {
	if w.begun {
		w.ask = w.ask[:0]
	}
	w.begun, w.things = true, len(w.ask)
	for _, u := range w.paths {
		w.ask = append(w.ask, u)
	}
	return w.ask
}

// Test goes on with the folders of the paths that were not found. Only a UID that
// was found is kept by who asked for it, so the others are used again.
func (w *wants) Test(found []bool) bool {
	up := w.paths[:0]
	for i, u := range w.paths {
		if at := w.things + i; u.Path != "/" && (at >= len(found) || !found[at]) {
			u.Path = path.Dir(u.Path)
			up = append(up, u)
		}
	}
	w.paths = up
	return len(up) > 0
}
