package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// maxItems bounds an answer: a longer list is incomplete, and the editor asks again for more letters.
const maxItems = 500

// complete answers a request for the words that fit at the cursor. The list has no order of its own: the editor sorts it by the typed letters.
// An item replaces the letters before the cursor, so a word in the middle of a reference is never doubled.
func (s *server) complete(p at) (any, error) {
	h, ok := s.here(p)
	if !ok {
		return completionList{Items: []completionItem{}}, nil
	}
	// An expression may stand in a key or in a value, so it comes first.
	var items []completionItem
	switch {
	case h.expression:
		items = s.completeExpression(&h)
	case h.key:
		items = s.completeKey(&h)
	default:
		items = s.completeValue(&h)
	}
	list := completionList{Items: []completionItem{}}
	for _, i := range items {
		if !strings.HasPrefix(strings.ToLower(i.FilterText), strings.ToLower(h.prefix)) && i.FilterText != "" {
			continue
		}
		if len(list.Items) == maxItems {
			list.Incomplete = true
			break
		}
		if i.TextEdit != nil && i.TextEdit.Range == (span{}) {
			i.TextEdit.Range = h.text.span(h.from, h.offset)
		}
		list.Items = append(list.Items, i)
	}
	return list, nil
}

// option is a completion that replaces the letters before the cursor. Its range is set by complete, which knows those letters.
func option(label string, kind int, write, detail, doc string) completionItem {
	i := completionItem{Label: label, Kind: kind, Detail: detail, FilterText: label, TextEdit: &textEdit{NewText: write}}
	if doc != "" {
		i.Documentation = markdown(doc)
	}
	return i
}

// completeKey returns the keys that the map at the cursor does not have yet. A key that is there twice is an error, so it is not offered.
func (s *server) completeKey(h *place) (items []completionItem) {
	// Kinds are offered though they are there: a person may look for the name alone.
	have := h.siblings()
	add := func(key, detail, doc string) {
		if !have[key] {
			items = append(items, option(key, itemProperty, key+": ", detail, doc))
		}
	}
	path := h.cursor.path
	if yaml.IsTest(h.path) && s.o.TestFile != nil {
		items = append(items, s.completeTestKey(h, add)...)
	} else {
		for _, k := range keysAt(h.path, path) {
			add(k.key, "", k.doc)
		}
	}
	kind, below, inKind := kindAt(path)
	switch {
	case len(path) == 1 && (path[0] == "resources" || path[0] == "defaults"):
		items = append(items, s.kinds()...)
	case len(path) == 3 && path[0] == "use" && path[2] == "with":
		for _, f := range s.inputs(h).Fields {
			add(f.Key, derive.TypeName(f.Type), f.Doc)
		}
	case !inKind:
	case len(below) == 1 && below[0] == "recv":
		s.addFields(s.resourceType(kind, nil), add)
	default:
		if len(below) == 0 {
			for _, k := range resourceKeys {
				add(k.key, "", k.doc)
			}
		}
		s.addFields(s.resourceType(kind, below), add)
	}
	return items
}

// kinds returns the names of all kinds, as keys.
func (s *server) kinds() (items []completionItem) {
	for _, name := range s.o.Kinds().Kinds() {
		items = append(items, option(name, itemClass, name+":", "", s.kindDoc(name)))
	}
	return items
}

// completeTestKey adds the keys of a file of tests, and returns the kinds where things of them may stand. The inputs of a module and the variables
// of a graph are those of the file that is tested.
func (s *server) completeTestKey(h *place, add func(key, detail, doc string)) []completionItem {
	path := h.cursor.path
	last := ""
	if len(path) > 0 {
		last = path[len(path)-1]
	}
	switch {
	case fits("tests - inputs", path):
		d, _ := yaml.Module(filepath.Dir(s.tested(h.path)), s.options(s.docs))
		if d.Inputs != nil {
			s.addFields(d.Inputs, add)
		}
	case fits("tests - vars", path):
		for _, m := range s.names(h).Members("vars") {
			v, _ := s.names(h).Variable(m.Name)
			add(m.Name, m.Type.String(), v.Doc)
		}
	case fits("tests - machine", path), fits("tests - steps - drift", path), fits("tests - steps - expect", path):
		if last == "expect" {
			for _, key := range expectKeys {
				add(key, "", "Resources, as references.")
			}
		}
		return s.kinds()
	default:
		if t := typeAt(s.o.TestFile, path); t != nil && t.Kind == schema.KindStruct {
			for _, key := range t.Keys() {
				add(key, derive.TypeName(t.Field(key).Type), fieldDoc(t.Field(key)))
			}
		}
	}
	return nil
}

