package yaml

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// closure takes the files that a graph may read on another machine, where conditions have other outcomes and names other values. It looks
// at the text of the documents alone, and computes nothing:
//
//   - each folder of a module is taken as a whole, also of a module that a condition leaves out here;
//   - in a path of data or of include, an expression stands for any text;
//   - a template or a file that an expression names by a text is taken, whether the expression is reached here or not. A name that begins
//     with a text stands for all files whose path begins so.
//
// A missing file may be right, since another condition may rule it out. The graph that the caller builds of the files tells the ones that
// this machine lacks. A file that is there and can't be taken is an error: the hosts that need it would miss it.
type closure struct {
	g *loading
	// All sets are of one call of Files, in one goroutine.
	seen map[string]bool // the files that were taken, and the folders of modules, by cleaned path
	docs map[string]bool // the documents whose files were taken, by cleaned path
	any  bool            // the files in hand fit a name that is an expression as a whole, so they may be others than the graph's
}

// document takes the files that a document names. Its relative paths begin at a folder. Of a document that was read here, the paths
// without an expression were read, too, and their faults are told.
func (c *closure) document(dir string, root *schema.Node, read bool) {
	for _, item := range itemsOf(root.Get("use")) {
		if n := item.Get("module"); n != nil && n.Text != "" {
			c.module(at(dir, n.Text), n.Pos)
		}
	}
	for _, item := range itemsOf(root.Get("data").Get("files")) {
		if !read || expr.Has(item.Text) {
			c.pattern(dir, item, false)
		}
	}
	for _, item := range itemsOf(root.Get("secrets")) {
		for _, p := range item.Pairs {
			if p.Value.Kind == schema.NodeString {
				c.file(at(dir, p.Value.Text), p.Value.Pos)
			}
		}
	}
	for _, item := range includesOf(root.Get("include")) {
		if !read || expr.Has(item.Text) {
			for _, path := range c.pattern(dir, item, true) {
				c.included(path)
			}
		}
	}
	c.expressions(dir, root)
}

// itemsOf returns the items of a list; nil is an empty one.
// Any other node counts as an empty list too: the loader has reported it.
func itemsOf(n *schema.Node) []*schema.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// includesOf returns the paths of an include: a list, or one path.
func includesOf(n *schema.Node) (paths []*schema.Node) {
	items := itemsOf(n)
	if n != nil && n.Kind == schema.NodeString {
		items = []*schema.Node{n}
	}
	for _, item := range items {
		if item.Kind == schema.NodeString && item.Text != "" {
			paths = append(paths, item)
		}
	}
	return paths
}

// at returns a path that is relative to a folder.
// An absolute path has no file on a host: see errElsewhere.
func at(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// included takes the files that another document names, such as a document that only other
// machines include. The documents that were read here have brought theirs.
func (c *closure) included(path string) {
	path = filepath.Clean(path)
	if c.docs[path] {
		return
	}
	c.docs[path] = true
	c.named(path)
}

// named takes the files that a document names.
func (c *closure) named(path string) {
	src, err := c.g.regular(path)
	if err != nil {
		return
	}
	// Its faults are told on the machine that includes it.
	if root, ds := Document(path, src); root != nil && ds.Err() == nil {
		c.document(filepath.Dir(path), root, false)
	}
}

// module takes the folder of a module, and the files that the module names.
func (c *closure) module(dir string, from schema.Pos) {
	// A file and a folder may have one name in these sets, so a folder ends with a slash.
	if c.seen[dir+"/"] {
		return // also a module that uses itself
	}
	c.seen[dir+"/"] = true
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			c.refuse(path, from, err)
			return nil
		// Hidden files and folders, such as .git, belong to no module. The folder itself may be
		// hidden.
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), "."):
			c.file(path, from)
		}
		return nil
	})
	c.named(filepath.Join(dir, expand.ModuleFile))
}

