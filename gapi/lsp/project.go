package lsp

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// root is a graph, a module or a file of tests that is checked as a whole.
type root struct {
	path  string
	named bool // by the command line: it stays when nothing of it is open
	dirty bool
	last  *checked // the last check; nil before the first one
	good  *checked // the last check that could read resources
}

// checked is what one check of a root has found. Only texts changes later, and belongs to the loop.
type checked struct {
	root     string
	docs     map[string]*open // the open documents at that time
	paths    map[string]bool  // the files that were read
	found    schema.Diagnostics
	declared *gapi.Declared // nil where there is none

	from  gapi.Source      // reads texts
	texts map[string]*text // of files that are not open, by path; the value is nil for an unreadable file
}

// root returns the root of this path.
func (s *server) root(path string) *root {
	r := s.roots[path]
	if r == nil {
		r = &root{path: path}
		s.roots[path] = r
	}
	return r
}

// graphLike recognises the text of a file that is meant as a graph. Other files, such as those of docker compose, have no findings.
var graphLike = lazyregexp.New(`(?m)^(?:\[{1,2} *)?(graph|resources|include|edges|use|vars|collect) *[:=.\]]`)

// belongs has the roots of an open document checked, and finds a root for a new document. A graph that reads the document counts before the
// document itself: an included file alone would have references to nothing.
func (s *server) belongs(key string, opened bool) {
	// A new edit counts for every graph that has read the document.
	found := false
	for _, r := range s.roots {
		if r.path == key || r.last != nil && r.last.paths[key] {
			found = true
			s.changed(r.path)
		}
	}
	switch base := filepath.Base(key); {
	case found, !filepath.IsAbs(key):
	case base == expand.ModuleFile, yaml.IsTest(key):
		s.changed(s.root(key).path)
		if graph := s.tested(key); opened && yaml.IsTest(key) && textOf(s.from, graph, yaml.DefaultMaxBytes) != nil && s.graph(key) == nil {
			s.changed(s.root(graph).path)
		}
	default:
		// The search reads other files, so a keystroke does not repeat it.
		owner := ""
		if opened {
			owner = s.owner(key)
		}
		if owner != "" {
			s.changed(s.root(owner).path)
		} else if graphLike.MatchString(s.docs[key].text.src) {
			s.changed(s.root(key).path)
		}
	}
}

// The bounds of the search for the graph that reads a file.
const (
	maxCandidates = 100
	maxCandidate  = 1 << 20 // bytes
)

// owner returns the graph that reads a file, empty for none. It looks in the folder of the file and in those around it, up to the folder of the
// workspace. It reads at most a hundred files of up to 1 MiB, since a person waits for it.
func (s *server) owner(path string) string {
	top := filepath.Dir(path)
	for _, f := range s.folders {
		if rel, err := filepath.Rel(f, path); err == nil && !strings.HasPrefix(rel, "..") {
			top = f
		}
	}
	// Links and the parent of the root would make this endless, so it ends at the workspace or at the top.
	tries := 0
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		entries, _ := s.list(dir) // a folder that can't be read has no candidates
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if name == path || !e.Type().IsRegular() || !yaml.NotationOf(name).Folder || yaml.IsTest(name) || e.Name() == expand.ModuleFile {
				continue
			}
			if tries++; tries > maxCandidates {
				return ""
			}
			if s.reads(name, path) {
				return name
			}
		}
		if dir == top || dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// reads reports whether a graph reads a file.
func (s *server) reads(graph, path string) bool {
	src := ""
	if d := s.docs[graph]; d != nil {
		src = d.text.src
	} else if t := textOf(s.from, graph, maxCandidate); t != nil {
		src = t.src
	}
	// Only these words make a graph read another file.
	if !slices.ContainsFunc([]string{"include", "use", expr.Open, "data", "secrets"}, func(w string) bool { return strings.Contains(src, w) }) {
		return false
	}
	reading := yaml.NewReader(graph, s.options(s.docs)).Read(context.Background())
	return slices.Contains(reading.Paths, path)
}

// options returns how graphs are read while these documents are open. Secrets are unknown values.
func (s *server) options(docs map[string]*open) yaml.Options {
	o := s.o.YAML
	o.Source.Asker = s.from.Asker
	o.Overlay, o.Registry = overlay(docs), s.o.Kinds
	o.Blind, o.Unseal, o.Credentials, o.Secret, o.Program = true, nil, "", nil, nil
	return o
}