// addFields adds the keys of a struct.
func (s *server) addFields(t *schema.Type, add func(key, detail, doc string)) {
	if t == nil || t.Kind != schema.KindStruct {
		return
	}
	for _, key := range t.Keys() {
		if f := t.Field(key); f.Role != schema.RoleReadOnly && key != "name" {
			add(key, derive.TypeName(f.Type), fieldDoc(f))
		}
	}
}

// fieldDoc is the doc of a parameter, with its default.
func fieldDoc(f *schema.Field) string {
	doc := derive.DocText(f)
	if f.Required {
		return strings.TrimSpace(doc + "\n\nRequired.")
	}
	if d := derive.DefaultText(f); d != "" {
		doc += "\n\nDefault: " + d
	}
	return doc
}

// kindDoc is the beginning of the doc of a kind, in Markdown. The whole page of a kind is longer than the window of an editor for such texts.
func (s *server) kindDoc(name string) string {
	k, err := s.o.Kinds().Kind(strings.ToLower(name))
	if err != nil {
		return ""
	}
	doc := k.Doc
	if doc == "" && k.Type != nil {
		doc = k.Type.Doc
	}
	doc, _, _ = strings.Cut(doc, "\n## ")
	return strings.TrimSpace(doc)
}

// inputs returns the inputs of the module that the entry at the cursor uses. The module is read from its folder for each question: it is one
// small file, and an old copy would offer inputs that are gone.
func (s *server) inputs(h *place) *schema.Type {
	none := &schema.Type{Kind: schema.KindStruct}
	// The key module stands in the map around with, so its column is that of with.
	around := h.cursor // a copy, since the cursor itself stays where it is
	for n := h.number; n >= 0; n-- {
		if l := cut(h.text.line(n)); l.key == "with" {
			around.number, around.column = n, l.column
			break
		}
	}
	folder := around.sibling("module")
	if l := cut(h.text.line(h.number)); folder == "" {
		folder = flowValue(l.rest, "module")
	}
	if folder == "" {
		return none
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(h.path), folder)
	}
	d, _ := yaml.Module(folder, s.options(s.docs))
	if d.Inputs == nil {
		return none
	}
	return d.Inputs
}

// flowValue returns the value of a key in a map on one line, as it is written.
func flowValue(line, key string) string {
	_, rest, ok := strings.Cut(line, key+":")
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " ")
	if i := strings.IndexAny(rest, ",}"); i >= 0 {
		rest = rest[:i]
	}
	return strings.Trim(strings.TrimSpace(rest), `"'`)
}

// referenceKeys are the keys whose values name resources.
var referenceKeys = []string{"before", "depend", "notify", "listen"}

// completeValue returns the values that the key at the cursor may have. A free text has no such list, and the answer is empty.
func (s *server) completeValue(h *place) (items []completionItem) {
	path := h.cursor.path
	for _, row := range valueTable {
		if fits(row.path, path) {
			return words(row.words)
		}
	}
	kind, below, inKind := kindAt(path)
	switch {
	case inKind && len(below) > 0 && slices.Contains(referenceKeys, below[0]):
		return s.completeReferences(h, "")
	case inKind && len(below) == 2 && below[0] == "recv":
		return s.completeSenders(h)
	case len(path) == 3 && path[0] == "edges" && (path[2] == "from" || path[2] == "to"):
		return s.completeReferences(h, "")
	case inKind:
		return typeWords(s.resourceType(kind, below))
	case len(path) == 2 && path[0] == "include", len(path) == 3 && path[0] == "use" && path[2] == "module", len(path) == 3 && path[0] == "data":
		return s.completeFiles(h)
	}
	return nil
}

