package lsp

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// place is a cursor in an open document, with the graph that the document belongs to.
type place struct {
	cursor
	path   string
	text   *text
	offset int
	graph  *checked // nil where no graph has been read
	files  gapi.Source
}

// here returns the place of a request; ok is false for a document that is not open, and for one whose notation has no cursor.
func (s *server) here(p at) (h place, ok bool) {
	key := keyOf(p.Document.URI)
	d := s.docs[key]
	if n := yaml.NotationOf(key); d == nil || n.IsDocument() && !n.Cursor {
		return place{}, false
	}
	offset := d.text.offset(p.Position)
	h = place{cursorAt(d.text, offset), key, d.text, offset, s.graph(key), s.from}
	return h, true
}

// definition returns the places where the thing at the cursor is declared. It may be a resource, a file, a variable, a module or a key of the
// data. A resource of a module that is used twice has one place.
func (s *server) definition(p at) (any, error) {
	h, ok := s.here(p)
	if !ok {
		return nil, nil
	}
	if path, ok := h.file(); ok {
		return []location{{URI: uriOf(path)}}, nil
	}
	if h.graph == nil {
		return nil, nil
	}
	if pos, ok := s.secretHere(&h); ok {
		return []location{h.graph.location(pos)}, nil
	}
	if words := h.words(); h.expression && len(words) > 1 {
		if l := s.declaredName(&h, words); l != nil {
			return l, nil
		}
	}
	id, _, _, ok := s.named(&h)
	if !ok {
		return nil, nil
	}
	if name, isModule := strings.CutPrefix(id, "module["); isModule {
		return s.declaredName(&h, []string{"module", strings.TrimSuffix(name, "]")}), nil
	}
	list := h.graph.locations(declarations(h.graph, id))
	if r, err := schema.ParseRef(id); err == nil && len(list) == 0 {
		// A condition may leave it out of the graph, and not out of the file.
		for _, w := range s.places(h.graph, r) {
			if w.declaration && !w.escaped {
				list = append(list, location{s.uriOf(w.path), w.text.span(w.from, w.to)})
			}
		}
	}
	return list, nil
}

// secretHere returns the place of the key that secret('...') names at the cursor.
func (s *server) secretHere(h *place) (pos schema.Pos, ok bool) {
	if !h.expression || !strings.Contains(h.source, "secret(") {
		return pos, false
	}
	pos, ok = s.names(h).SecretKeys()[h.scalarHere()]
	return pos, ok
}

// declarations returns the declarations of a resource: more than one only in a graph with that fault.
func declarations(c *checked, id string) []mention {
	return slices.DeleteFunc(mentions(c.declared), func(m mention) bool { return !m.declaration || m.id != id })
}

// declaredName returns the place where a path of names in an expression is declared; nil for none.
func (s *server) declaredName(h *place, words []string) []location {
	names := s.names(h)
	var at []schema.Pos
	switch words[0] {
	case "vars":
		if v, ok := names.Variable(words[1]); ok {
			at = append(at, v.Pos)
		}
	case "data":
		at = names.DataAt(words[1])
	case "module":
		if v, ok := names.Input(words[len(words)-1]); ok && len(words) == 3 && words[1] == "inputs" {
			at = append(at, v.Pos)
		}
		for _, u := range names.Modules() {
			if u.Name == words[1] {
				at = append(at, u.Pos)
			}
		}
	}
	var list []location
	for _, p := range at {
		if p.Line > 0 {
			list = append(list, h.graph.location(p))
		}
	}
	return list
}

// names returns the names that expressions see at a place, as the editor has its graph now: in a module those of the module. The graph is read
// for it, as far as its variables and its data, since the last check may be older than the text.
func (s *server) names(h *place) yaml.Names {
	path := h.path
	if !h.inModule() && h.graph != nil {
		path = h.graph.root
	}
	return yaml.NamesOf(path, s.options(s.docs))
}

// inModule reports whether the document is a module: its names are its own, also where no graph uses it.
func (h *place) inModule() bool { return filepath.Base(h.path) == expand.ModuleFile }

// words returns the path of names around the cursor in an expression, up to the end of the name at the cursor: vars, domain.
func (h *place) words() []string {
	// The end is that of the name at the cursor: in vars.domain.size(), a cursor in domain asks for vars.domain.
	end := h.offset + wordLen(h.text.src[h.offset:])
	begin := h.offset
	for begin > 0 {
		c := rune(h.text.src[begin-1])
		if !isNameRune(c) && c != '.' {
			break
		}
		begin--
	}
	return strings.Split(h.text.src[begin:end], ".")
}