// overlay puts the texts of open documents in the place of files.
func overlay(docs map[string]*open) func(string) ([]byte, bool) {
	return func(path string) ([]byte, bool) {
		d := docs[filepath.Clean(path)]
		if d == nil {
			return nil, false
		}
		return []byte(d.text.src), true
	}
}

// changed has a root checked after the next pause of the keyboard. Each keystroke begins the pause anew.
func (s *server) changed(path string) {
	s.roots[path].dirty = true
	if s.stop != nil {
		s.stop()
	}
	s.due, s.stop = clock.After(s.o.Clock, s.o.Debounce)
}

// changedAll has all roots checked: a file that is not open was saved, made or removed, and any graph may read it.
func (s *server) changedAll() {
	for path := range s.roots {
		s.changed(path)
	}
}

// check begins the check of one root that needs it, unless another one runs. Its goroutine gets a copy of the list of open documents, whose
// texts are immutable. Its result comes by s.results, which has room for it.
func (s *server) check(ctx context.Context) {
	if s.busy || s.due != nil {
		return
	}
	for _, path := range sorted(s.roots) {
		r := s.roots[path]
		if !r.dirty {
			continue
		}
		r.dirty, s.busy = false, true
		// The check has a list of its own: the loop goes on to alter that of the session.
		docs := make(map[string]*open, len(s.docs))
		maps.Copy(docs, s.docs)
		reader := yaml.NewReader(path, s.options(docs))
		go func() { s.results <- s.judge(ctx, reader, path, docs) }()
		return
	}
}

// judge checks one root. It runs on a goroutine of its own, and touches no state of the session. A panic leaves the root unchecked.
func (s *server) judge(ctx context.Context, reader *yaml.Reader, path string, docs map[string]*open) (c *checked) {
	c = &checked{root: path, docs: docs, paths: map[string]bool{path: true}, from: s.from, texts: map[string]*text{}}
	err := callsafe.Do("check", func() error {
		switch {
		case yaml.IsTest(path):
			c.found = s.judgeTests(path, docs)
		case filepath.Base(path) == expand.ModuleFile:
			c.declared = &gapi.Declared{}
			_, c.found = yaml.Module(filepath.Dir(path), s.options(docs))
		default:
			s.judgeGraph(ctx, reader, c)
		}
		if s.o.Words != nil {
			c.found = s.o.Words(c.found)
		}
		return nil
	})
	if err != nil {
		s.o.Log.Error("a check panicked", "graph", path, "error", err)
		c.found = schema.Diagnostics{{Pos: schema.Pos{File: path}, Message: "the program has a fault: the check of this graph panicked"}}
	}
	return c
}

// judgeGraph reads a graph and collects the findings of mgmt validate.
func (s *server) judgeGraph(ctx context.Context, reader *yaml.Reader, c *checked) {
	reading := reader.Read(ctx)
	for _, p := range reading.Paths {
		c.paths[filepath.Clean(p)] = true
	}
	d, err := reading.Result()
	switch ds, ok := errors.AsType[schema.Diagnostics](err); {
	case ok:
		c.found = ds
	case err != nil:
		c.found = schema.Diagnostics{{Pos: schema.Pos{File: c.root}, Message: err.Error()}}
	default:
		c.declared = d
		// As validate does, for the same notes.
		asked := *d
		asked.Thorough = true
		c.found = s.o.Check(&asked)
	}
}

// judgeTests reads a file of tests, and runs none.
func (s *server) judgeTests(path string, docs map[string]*open) schema.Diagnostics {
	src, ok := overlay(docs)(path)
	if !ok {
		return nil
	}
	n, ds := yaml.Document(path, src)
	if n == nil || ds.Err() != nil || s.o.Tests == nil {
		return ds
	}
	return append(ds, s.o.Tests(n)...)
}

// take keeps the outcome of a check, and tells the editor of it. The last readable graph is kept, so completion still knows
// the resources while a text is being typed.
func (s *server) take(c *checked) {
	r := s.roots[c.root]
	if r == nil { // closed in the meantime
		return
	}
	r.last = c
	if c.declared != nil && (len(c.declared.Resources) > 0 || c.alone()) {
		r.good = c
	}
	// A file that this graph reads is judged as a part of it from now on, and not by itself any more.
	for path, other := range s.roots {
		if path != c.root && c.paths[path] && !other.named && filepath.Base(path) != expand.ModuleFile {
			delete(s.roots, path)
		}
	}
	s.publish()
}