// typeWords returns the values of a type that has few of them.
func typeWords(t *schema.Type) []completionItem {
	switch {
	case t == nil:
		return nil
	case t.Kind == schema.KindBool:
		return words([]string{"true", "false"})
	case t.Kind == schema.KindList:
		return typeWords(t.Elem)
	}
	return words(t.Enum)
}

// words returns completions that are written as they are shown.
func words(list []string) (items []completionItem) {
	for _, w := range list {
		items = append(items, option(w, itemValue, w, "", ""))
	}
	return items
}

// completeReferences returns the resources of the graph, as references with a suffix.
func (s *server) completeReferences(h *place, suffix string) (items []completionItem) {
	if h.graph == nil {
		return nil
	}
	seen := map[string]bool{}
	for i := range h.graph.declared.Resources {
		r := &h.graph.declared.Resources[i]
		if id := r.ID(); !seen[id] {
			seen[id] = true
			items = append(items, option(id, itemReference, h.quoteReference(id+suffix), r.Pos.String(), ""))
		}
	}
	for _, u := range s.names(h).Modules() {
		id := "module[" + u.Name + "]"
		items = append(items, option(id, itemReference, h.quoteReference(id+suffix), "a whole module", ""))
	}
	return items
}

// completeSenders returns the values that the resources of the graph send. The kinds say which keys they send, so no resource is asked.
func (s *server) completeSenders(h *place) (items []completionItem) {
	if h.graph == nil {
		return nil
	}
	for i := range h.graph.declared.Resources {
		r := &h.graph.declared.Resources[i]
		k, err := s.o.Kinds().Kind(r.Kind)
		if err != nil || k.Abilities.Sends == nil {
			continue
		}
		for _, key := range k.Abilities.Sends.Keys() {
			f := k.Abilities.Sends.Field(key)
			id := r.ID() + "." + key
			items = append(items, option(id, itemReference, h.quoteReference(id), derive.TypeName(f.Type), f.Doc))
		}
	}
	return items
}

// quoteReference writes a reference, in quotes where none are open: a list on one line would end at its bracket.
func (h *place) quoteReference(ref string) string {
	if h.quote != 0 || h.expression {
		return ref
	}
	return `"` + ref + `"`
}

// completeFiles returns the files and folders that the path at the cursor begins to name.
func (s *server) completeFiles(h *place) (items []completionItem) {
	dir, _ := filepath.Split(h.prefix)
	folder := dir
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(h.path), dir)
	}
	entries, _ := s.list(folder) // a folder that is not there has nothing to offer
	for _, e := range entries {
		name := dir + e.Name()
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			items = append(items, option(name, itemFile, name, "", ""))
		case h.cursor.path[0] != "use" && yaml.NotationOf(name).Folder:
			items = append(items, option(name, itemFile, name, "", ""))
		}
	}
	return items
}

// completeExpression returns the names and functions that fit in an expression. In a text, those are the resources of sent('...') and the
// files of read('...') and template('...').
func (s *server) completeExpression(h *place) (items []completionItem) {
	if h.graph == nil {
		return nil
	}
	// An odd number of quotes means that the cursor is in a text.
	if i := strings.LastIndexAny(h.source, `'"`); i >= 0 && strings.Count(h.source, h.source[i:i+1])%2 == 1 {
		h.prefix = h.source[i+1:]
		h.from = h.offset - len(h.prefix)
		switch before := strings.TrimRight(h.source[:i], " ("); {
		case strings.HasSuffix(before, "sent"):
			return s.completeSenders(h)
		case strings.HasSuffix(before, "secret"):
			for _, key := range sorted(s.names(h).SecretKeys()) {
				items = append(items, option(key, itemValue, key, "a secret", ""))
			}
			return items
		case strings.HasSuffix(before, "read"), strings.HasSuffix(before, "template"):
			return s.completeAnyFile(h)
		}
		return nil
	}
	// The path of names before the cursor: the last one is being typed.
	word := h.source[len(strings.TrimRightFunc(h.source, func(r rune) bool { return isNameRune(r) || r == '.' })):]
	names := strings.Split(word, ".")
	h.prefix = names[len(names)-1]
	h.from = h.offset - len(h.prefix)
	names = names[:len(names)-1]
	return s.completeNames(h, names)
}

