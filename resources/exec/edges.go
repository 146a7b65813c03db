package exec

import (
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/traits"
)

// uid is a command line. It lets other resources name an exec by its line. Nothing
// else looks at it.
type uid struct {
	engine.BaseUID
	cmd string
}

// String returns exec[command].
func (u *uid) String() string { return "exec[" + u.cmd + "]" }

// Hash is the command.
func (u *uid) Hash() string { return u.cmd }

// IFF reports whether both are the same command.
func (u *uid) IFF(o engine.ResUID) bool {
	e, ok := o.(*uid)
	return ok && e.cmd == u.cmd
}

// UIDs names an exec by its command.
func (x *Res) UIDs() []engine.ResUID {
	return []engine.ResUID{&uid{BaseUID: engine.UIDOf(x), cmd: x.mainCommand().line}}
}

// AutoEdges wants the things that the commands need before they can run: the
// programs, the folders, the files that are watched or named by an argument, the
// folder in which something is made, the user and the group, and the packages that
// have the programs. Unmanaged things make no edge. A word of a shell's script is
// not looked at, since only the shell knows its meaning. The engine joins the names
// with the graph, and reads no file for that.
func (x *Res) AutoEdges() (engine.AutoEdge, error) {
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

// Rooted says that a folder is enough for all but the commands, which are those of the host.
func (*Res) Rooted() (writes, apart []string) { return nil, nil }
