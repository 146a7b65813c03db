package lsp

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// written is a place that names a resource as it stands in a file. The graph of the last check has no reference of a resource that a condition
// or an empty loop leaves out, and a file of tests belongs to no graph, so the files themselves are searched.
type written struct {
	path        string
	text        *text
	from, to    int // of the name
	begin, end  int // of the scalar with the name
	holder      int // where the key or the map with the scalar begins, which the graph may have as the place; else begin
	declaration bool
	escaped     bool // the name does not stand as it is: from and to mean nothing
}

// pos returns the place of the scalar, for a message.
func (w *written) pos() schema.Pos {
	line := int32(w.text.position(w.begin).Line)
	col := int32(len([]rune(w.text.src[w.text.lines[line]:w.begin])))
	return schema.Pos{File: w.path, Line: line + 1, Col: col + 1}
}

// places returns every place that names a resource: in the files of its graph, and in the files of tests of that.
func (s *server) places(c *checked, r schema.Ref) (all []written) {
	for _, path := range append(sorted(c.paths), s.testsOf(c.root)...) {
		t := c.text(path)
		if d := s.docs[path]; d != nil {
			t = d.text
		}
		if t != nil && yaml.NotationOf(path).Folder {
			all = append(all, writtenIn(path, t, r)...)
		}
	}
	return all
}

// testsOf returns the files of tests that name a graph: those that are open, and those in its folder, of which it reads a hundred at most.
func (s *server) testsOf(root string) (list []string) {
	// A new file of tests may be open and not be saved yet, so the folder alone would miss it.
	var names []string
	for path := range s.docs {
		names = append(names, path)
	}
	dir := filepath.Dir(root)
	entries, _ := s.list(dir) // a folder that can't be read has no tests
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(names)
	tries := 0
	for _, path := range slices.Compact(names) {
		if !yaml.IsTest(path) {
			continue
		}
		if tries++; tries > maxCandidates {
			break
		}
		if s.tested(path) == root {
			list = append(list, path)
		}
	}
	return list
}

// tested returns the graph that a file of tests names, empty for none.
func (s *server) tested(path string) string {
	var t *text
	if d := s.docs[path]; d != nil {
		t = d.text
	} else if t = textOf(s.from, path, maxCandidate); t == nil {
		return ""
	}
	// A person may be typing in the file, so the line counts and not the document.
	for n := range t.lines {
		if l := cut(t.line(n)); l.key == "graph" && l.column == 0 {
			name, _, _ := strings.Cut(l.value, " #")
			if name = strings.Trim(strings.TrimSpace(name), `"'`); name == "" {
				return ""
			}
			if filepath.IsAbs(name) {
				return filepath.Clean(name)
			}
			return filepath.Join(filepath.Dir(path), name)
		}
	}
	return ""
}

// finder searches one file for the places that name a resource.
type finder struct {
	path   string
	text   *text
	ref    schema.Ref
	sent   *regexp.Regexp // a call of sent with the resource, in a source
	starts []int          // the offsets of all keys and values, in order
	all    []written

	holder int // the offset of the key or the map with the scalars that are read now, if held
	held   bool
}

// within reads scalars that a key or a map at a place holds.
func (s *finder) within(pos schema.Pos, read func()) {
	s.holder, s.held = s.text.offsetOf(pos), true
	read()
	s.held = false
}

// quotes are those of a text in an expression, as the styles of a scalar write them.
const quotes = `(?:\\"|''|['"])`

// anySent finds the calls of sent, and plainSent those whose argument is written out.
var (
	anySent   = lazyregexp.New(`\bsent\(`)
	plainSent = lazyregexp.New(`\bsent\(\s*(?:'[^']*'|"[^"]*")\s*\)`)
)

// writtenIn returns the places of a file that name a resource. A file outside of YAML has none.
func writtenIn(path string, t *text, r schema.Ref) []written {
	if !strings.Contains(t.src, r.Name) {
		return nil // most files do not name most resources
	}
	root, _ := yaml.Document(path, []byte(t.src))
	if root == nil {
		return nil
	}
	// The places come from the tree, and the characters from the text: a tree has no quotes and no escapes.
	s := &finder{path: path, text: t, ref: r}
	s.sent = regexp.MustCompile(`\bsent\(\s*` + quotes + `((?i:` + regexp.QuoteMeta(r.Kind) + `)\[)` + regexp.QuoteMeta(r.Name) + `\]\.`)
	s.index(root)
	slices.Sort(s.starts)
	s.document(root)
	s.expressions(root)
	return s.all
}

// index notes where keys and values begin.
func (s *finder) index(n *schema.Node) {
	s.starts = append(s.starts, s.text.offsetOf(n.Pos))
	for _, i := range n.Items {
		s.index(i)
	}
	for _, p := range n.Pairs {
		s.starts = append(s.starts, s.text.offsetOf(p.Pos))
		s.index(p.Value)
	}
}

// region returns the part of the text that begins at a place and ends where the next key or value begins.
func (s *finder) region(pos schema.Pos) (begin, end int) {
	begin, end = s.text.offsetOf(pos), len(s.text.src)
	if i, _ := slices.BinarySearch(s.starts, begin+1); i < len(s.starts) {
		end = s.starts[i]
	}
	return begin, end
}

// add adds a place once: an alias leads to its anchor again.
func (s *finder) add(w written) {
	w.path, w.text = s.path, s.text
	if w.holder = w.begin; s.held {
		w.holder = s.holder
	}
	if !slices.Contains(s.all, w) {
		s.all = append(s.all, w)
	}
}

