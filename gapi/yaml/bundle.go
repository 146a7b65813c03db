package yaml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// LoadFiles reads a graph from files in memory: the graph and its includes. Nothing is
// read from the disk. Names are relative paths, and the findings have them. The error is that of Load. It is called for graphs that
// come from another machine, so no finding shows a content.
func LoadFiles(graph string, files map[string][]byte, o Options) (*gapi.Declared, error) {
	return ReadFiles(graph, files, o).Result()
}

// ReadFiles is LoadFiles for a caller that reads the same files again where the facts have changed. Reading.Facts says whether the
// graph reads any, and equal states stand for equal graphs. Its Paths mean nothing.
func ReadFiles(graph string, files map[string][]byte, o Options) gapi.Reading {
	l := newFiles(graph, o, nil)
	l.mem = files
	return l.load(context.Background()).reading()
}

// Files reads a graph as Load does, and hands over each file that belongs to it, by the path at which it was read. Standard
// input is "stdin". Files that the graph may read on other machines alone come, too: see closure.
// It is called by the verb deploy. The function take must not alter a source, since the graph
// is read from it.
func Files(path string, o Options, stdin io.Reader, take func(path string, src []byte)) (*gapi.Declared, error) {
	l := newFiles(path, o, stdin)
	seen := map[string]bool{}
	l.taken = func(path string, src []byte) {
		seen[filepath.Clean(path)] = true
		take(path, src)
	}
	g := l.load(context.Background())
	// The main reading is done, so all that it has taken counts as read.
	c := closure{g: g, seen: seen, docs: maps.Clone(seen)}
	for _, d := range g.docs {
		c.document(d.Dir, d.Root, true)
	}
	return g.result()
}

// errElsewhere tells of a file that did not come with the graph.
var errElsewhere = errors.New("it is not among the files that came with the graph; what a graph includes is named by a relative path")

// inMemory takes a file of the map, or the graphs of a folder by name.
// A name that goes above the map's root is not in the map, and so can't reach the disk.
func (g *loading) inMemory(path string, from schema.Pos) {
	path = filepath.ToSlash(filepath.Clean(path))
	src, ok := g.mem[path]
	before, again := g.found[path]
	var graphs []string
	if !ok {
		graphs = g.graphsInMemory(path)
	}
	switch {
	case len(graphs) > 0:
		for _, graph := range graphs {
			g.inMemory(graph, from)
		}
	case !ok:
		g.fail(path, from, errElsewhere)
	case again:
		d := schema.Diagnostic{Pos: orFile(from, path), Message: fmt.Sprintf("%s is read already, a file can be included once", path)}
		d.Related = []schema.Related{{Pos: before, Message: "first read here"}}
		g.errs.Add(d)
	default:
		g.found[path] = orFile(from, path)
		g.source(path, filepath.Dir(path), src, true)
	}
}

// graphsInMemory returns the graphs of the map that are in a folder, sorted; none for the path of a file.
func (g *loading) graphsInMemory(dir string) (graphs []string) {
	for name := range g.mem {
		if path.Dir(name) == dir && IsGraphName(path.Base(name)) {
			graphs = append(graphs, name)
		}
	}
	slices.Sort(graphs)
	return graphs
}
