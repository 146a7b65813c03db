package lsp

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// hover explains the thing at the cursor: a key, a name in an expression, a reference or a module. Elsewhere the answer is null, and the editor
// shows nothing.
func (s *server) hover(p at) (any, error) {
	h, ok := s.here(p)
	if !ok {
		return nil, nil
	}
	line := h.text.position(h.offset).Line
	l, begin := cut(h.text.line(line)), h.text.lines[line]
	if at := h.offset - begin; l.key != "" && at >= l.column && at < l.at {
		// The path at the beginning of the key is that of the map around it, whatever the value of the key is.
		c := cursorAt(h.text, begin+l.column)
		if text := s.explainKey(h.path, c.path, l.key); text != "" {
			return &hover{markdown(text), h.text.span(begin+l.column, begin+l.at-1)}, nil
		}
		return nil, nil
	}
	// Names in expressions come before references, since a text in an expression may look like one.
	if h.expression && h.graph != nil {
		if text := s.explainName(&h); text != "" {
			return &hover{markdown(text), h.text.span(h.offset, h.offset+wordLen(h.text.src[h.offset:]))}, nil
		}
	}
	if r, from, to, ok := reference(h.text, h.offset); ok {
		var text strings.Builder
		text.WriteString("**" + r.ID() + "**")
		if h.graph != nil {
			for _, m := range declarations(h.graph, r.ID()) {
				text.WriteString("\n\nDeclared at " + m.pos.String() + ".")
			}
		}
		if doc := s.kindDoc(r.Kind); doc != "" {
			text.WriteString("\n\n" + firstParagraph(doc))
		}
		return &hover{markdown(text.String()), h.text.span(from, to)}, nil
	}
	if path, ok := h.file(); ok && filepath.Base(path) == expand.ModuleFile {
		return &hover{markdown(s.explainModule(filepath.Dir(path))), h.text.span(h.offset, h.offset)}, nil
	}
	return nil, nil
}

// explainKey is the doc of a key: of a kind, a parameter, or a key of the format.
func (s *server) explainKey(file string, path []string, key string) string {
	if len(path) == 1 && path[0] == "resources" {
		return s.kindDoc(key)
	}
	kind, below, inKind := kindAt(path)
	table := keysAt(file, path)
	if inKind && len(below) == 0 {
		table = resourceKeys
	}
	for _, k := range table {
		if k.key == key {
			return k.doc
		}
	}
	if !inKind {
		return ""
	}
	t := s.resourceType(kind, below)
	if t == nil || t.Kind != schema.KindStruct || t.Field(key) == nil {
		return ""
	}
	f := t.Field(key)
	return fmt.Sprintf("**%s**: %s\n\n%s", f.Key, derive.TypeName(f.Type), fieldDoc(f))
}

// maxShown is how many characters of a value hover shows.
const maxShown = 500

// explainName is the type, the value and the doc of the name at the cursor in an expression. A value with a secret is not shown.
func (s *server) explainName(h *place) string {
	path := h.words()
	all := s.names(h)
	name := path[len(path)-1]
	for _, m := range all.Members(path[:len(path)-1]...) {
		if m.Name != name {
			continue
		}
		text := fmt.Sprintf("**%s**: %s", strings.Join(path, "."), m.Type)
		if v, ok := all.Variable(name); ok && len(path) == 2 && path[0] == "vars" && v.Doc != "" {
			text += "\n\n" + v.Doc
		}
		if v, ok := all.Input(name); ok && len(path) == 3 && path[1] == "inputs" && v.Doc != "" {
			text += "\n\n" + v.Doc
		}
		// The inputs of a module have values where it is used, and not here.
		if v, ok := all.Value(strings.Join(path, ".")); ok && len(path) > 1 && !h.inModule() {
			shown := []rune(fmt.Sprint(v))
			if len(shown) > maxShown {
				shown = append(shown[:maxShown], '…')
			}
			text += "\n\n```\n" + strings.ReplaceAll(string(shown), "```", "'''") + "\n```"
		}
		return text
	}
	var forms []string
	doc := ""
	for _, f := range all.Signatures() {
		if f.Name == name && f.Method == (len(path) > 1) {
			forms, doc = append(forms, f.Text), f.Doc
		}
	}
	if forms == nil {
		return ""
	}
	return "```\n" + strings.Join(forms, "\n") + "\n```\n\n" + doc
}

// explainModule is the description of a module.
func (s *server) explainModule(dir string) string {
	d, _ := yaml.Module(dir, s.options(s.docs))
	var text strings.Builder
	text.WriteString("**" + d.Name + "**\n\n" + d.Doc)
	for _, part := range []struct {
		title string
		t     *schema.Type
	}{{"Inputs", d.Inputs}, {"Outputs", d.Outputs}} {
		if part.t == nil || len(part.t.Fields) == 0 {
			continue
		}
		text.WriteString("\n\n" + part.title + ":\n")
		for _, f := range part.t.Fields {
			text.WriteString(fmt.Sprintf("\n- %s: %s. %s", f.Key, derive.TypeName(f.Type), f.Doc))
		}
	}
	return text.String()
}

// firstParagraph returns the beginning of a text in Markdown.
func firstParagraph(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	return text
}
