package yaml

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Documents reads the documents of a folder other than graphs, in each notation of the table,
// such as the definitions of types, in the order of their names. All their faults are
// reported; the nodes are of the readable ones.
// Hidden files are left out, and subfolders are not entered. A folder that can't be read, or
// has no such file, is a finding. MaxBytes bounds all files together.
func Documents(dir string, o Options) ([]*schema.Node, schema.Diagnostics) {
	g := &loading{loader: newFiles(dir, o, nil), ctx: context.Background(), left: o.maxBytes()}
	entries, err := g.readDir(dir)
	if err != nil {
		return nil, one(schema.Pos{File: dir}, "%v", safepath.WithoutPath(err))
	}
	var nodes []*schema.Node
	var found schema.Findings
	n := 0
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || !NotationOf(name).IsDocument() {
			continue
		}
		n++
		node, ds := g.document(filepath.Join(dir, name), o)
		found.Add(ds...)
		if node != nil {
			nodes = append(nodes, node)
		}
	}
	if n == 0 {
		found.Errorf(schema.Pos{File: dir}, "the folder has no %s file", documentPatterns())
	}
	return nodes, found.All()
}

// document reads one file.
// An empty file is an error, in words that do not speak of graphs.
func (g *loading) document(path string, o Options) (*schema.Node, schema.Diagnostics) {
	src, err := g.regular(path)
	if err != nil {
		return nil, one(schema.Pos{File: path}, "%v", safepath.WithoutPath(err))
	}
	n, ds := parse(path, src)
	if n == nil && len(ds) == 1 && ds[0].Message == emptyGraph {
		ds[0].Message = "the file is empty"
	}
	if o.Ours != nil && g.private(path) {
		return Discreet(path, n, ds, o.Ours, o.Form)
	}
	return n, ds
}