// file takes a file, once. Of a template, the files are taken that it names.
// The bounds are those of the loader: maxFiles, and MaxBytes for all files together.
func (c *closure) file(path string, from schema.Pos) {
	path = filepath.Clean(path)
	if c.seen[path] {
		return
	}
	c.seen[path] = true
	if c.g.files++; c.g.files > maxFiles {
		if c.g.files == maxFiles+1 {
			c.refuse(path, from, fmt.Errorf("the graph has more than %d files", maxFiles))
		}
		return
	}
	src, err := c.g.regular(path)
	if err != nil {
		c.refuse(path, from, err)
		return
	}
	c.g.taken(path, src)
	// A template of Go calls other files by paths that are relative to its own folder.
	if strings.Contains(string(src), "{{") {
		for _, m := range calledInTemplate.FindAllStringSubmatch(string(src), -1) {
			c.file(at(filepath.Dir(path), m[2]), schema.Pos{File: path})
		}
	}
}

// refuse reports a file that is there and can't be taken, at the place that names it. A missing
// file makes no error here, and neither does a file that only a whole expression fits.
func (c *closure) refuse(path string, from schema.Pos, err error) {
	if !c.any && !errors.Is(err, fs.ErrNotExist) {
		c.g.errs.Errorf(from, "can't take %s along: %v", path, safepath.WithoutPath(err))
	}
}

// pattern takes the files of a path in which an expression stands for any text, and returns them.
// An expression without an end gives nothing, since the loader reports it.
func (c *closure) pattern(dir string, n *schema.Node, folders bool) []string {
	pieces, fault := expr.Split(n.Text)
	if fault != nil {
		return nil
	}
	if pieces == nil {
		pieces = []expr.Piece{{Text: n.Text}}
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.Source {
			b.WriteString("*")
			continue
		}
		b.WriteString(escapeGlob(p.Text))
	}
	return c.glob(dir, b.String(), n.Pos, folders)
}

// glob takes the files that a pattern matches, and returns them. With folders, a folder stands for the graphs in it.
func (c *closure) glob(dir, pattern string, from schema.Pos, folders bool) (taken []string) {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(escapeGlob(dir), pattern)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	// An unknown name fits every file in the folder, unreadable ones too.
	c.any = filepath.Base(pattern) == "*"
	defer func() { c.any = false }()
	for _, path := range paths {
		info, err := c.g.stat(path)
		switch {
		case err != nil:
		case info.Mode().IsRegular():
			c.file(path, from)
			taken = append(taken, path)
		case info.IsDir() && folders:
			for _, graph := range c.graphs(path) {
				c.file(graph, from)
				taken = append(taken, graph)
			}
		}
	}
	return taken
}

// graphs returns the paths of the graphs in a folder.
func (c *closure) graphs(dir string) (paths []string) {
	entries, err := c.g.readDir(dir)
	if err != nil {
		return nil // the machine that includes it tells that
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := c.g.stat(path); IsGraphName(e.Name()) && err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths
}

// escapeGlob returns a text as a pattern that matches it alone.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

// The calls that name a file, in an expression and in a template. The third group of the first one tells a name that goes on.
var (
	// A text with a backslash is left out: it would have to be unquoted first.
	called           = lazyregexp.New(`\b(?:template|read)\(\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*([+]?)`)
	calledInTemplate = lazyregexp.New(`\b(template|read)\s+["` + "`" + `]([^"` + "`" + `\\]*)["` + "`" + `]`)
)

// expressions takes the files that expressions name.
// A name that is computed as a whole gives nothing. The files that this machine reads by it
// were taken already.
func (c *closure) expressions(dir string, root *schema.Node) {
	for n := range root.All() {
		if n.Kind != schema.NodeString || !expr.Has(n.Text) {
			continue
		}
		for _, m := range called.FindAllStringSubmatch(n.Text, -1) {
			name := m[1] + m[2]
			switch {
			case m[3] == "":
				c.file(at(dir, name), n.Pos)
			case name != "":
				c.glob(dir, escapeGlob(name)+"*", n.Pos, false)
			}
		}
	}
}