// publish tells the editor all findings, by file. A file whose findings have gone gets an empty list: an editor keeps findings until then.
func (s *server) publish() {
	// The lists of all roots are joined: an editor replaces all findings of a document at once.
	lists := map[string][]diagnostic{}
	seen := map[string]bool{}
	for _, path := range sorted(s.roots) {
		c := s.roots[path].last
		if c == nil {
			continue
		}
		for _, f := range c.found {
			uri, d := s.diagnostic(c, f)
			// A file may belong to two graphs that find the same.
			if key := uri + "\x00" + f.String(); !seen[key] {
				seen[key] = true
				lists[uri] = append(lists[uri], d)
			}
		}
	}
	// Findings that have gone are taken back.
	for uri := range s.told {
		if lists[uri] == nil {
			lists[uri] = []diagnostic{}
		}
	}
	// An open document without findings gets an empty list, so an editor knows that it was checked.
	for _, d := range s.docs {
		if lists[d.uri] == nil && s.last(keyOf(d.uri)) != nil {
			lists[d.uri] = []diagnostic{}
		}
	}
	for _, uri := range sorted(lists) {
		p := published{URI: uri, Diagnostics: lists[uri]}
		if d := s.docs[keyOf(uri)]; d != nil {
			p.Version = &d.version
		}
		if s.told[uri] = len(lists[uri]) > 0; !s.told[uri] {
			delete(s.told, uri)
		}
		s.notify("textDocument/publishDiagnostics", p)
	}
}

// last returns the last check of a root that a file belongs to, nil for none.
func (s *server) last(path string) *checked {
	for _, p := range sorted(s.roots) {
		if c := s.roots[p].last; c != nil && c.paths[path] {
			return c
		}
	}
	return nil
}

// graph returns the last graph that a file belongs to and that had resources. A module that no known graph uses is its own. It is nil for none.
func (s *server) graph(path string) *checked {
	// A file of tests sees the resources of the graph that it tests.
	if yaml.IsTest(path) {
		if path = s.tested(path); path == "" {
			return nil
		}
	}
	var module *checked
	for _, p := range sorted(s.roots) {
		switch c := s.roots[p].good; {
		case c == nil || !c.paths[path] && p != path:
		case c.alone():
			module = c
		default:
			return c
		}
	}
	return module
}

// alone reports whether this is the check of a module by itself, which has no resources.
func (c *checked) alone() bool { return filepath.Base(c.root) == expand.ModuleFile }

// severities are those of the protocol, by schema.Severity.
var severities = map[schema.Severity]int{schema.Error: 1, schema.Warning: 2, schema.Note: 3}

// diagnostic puts a finding into the words of the protocol. One without a file is about the root.
func (s *server) diagnostic(c *checked, f schema.Diagnostic) (uri string, d diagnostic) {
	if f.Pos.File == "" {
		f.Pos.File = c.root
	}
	l := c.location(f.Pos)
	d = diagnostic{Range: l.Range, Severity: severities[f.Severity], Code: f.Class, Source: "mgmt", Message: f.Message}
	if f.Suggestion != "" {
		d.Message += ` (did you mean "` + f.Suggestion + `"?)`
		d.Data = &fix{f.Suggestion}
	}
	for _, r := range f.Related {
		if r.Pos.File != "" {
			d.Related = append(d.Related, relatedInfo{c.location(r.Pos), r.Message})
		}
	}
	return l.URI, d
}

// location returns the place of a finding, up to the end of the word there.
func (c *checked) location(p schema.Pos) location {
	path := filepath.Clean(p.File)
	uri := uriOf(path)
	d := c.docs[path]
	if d != nil {
		uri = d.uri
	}
	t := c.text(path)
	if p.Line == 0 || t == nil {
		return location{URI: uri}
	}
	from, to := t.word(t.offsetOf(p))
	return location{uri, t.span(from, to)}
}

// text returns the text of a file as the check has seen it, or as it is on the disk. It is nil for an unreadable file. A file is read once for
// each check, since a thousand findings may be about it.
func (c *checked) text(path string) *text {
	if d := c.docs[path]; d != nil {
		return d.text
	}
	t, known := c.texts[path]
	if !known {
		t = textOf(c.from, path, yaml.DefaultMaxBytes)
		c.texts[path] = t
	}
	return t
}

// list lists a folder.
func (s *server) list(dir string) ([]os.DirEntry, error) {
	return s.from.Asker.ReadDir(context.Background(), s.from, dir)
}

// textOf reads a file, nil where that can't be read or has more than so many bytes.
func textOf(from gapi.Source, path string, most int64) *text {
	src, err := from.ReadRegular(context.Background(), path, most, "")
	if err != nil {
		return nil
	}
	return newText(string(src))
}