// document reads the keys at the top of a graph, a module or a file of tests.
func (s *finder) document(root *schema.Node) {
	s.kinds(root.Get("resources"), true)
	for _, e := range itemsOf(root.Get("edges")) {
		s.end(e.Get("from"))
		s.end(e.Get("to"))
	}
	if !yaml.IsTest(s.path) {
		return
	}
	for _, test := range itemsOf(root.Get("tests")) {
		s.kinds(test.Get("machine"), false)
		for _, step := range itemsOf(test.Get("steps")) {
			s.kinds(step.Get("drift"), false)
			s.kinds(step.Get("expect"), false)
			for _, key := range expectKeys {
				s.references(step.Get("expect").Get(key))
			}
			if fail := step.Get("fail"); fail != nil {
				for _, p := range fail.Pairs {
					s.reference(p.Key, p.Pos)
				}
			}
		}
	}
}

// itemsOf returns the entries of a list, none of anything else.
func itemsOf(n *schema.Node) []*schema.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// kinds reads resources by their kinds. Those of a test are no declarations.
func (s *finder) kinds(n *schema.Node, declared bool) {
	if n == nil {
		return
	}
	for _, p := range n.Pairs {
		for _, item := range p.Value.Items {
			if strings.EqualFold(p.Key, s.ref.Kind) {
				s.name(item.Get("name"), declared)
			}
			if !declared {
				continue
			}
			for _, key := range referenceKeys {
				s.references(item.Get(key))
			}
			if recv := item.Get("recv"); recv != nil {
				for _, from := range recv.Pairs {
					s.within(from.Pos, func() { s.references(from.Value) })
				}
			}
		}
	}
}

// end reads one end of an edge: a reference, or a map with the kind and the name.
func (s *finder) end(n *schema.Node) {
	if n == nil {
		return
	}
	// A graph has the place of the map for such an end, and not that of the name.
	if kind := n.Get("kind"); kind != nil && strings.EqualFold(kind.Text, s.ref.Kind) {
		s.within(n.Pos, func() { s.name(n.Get("name"), false) })
	}
	s.references(n)
}

// name takes a scalar that is the name of the resource.
func (s *finder) name(n *schema.Node, declared bool) {
	if n == nil || n.Items != nil || n.Pairs != nil || n.Text != s.ref.Name {
		return
	}
	begin, end := s.region(n.Pos)
	w := written{begin: begin, end: end, declaration: declared}
	w.from = begin + s.quote(begin)
	w.to = w.from + len(s.ref.Name)
	w.escaped = !strings.HasPrefix(s.text.src[w.from:end], s.ref.Name)
	s.add(w)
}

// quote is the length of the quote that begins a scalar.
func (s *finder) quote(begin int) int {
	if begin < len(s.text.src) && (s.text.src[begin] == '"' || s.text.src[begin] == '\'') {
		return 1
	}
	return 0
}

// references reads a reference, or a list of them.
func (s *finder) references(n *schema.Node) {
	if n == nil {
		return
	}
	s.reference(n.Text, n.Pos)
	for _, i := range n.Items {
		s.references(i)
	}
}

// reference takes a scalar that refers to the resource, with a key behind it or without.
func (s *finder) reference(value string, pos schema.Pos) {
	r, err := schema.ParseRef(value)
	if err != nil || !strings.EqualFold(r.Kind, s.ref.Kind) || r.Name != s.ref.Name {
		return
	}
	begin, end := s.region(pos)
	w := written{begin: begin, end: end}
	w.from = begin + s.quote(begin) + len(r.Kind) + 1
	w.to = w.from + len(r.Name)
	w.escaped = w.to >= end || s.text.src[w.from-1] != '[' || !strings.HasPrefix(s.text.src[w.from:end], r.Name+"]")
	s.add(w)
}

// expressions takes the calls of sent in all scalars below a node. A scalar has any number of them.
func (s *finder) expressions(n *schema.Node) {
	for _, i := range n.Items {
		s.expressions(i)
	}
	for _, p := range n.Pairs {
		s.expressions(p.Value)
	}
	if n.Kind != schema.NodeString || !expr.Has(n.Text) {
		return
	}
	want := 0
	pieces, _ := expr.Split(n.Text)
	for _, p := range pieces {
		if p.Source {
			want += len(s.sent.FindAllStringIndex(p.Text, -1))
		}
	}
	if want == 0 {
		return
	}
	// The text between the marks may be folded or escaped, so the calls are looked for in what is written, and compared in number.
	begin, end := s.region(n.Pos)
	found := s.sent.FindAllStringSubmatchIndex(s.text.src[begin:end], -1)
	for _, at := range found {
		from := begin + at[3]
		s.add(written{begin: begin, end: end, from: from, to: from + len(s.ref.Name)})
	}
	if len(found) < want {
		s.add(written{begin: begin, end: end, escaped: true})
	}
}

// computesSent reports whether a part of the text calls sent with an argument that is computed.
func computesSent(src string) bool {
	// The quotes are brought to one form first, so that those of each style of a scalar count.
	plain := strings.NewReplacer(`\"`, `"`, `''`, `'`).Replace(src)
	return len(anySent.FindAllStringIndex(plain, -1)) > len(plainSent.FindAllStringIndex(plain, -1))
}

// uncovered returns the places of mentions that no written place stands for: an expression has made the name there.
func uncovered(c *checked, r schema.Ref, all []written) (list []mention) {
	for _, m := range mentions(c.declared) {
		if m.id != r.ID() {
			continue
		}
		path := filepath.Clean(m.pos.File)
		stands := func(w written) bool {
			at := w.text.offsetOf(m.pos)
			return w.path == path && w.declaration == m.declaration && at >= w.holder && at < w.end && !computesSent(w.text.src[w.begin:w.end])
		}
		if !slices.ContainsFunc(all, stands) {
			list = append(list, m)
		}
	}
	return list
}