// file returns the file that the scalar at the cursor names: an included file, a module, or a file that an expression reads.
func (h *place) file() (string, bool) {
	name := h.scalarHere()
	if h.key || name == "" || len(h.cursor.path) == 0 {
		return "", false
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(h.path), name)
	}
	info, err := infoOf(h.files, path)
	switch top := h.cursor.path[0]; {
	case err != nil:
	case info.IsDir() && top == "use":
		return filepath.Join(path, expand.ModuleFile), true
	case info.Mode().IsRegular() && (h.expression || slices.Contains([]string{"include", "data", "secrets", "graph"}, top)):
		return path, true
	}
	return "", false
}

// infoOf looks at a file or a folder. It opens the path, so a file that this user may not read counts as missing.
func infoOf(from gapi.Source, path string) (fs.FileInfo, error) {
	return gapi.Ask(context.Background(), from.Asking(), path, func() (fs.FileInfo, error) {
		f, err := from.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return f.Stat()
	})
}

// scalarHere returns the scalar around the cursor; in an expression, the text in quotes there.
func (h *place) scalarHere() string {
	p := h.text.position(h.offset)
	begin, line := h.text.lines[p.Line], h.text.line(p.Line)
	// In an expression, only a text in quotes names a file.
	if h.expression {
		from, to, _ := quoted(line, h.offset-begin)
		return line[from:to]
	}
	if h.from < begin {
		return ""
	}
	rest, stop := line[h.from-begin:], ",]} "
	if h.quote != 0 {
		stop = string(h.quote)
	} else if !h.flow {
		stop = ""
	}
	if i := strings.IndexAny(rest, stop); i >= 0 {
		return rest[:i]
	}
	return strings.TrimSpace(rest)
}

// quoted returns the text in quotes around an offset of a line.
func quoted(line string, at int) (from, to int, ok bool) {
	for i := 0; i < len(line); i++ {
		if q := line[i]; q == '"' || q == '\'' {
			end := strings.IndexByte(line[i+1:], q)
			if end < 0 {
				return 0, 0, false
			}
			// The quotes of a scalar may have those of an expression in them.
			if inner := line[i+1 : i+1+end]; at > i && at <= i+1+end && !strings.Contains(inner, expr.Open) {
				return i + 1, i + 1 + end, true
			}
			if strings.Contains(line[i+1:i+1+end], expr.Open) {
				continue
			}
			i += end + 1
		}
	}
	return 0, 0, false
}

// references returns all places that name the resource at the cursor.
func (s *server) references(p struct {
	at
	Context struct {
		Declaration bool `json:"includeDeclaration"`
	} `json:"context"`
}) (any, error) {
	h, ok := s.here(p.at)
	if !ok || h.graph == nil {
		return nil, nil
	}
	id, _, _, ok := s.named(&h)
	r, err := schema.ParseRef(id)
	if !ok || err != nil {
		return nil, nil
	}
	all := s.places(h.graph, r)
	list := h.graph.locations(slices.DeleteFunc(uncovered(h.graph, r, all), func(m mention) bool { return m.declaration && !p.Context.Declaration }))
	for _, w := range all {
		if w.escaped {
			w.from, w.to = w.text.word(w.begin)
		}
		if l := (location{s.uriOf(w.path), w.text.span(w.from, w.to)}); p.Context.Declaration || !w.declaration {
			list = append(list, l)
		}
	}
	return list, nil
}

// uriOf returns the URI of a file, as the editor writes it where the file is open.
func (s *server) uriOf(path string) string {
	if d := s.docs[path]; d != nil {
		return d.uri
	}
	return uriOf(path)
}

// named returns the resource at the cursor, with the offsets of its name: see checked.named. A resource that a condition leaves out, and one in
// a file of tests, are known by the text.
func (s *server) named(h *place) (id string, from, to int, ok bool) {
	if id, from, to, ok = h.graph.named(h.path, h.text, h.offset); ok {
		return id, from, to, ok
	}
	kind, below, in := kindAt(h.cursor.path)
	name := h.scalarHere()
	if !in || h.key || h.expression || len(below) != 1 || below[0] != "name" || name == "" {
		return "", 0, 0, false
	}
	return schema.Ref{Kind: strings.ToLower(kind), Name: name}.ID(), h.from, h.from + len(name), true
}

// prepareRename returns the part of the text that a rename replaces.
func (s *server) prepareRename(p at) (any, error) {
	h, ok := s.here(p)
	if !ok || h.graph == nil || h.graph.alone() {
		return nil, nil
	}
	id, from, to, ok := s.named(&h)
	r, err := schema.ParseRef(id)
	if !ok || err != nil || len(declarations(h.graph, id)) == 0 && !declared(s.places(h.graph, r)) {
		return nil, nil
	}
	return map[string]any{"range": h.text.span(from, to), "placeholder": h.text.src[from:to]}, nil
}

