package yaml

import (
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// IsModule reports whether a document is that of a module. No graph has the key module at its top.
// The key's value has to be a text.
func IsModule(root *schema.Node) bool {
	name := root.Get("module")
	return name != nil && name.Kind == schema.NodeString
}

// IsGraph reports whether a document declares something, and is neither a module nor a file of tests. Both may have the keys graph and comment.
func IsGraph(root *schema.Node) bool {
	return root != nil && declares(root) && !IsModule(root) && root.Get("tests") == nil
}

// declares recognises a graph by the keys that a file of tests never has.
var declares = gapi.HasKey("resources", "include", "use", "edges", "collect")

// testEnding ends the names of files that test graphs, before the first extension of a notation.
const testEnding = "_test"

// IsTest reports whether a path is that of a file with tests.
func IsTest(path string) bool {
	n := NotationOf(path)
	return n.Folder && strings.HasSuffix(path, testEnding+n.Extensions[0])
}

// TestsOf returns the name of the file with the tests of a graph. It is next to the graph, and in YAML where no file of tests has the
// notation of the graph. It only computes the name: the file need not be there.
func TestsOf(graph string) string {
	n := NotationOf(graph)
	if !n.Folder {
		n = Notations()[0]
	}
	return strings.TrimSuffix(graph, filepath.Ext(graph)) + testEnding + n.Extensions[0]
}

// mistaken returns the fault of a module or a file of tests in the place of a graph; empty for any other document. A list of its unknown
// keys would help its author less.
func mistaken(file string, root *schema.Node) string {
	tests := root.Get("tests")
	switch {
	case IsModule(root):
		dir := filepath.Dir(file)
		return "this is a module, not a graph: a graph takes it with use: [{module: FOLDER}]; mgmt validate " + dir + " checks it, and mgmt test " + dir + " runs its tests"
	case tests != nil && tests.Kind == schema.NodeList && root.Get("resources") == nil:
		return "this is a file of tests, not a graph: mgmt test " + file + " runs it"
	}
	return ""
}

// aloneFile is the name of the graph that uses a module and nothing else. It is only in memory.
const aloneFile = "use of the module"

// ModuleAlone reads the module in a folder as a graph that uses it alone, with the defaults of its inputs. It may refer
// to resources outside the module. The error is that of Load.
// Nothing is written to the disk for it. Partial has Build bear references to the outside.
func ModuleAlone(dir string, o Options) (*gapi.Declared, error) {
	path := filepath.Join(dir, aloneFile)
	o.Overlay = func(name string) ([]byte, bool) { return []byte("use: [{module: .}]\n"), name == path }
	d, err := Load(path, o, nil)
	if d != nil {
		d.Partial = true
	}
	return d, err
}

// ModuleAt returns the folder of the module that a path names: the folder itself, or its module.yaml. It is empty for every other path, and
// where the file can't be read.
// It reads the file, by the Source and within the bounds of the options.
func ModuleAt(path string, o Options) string {
	if path == "" || path == "-" {
		return ""
	}
	dir := path
	if filepath.Base(path) == expand.ModuleFile {
		dir = filepath.Dir(path)
	}
	file := filepath.Join(dir, expand.ModuleFile)
	src, err := newLoading(file, o).regular(file)
	if err != nil {
		return ""
	}
	if root, ds := Document(file, src); ds.Err() != nil || root == nil || !IsModule(root) {
		return ""
	}
	return dir
}
