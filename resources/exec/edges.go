package exec

import (
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/traits"
)

// UIDs names an exec by its command line, so that other resources can name it by that. Nothing
// else looks at it.
// The line is the written one. Arguments that stand in a list of their own are not a part of it.
// Two execs of one line have equal UIDs. They do not clash, since a command may run at several places of a graph.
func (x *Res) UIDs() []autoedge.UID {
	return []autoedge.UID{&autoedge.KeyUID{BaseUID: autoedge.UIDOf(x), Space: "exec", Key: x.mainCommand().line}}
}

// AutoEdges wants the things that the commands need before they can run: the
// programs, the folders, the files that are watched or named by an argument, the
// folder in which something is made, the user and the group, and the packages that
// have the programs. Unmanaged things make no edge. A word of a shell's script is
// not looked at, since only the shell knows its meaning. The engine joins the names
// with the graph, and reads no file for that.
func (x *Res) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(x)
	var paths, args []string
	for _, c := range x.commands() {
		if c.line == "" {
			continue
		}
		argv, err := c.argv()
		if err != nil {
			return nil, err
		}
		paths = append(paths, argv[0], c.cwd)
		args = append(args, argv[1:]...)
		if filepath.IsAbs(argv[0]) {
			w.Installed(argv[0])
		}
	}
	paths = append(append(paths, x.Mtimes...), x.WatchFiles...)
	for _, p := range unique(paths) {
		w.Path(p)
	}
	for _, a := range unique(args) {
		if filepath.IsAbs(a) {
			w.Ask = append(w.Ask, traits.FileUID(w.Base(), filepath.Clean(a)))
		}
	}
	w.Above(x.Creates)
	w.Account(x.User, x.Group)
	return w, nil
}

// unique sorts a list and leaves out what stands there twice. It alters the given
// list.
func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// Rooted says that a folder is enough for all but the commands, which are those of the host. It names what they create.
func (x *Res) Rooted() (writes, apart []string) {
	if x.Creates == "" {
		return nil, nil
	}
	return []string{x.Creates}, nil
}
