package yaml

import (
	"context"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// Reader reads one graph again and again, for a caller that knows itself when to read, such as the server of an editor. It keeps
// files that stay the same as Frontend does. It is for one goroutine.
type Reader struct{ files *loader }

// NewReader returns a reader of a file or a folder. It does not touch the path yet.
func NewReader(path string, o Options) *Reader {
	files := newFiles(path, o, nil)
	files.again = true // a pipe would block the caller
	return &Reader{files}
}

// Read reads the graph as it is now. It does not block on anything but the disk.
// Options.Overlay has the texts of open editors.
func (r *Reader) Read(ctx context.Context) gapi.Reading { return r.files.load(ctx).reading() }

// Names says what the expressions of a graph see.
type Names struct {
	graph *expand.Graph
	dir   string
}

// NamesOf reads the graph at a path as far as its variables and its data. Of a graph with
// errors it has the readable part. The file of a module is read as that module, which sees
// nothing of the graphs that use it. It reads the files anew at each call. The names are those
// of that moment.
func NamesOf(path string, o Options) Names {
	dir := filepath.Dir(path)
	if filepath.Base(path) != expand.ModuleFile {
		_, x := started(path, o, nil)
		return Names{x, dir}
	}
	_, x := started("", o, nil)
	if m := x.Alone(dir); m != nil {
		x = m
	}
	return Names{x, dir}
}

// Members returns the names that may follow a path of names, such as facts or module.front: the names with their types. An empty path has
// the names that an expression may begin with. It is empty for a path that is unknown, or of any type.
func (n Names) Members(path ...string) []expr.Member { return n.graph.Members(path) }

// Signatures returns the forms of the functions and methods that an expression may call, by name.
func (n Names) Signatures() []expr.Signature { return n.graph.Signatures() }

// SecretKeys returns the keys of the files of secrets, with their places. Nothing is decrypted.
func (n Names) SecretKeys() map[string]schema.Pos { return n.graph.SecretKeys() }

// Value computes one expression without secrets. ok is false where it has a fault, or reads a
// secret. Only one goroutine may call it, since it computes with the graph.
func (n Names) Value(src string) (v any, ok bool) { return n.graph.Eval("expression", n.dir, src) }

// Variable returns the declaration of a variable: its place, the word of its type and its doc. ok is false for an unknown one.
func (n Names) Variable(name string) (d expand.Declared, ok bool) { return n.graph.Variable(name) }

// Input returns the declaration of an input of a module, as Variable does. ok is false in a graph, which has none.
func (n Names) Input(name string) (d expand.Declared, ok bool) { return n.graph.Input(name) }

// Modules returns the modules that a graph uses, by the names of their instances, each with its description and its folder.
func (n Names) Modules() []expand.Used { return n.graph.Used() }

// DataAt returns the places that have a key of the data, the most exact layer first.
func (n Names) DataAt(key string) (at []schema.Pos) {
	sources, _, _, _ := n.graph.ExplainData(key)
	for _, s := range sources {
		at = append(at, s.Pos)
	}
	return at
}
