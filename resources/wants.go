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
	things []engine.ResUID
	paths  []string // absolute and clean; those for which something was found are gone
	asked  int      // how many things stood before the paths in the last question
}

// newWants makes room for some things and paths.
func newWants(r engine.Res, things, paths int) *wants {
	return &wants{base: engine.UIDOf(r), things: make([]engine.ResUID, 0, things+paths), paths: make([]string, 0, paths)}
}

// path asks for a path, or else the nearest managed folder above it.
func (w *wants) path(p string) {
	if path.IsAbs(p) {
		w.paths = append(w.paths, path.Clean(p))
	}
}

// above asks for the nearest managed folder above a path.
func (w *wants) above(p string) {
	if p = path.Clean(p); path.IsAbs(p) && p != "/" {
		w.paths = append(w.paths, path.Dir(p))
	}
}

// account asks for a user and a group, by name or number; empty for none.
func (w *wants) account(user, group string) {
	if user != "" {
		w.things = append(w.things, &engine.UserUID{BaseUID: w.base, User: user})
	}
	if group != "" {
		w.things = append(w.things, &engine.GroupUID{BaseUID: w.base, Group: group})
	}
}

// installed asks for the package that brings a path.
func (w *wants) installed(p string) {
	w.things = append(w.things, &engine.PkgFileUID{BaseUID: w.base, Path: path.Clean(p)})
}

// Next asks for the things once, and for the paths as far up as they have come.
func (w *wants) Next() []engine.ResUID {
	ask := w.things
	w.things, w.asked = nil, len(ask)
	for _, p := range w.paths {
		ask = append(ask, &engine.FileUID{BaseUID: w.base, Path: p})
	}
	return ask
}

// Test goes on with the folders of the paths that were not found.
func (w *wants) Test(found []bool) bool {
	up := w.paths[:0]
	for i, p := range w.paths {
		if at := w.asked + i; p != "/" && (at >= len(found) || !found[at]) {
			up = append(up, path.Dir(p))
		}
	}
	w.paths = up
	return len(up) > 0
}