// completeAnyFile is completeFiles for every sort of file.
func (s *server) completeAnyFile(h *place) (items []completionItem) {
	dir, _ := filepath.Split(h.prefix)
	entries, _ := s.list(filepath.Join(filepath.Dir(h.path), dir))
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			items = append(items, option(dir+e.Name(), itemFile, dir+e.Name(), "", ""))
		}
	}
	return items
}

// completeNames returns the names and functions that fit behind a path of names. A type without known fields offers
// nothing: a wrong offer would become an error of the graph.
func (s *server) completeNames(h *place, path []string) (items []completionItem) {
	all := s.names(h)
	for _, m := range all.Members(path...) {
		detail, doc := m.Type.String(), ""
		if v, ok := all.Variable(m.Name); ok && len(path) == 1 && path[0] == "vars" {
			doc = v.Doc
		}
		if v, ok := all.Input(m.Name); ok && len(path) == 2 && path[1] == "inputs" {
			doc = v.Doc
		}
		items = append(items, option(m.Name, itemVariable, m.Name, detail, doc))
	}
	// A method may follow a value. The first names stand for no value of their own, though each is a map.
	if len(path) > 1 {
		items = append(items, functions(all.Signatures(), true)...)
	}
	switch {
	case len(path) == 1 && path[0] == "each":
		items = append(items, option("key", itemVariable, "key", "", "The key of the element; of a list, its index."),
			option("value", itemVariable, "value", "", "The element."), option("index", itemVariable, "index", "int", "The number of the element, from 0."))
	case len(path) >= 2 && path[0] == "each" && path[1] == "value":
		for _, key := range eachKeys(all, h) {
			items = append(items, option(key, itemVariable, key, "", ""))
		}
	case len(path) == 0:
		if h.loop() != "" {
			items = append(items, option("each", itemVariable, "each", "", "The element of the loop: each.key, each.value, each.index."))
		}
		items = append(items, functions(all.Signatures(), false)...)
	}
	return items
}

// functions returns the functions, or the methods, that may be called: each name once, with its first form.
func functions(list []expr.Signature, methods bool) (items []completionItem) {
	for i, f := range list {
		if f.Method != methods || i > 0 && list[i-1].Name == f.Name && list[i-1].Method == methods {
			continue
		}
		items = append(items, option(f.Name, itemFunction, f.Name, f.Text, f.Doc))
	}
	return items
}

// loop returns the expression of the loop around the cursor, without its marks; empty for none. The key for_each may stand above or below
// the cursor, but in the same resource.
func (h *place) loop() string {
	kind, _, ok := kindAt(h.cursor.path)
	if !ok || kind == "" {
		return ""
	}
	for n := h.number; n >= 0; n-- {
		l := cut(h.text.line(n))
		if l.key == "for_each" {
			return marked(l.value)
		}
		if len(l.dashes) > 0 && n != h.number && l.column <= h.column {
			break
		}
	}
	for n := h.number; n < len(h.text.lines); n++ {
		l := cut(h.text.line(n))
		if l.key == "for_each" {
			return marked(l.value)
		}
		if n != h.number && (len(l.dashes) > 0 || !l.empty() && l.column < h.column) {
			break
		}
	}
	return ""
}

// marked returns the source of a scalar that is one expression.
func marked(value string) string {
	_, source, _ := strings.Cut(value, "${{")
	source, _, _ = strings.Cut(source, "}}")
	return strings.TrimSpace(source)
}

// eachKeys returns the keys of the elements of the loop around the cursor. All elements have most keys in common, so the first map counts.
// The loop is computed for it, within the limits of expressions.
func eachKeys(names yaml.Names, h *place) []string {
	source := h.loop()
	if source == "" {
		return nil
	}
	v, _ := names.Value(source)
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sorted(v) {
			if m, ok := v[key].(map[string]any); ok {
				return sorted(m)
			}
		}
	case []any:
		for _, x := range v {
			if m, ok := x.(map[string]any); ok {
				return sorted(m)
			}
		}
	}
	return nil
}