// rename alters the name of a resource in its declaration and in every reference. It alters nothing where one of them can't be altered: half a
// rename is a graph with a dangling reference. The places come from the last check, so a text that has changed since then is refused, too.
func (s *server) rename(p struct {
	at
	NewName string `json:"newName"`
}) (any, error) {
	h, ok := s.here(p.at)
	if !ok || h.graph == nil {
		return nil, &failure{codeFailed, "the graph of this file could not be read yet"}
	}
	if h.graph.alone() {
		return nil, &failure{codeFailed, "the references to a resource of a module may stand outside of it: open a graph that uses the module first"}
	}
	// Places of an older text would put the new name into the middle of other words.
	if s.stale(h.graph) {
		return nil, &failure{codeFailed, "the graph was not read since the last edit, or has errors that keep it from being read: correct them first"}
	}
	id, _, _, ok := s.named(&h)
	r, err := schema.ParseRef(id)
	if !ok || err != nil {
		return nil, &failure{codeFailed, "there is no name of a resource here"}
	}
	all := s.places(h.graph, r)
	if len(declarations(h.graph, id)) == 0 && !declared(all) {
		return nil, &failure{codeFailed, id + " is not declared in this graph"}
	}
	// A clash is an error of the graph, and after it nothing tells the two resources apart.
	if err := newName(p.NewName); err != nil {
		return nil, err
	}
	other := schema.Ref{Kind: r.Kind, Name: p.NewName}
	if list := declarations(h.graph, other.ID()); len(list) > 0 && other != r {
		return nil, &failure{codeFailed, fmt.Sprintf("%s is declared already, at %s", other, list[0].pos)}
	}
	// A resource that a condition leaves out has its name nevertheless.
	for _, w := range s.places(h.graph, other) {
		if w.declaration && other != r {
			return nil, &failure{codeFailed, fmt.Sprintf("%s is declared already, at %s", other, w.pos())}
		}
	}
	return s.renamed(h.graph, r, all, p.NewName)
}

// stale reports whether an open document has changed since a graph was read.
func (s *server) stale(c *checked) bool {
	for key, d := range s.docs {
		if c.paths[key] && c.docs[key] != d {
			return true
		}
	}
	r := s.roots[c.root]
	return r == nil || r.good != r.last
}

// newName refuses a name that would need other quotes at some place. The references to a resource stand in plain, single-quoted and
// double-quoted scalars, and each of these has escapes of its own.
func newName(name string) error {
	switch {
	case name == "" || strings.TrimSpace(name) != name:
		return &failure{codeFailed, "a name is not empty, and has no space at its ends"}
	case strings.ContainsAny(name, "\"'\\\n\r\t"), strings.Contains(name, expr.Open), strings.Contains(name, ": "), strings.Contains(name, " #"):
		return &failure{codeFailed, "such a name needs quotes of its own: rename the resource by hand"}
	}
	return nil
}

// declared reports whether one of the places is a declaration.
func declared(all []written) bool {
	return slices.ContainsFunc(all, func(w written) bool { return w.declaration })
}

// renamed returns the edits that give a resource another name. The places are all that its files have. A mention of the last check that is
// none of them has its name from an expression.
func (s *server) renamed(c *checked, r schema.Ref, all []written, name string) (*workspaceEdit, error) {
	const byHand = "%s: this name is made by an expression, or is written with escapes: rename it by hand"
	if list := uncovered(c, r, all); len(list) > 0 {
		return nil, &failure{codeFailed, fmt.Sprintf(byHand, list[0].pos)}
	}
	edits := &workspaceEdit{Changes: map[string][]textEdit{}}
	for _, w := range all {
		if w.escaped {
			return nil, &failure{codeFailed, fmt.Sprintf(byHand, w.pos())}
		}
		edit := textEdit{w.text.span(w.from, w.to), name}
		// A name that begins with a mark of YAML, such as a dash or a brace, is a text only in quotes.
		if w.from == w.begin && !plain(name) {
			edit.NewText = `"` + name + `"`
		}
		if uri := s.uriOf(w.path); !slices.Contains(edits.Changes[uri], edit) {
			edits.Changes[uri] = append(edits.Changes[uri], edit)
		}
	}
	return edits, nil
}

// plain reports whether a name can stand in YAML without quotes, also in a list on one line.
func plain(name string) bool {
	return strings.IndexByte("-?:,[]{}#&*!|>%@` ", name[0]) < 0 && !strings.ContainsAny(name, ",[]{}")
}
