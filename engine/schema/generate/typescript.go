package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// typescript writes the pack. One file for each module would be simpler. Packs of large
// providers have shown that editors and compilers then take minutes, since every program reads
// all types. So it writes one file for each file of definitions, and an index.ts for each
// module that exports its types, and that of a module exports the modules below it by their names. A program that names a module
// reads no more than that module.
func typescript(p *idl.Package, o Options) (Files, error) {
	out := Files{}
	shared := sharedNames(p)
	indexes := map[string]*strings.Builder{} // by folder
	names := map[string]map[string]bool{}    // that a folder exports
	for _, m := range p.Modules {
		for dir := m.Dir; indexes[dir] == nil; dir = path.Dir(dir) {
			indexes[dir], names[dir] = &strings.Builder{}, map[string]bool{}
			indexes[dir].WriteString(header("// ", dir))
			if dir == "." {
				break
			}
		}
		for _, f := range m.Files {
			w := newScript(f, shared)
			text, err := w.file()
			if err != nil {
				return nil, err
			}
			out[swap(f.Path, ".ts")] = text
			w.exports(indexes[m.Dir])
			for _, d := range f.Decls {
				names[m.Dir][d.Name], names[m.Dir][d.Name+"Args"] = true, true
			}
		}
	}
	for _, name := range o.ByHand {
		if index := indexes[path.Dir(name)]; index != nil && out[name] == nil && path.Base(name) != "index.ts" {
			fmt.Fprintf(index, "export * from %q;\n", "./"+path.Base(name))
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(indexes)) {
		if dir != "." {
			fmt.Fprintf(indexes[path.Dir(dir)], "export * as %s from %q;\n", moduleWord(dir, names[path.Dir(dir)]), "./"+path.Base(dir)+"/index.ts")
		}
	}
	for dir, index := range indexes {
		// An author may write the list of a module by hand.
		if name := path.Join(dir, "index.ts"); !slices.Contains(o.ByHand, name) {
			out[name] = []byte(index.String())
		}
	}
	return out, nil
}

// moduleWord is the name under which a module is exported from the one around it. A name that is taken gets an underscore.
func moduleWord(dir string, taken map[string]bool) string {
	word := idl.Flat(path.Base(dir))
	if word[0] >= '0' && word[0] <= '9' {
		word = "_" + word
	}
	for taken[word] {
		word += "_"
	}
	taken[word] = true
	return word
}

// sharedNames are the declarations that are not exported from their module, and that another
// file of it uses.
func sharedNames(p *idl.Package) map[*idl.Decl]bool {
	shared := map[*idl.Decl]bool{}
	for _, f := range p.Files() {
		for d := range uses(f) {
			if !d.Exported && d.File != f {
				shared[d] = true
			}
		}
	}
	return shared
}

// uses are the declarations that a file speaks of.
func uses(f *idl.File) map[*idl.Decl]bool {
	all := map[*idl.Decl]bool{}
	var walk func(s *idl.Shape)
	walk = func(s *idl.Shape) {
		for _, d := range []*idl.Decl{s.Decl, s.Keys} {
			if d != nil {
				all[d] = true
			}
		}
		if s.Elem != nil {
			walk(s.Elem)
		}
	}
	for _, d := range f.Decls {
		if d.Of != nil {
			all[d.Of] = true
		}
		for _, field := range d.Fields {
			walk(field.Shape)
		}
	}
	return all
}

// script writes one file of TypeScript.
type script struct {
	f      *idl.File
	shared map[*idl.Decl]bool
	lib    string               // the name of the module mgmt in the file
	names  map[*idl.Decl]string // of imported declarations
	b      bytes.Buffer
}

// newScript chooses the names of the imports of a file. A name that is taken gets that of its
// module before it.
func newScript(f *idl.File, shared map[*idl.Decl]bool) *script {
	w := &script{f: f, shared: shared, lib: "mgmt", names: map[*idl.Decl]string{}}
	taken := map[string]bool{}
	for _, d := range f.Decls {
		taken[scriptName(d.Name)] = true
		if d.Kind == idl.DeclResource {
			taken[d.Name+"Args"] = true
		}
	}
	imported := slices.SortedFunc(maps.Keys(uses(f)), func(a, b *idl.Decl) int {
		return strings.Compare(w.from(a)+" "+a.Name, w.from(b)+" "+b.Name)
	})
	// The module itself comes first, so its own names stay as they are.
	slices.SortStableFunc(imported, func(a, b *idl.Decl) int { return rank(a.File.Module != f.Module) - rank(b.File.Module != f.Module) })
	for _, d := range imported {
		if d.File == f {
			continue
		}
		name := scriptName(d.Name)
		if taken[name] {
			name = idl.Flat(d.File.Module.Dir) + "_" + name
		}
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		w.names[d] = name
	}
	for taken[w.lib] {
		w.lib += "_"
	}
	return w
}

// rank sorts false before true.
func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// from is the path of the file of a declaration, as this file imports it.
func (w *script) from(d *idl.Decl) string {
	to := swap(d.File.Path, ".ts")
	var up []string
	if dir := path.Dir(w.f.Path); dir != "." {
		up = strings.Split(dir, "/")
	}
	parts := strings.Split(to, "/")
	for len(up) > 0 && len(parts) > 1 && up[0] == parts[0] {
		up, parts = up[1:], parts[1:]
	}
	prefix := "./"
	if len(up) > 0 {
		prefix = strings.Repeat("../", len(up))
	}
	return prefix + strings.Join(parts, "/")
}

// scriptWords are the words of TypeScript that name neither a type nor a constant.
var scriptWords = strings.Fields(`any arguments as async await bigint boolean break case catch class const continue debugger declare default delete do else
	enum eval export extends false finally for function if implements import in instanceof interface let never new null number object package private
	protected public return static string super switch symbol this throw true try type typeof undefined unknown var void while with yield`)

// scriptName is a name in TypeScript. One with a small letter may be a word of the language.
func scriptName(name string) string {
	if slices.Contains(scriptWords, name) {
		return name + "_"
	}
	return name
}

// file writes the whole file. Declarations keep the order of the source, so a change of one
// moves no other.
func (w *script) file() ([]byte, error) {
	w.b.WriteString(header("// ", w.f.Path))
	w.imports()
	exported := false
	for _, d := range w.f.Decls {
		exported = exported || w.exported(d) != ""
		w.b.WriteString("\n")
		var err error
		switch d.Kind {
		case idl.DeclEnum:
			w.enum(d)
		case idl.DeclConst:
			w.constant(d)
		case idl.DeclStruct:
			w.structure(d)
		case idl.DeclResource:
			err = w.class(d)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	if !exported {
		w.b.WriteString("\nexport {};\n") // else its names would be global
	}
	return w.b.Bytes(), nil
}

// imports writes the imports, of types only: no module loads another one when it runs. So files
// may refer to each other.
func (w *script) imports() {
	byFile := map[string][]string{}
	for d, name := range w.names {
		text := scriptName(d.Name)
		if name != text {
			text += " as " + name
		}
		byFile[w.from(d)] = append(byFile[w.from(d)], text)
	}
	needed := slices.ContainsFunc(w.f.Decls, func(d *idl.Decl) bool { return d.Kind == idl.DeclResource || len(d.Fields) > 0 && w.speaksOfAny(d) })
	if needed || len(byFile) > 0 {
		w.b.WriteString("\n")
	}
	if needed {
		fmt.Fprintf(&w.b, "import * as %s from \"mgmt\";\n", w.lib)
	}
	for _, from := range slices.Sorted(maps.Keys(byFile)) {
		names := byFile[from]
		slices.Sort(names)
		fmt.Fprintf(&w.b, "import type { %s } from %q;\n", strings.Join(names, ", "), from)
	}
}

// speaksOfAny reports whether a struct has a reference to any resource, whose type is in the
// module mgmt.
func (w *script) speaksOfAny(d *idl.Decl) bool {
	return slices.ContainsFunc(d.Fields, func(f *idl.Field) bool { return strings.Contains(w.shape(f.Shape), w.lib+".") })
}

// exported returns the word export with a space, or nothing.
func (w *script) exported(d *idl.Decl) string {
	if d.Exported || w.shared[d] {
		return "export "
	}
	return ""
}

// exports adds a file to the index of its module. Names that only the module may use are left out.
func (w *script) exports(b *strings.Builder) {
	at := "./" + path.Base(swap(w.f.Path, ".ts"))
	if !slices.ContainsFunc(w.f.Decls, func(d *idl.Decl) bool { return w.shared[d] }) {
		fmt.Fprintf(b, "export * from %q;\n", at)
		return
	}
	var types, values []string
	for _, d := range w.f.Decls {
		switch {
		case !d.Exported:
		case d.Kind == idl.DeclResource:
			values, types = append(values, d.Name), append(types, d.Name+"Args")
		case d.Kind == idl.DeclConst:
			values = append(values, d.Name)
		default:
			types = append(types, d.Name)
		}
	}
	if len(values) > 0 {
		fmt.Fprintf(b, "export { %s } from %q;\n", strings.Join(values, ", "), at)
	}
	if len(types) > 0 {
		fmt.Fprintf(b, "export type { %s } from %q;\n", strings.Join(types, ", "), at)
	}
}

// doc writes a comment of TSDoc. The end of a comment inside of a text is made harmless.
func (w *script) doc(indent string, texts ...string) {
	text := strings.TrimSpace(strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n"))
	if text == "" {
		return
	}
	text = strings.ReplaceAll(text, "*/", `*\/`)
	if !strings.Contains(text, "\n") {
		fmt.Fprintf(&w.b, "%s/** %s */\n", indent, text)
		return
	}
	w.b.WriteString(indent + "/**\n")
	for line := range strings.SplitSeq(text, "\n") {
		w.b.WriteString(strings.TrimRight(indent+" * "+line, " \t\r") + "\n")
	}
	w.b.WriteString(indent + " */\n")
}

// enum writes a union of texts. An enum of TypeScript would be code, which a program without a
// build step can't have.
func (w *script) enum(d *idl.Decl) {
	w.doc("", d.Doc)
	var values []string
	for _, v := range d.Values {
		values = append(values, quote(v.Value))
	}
	fmt.Fprintf(&w.b, "%stype %s = %s;\n", w.exported(d), scriptName(d.Name), strings.Join(values, " | "))
}

// constant writes a constant with its type.
func (w *script) constant(d *idl.Decl) {
	w.doc("", d.Doc)
	typ := map[bool]string{true: "boolean"}[d.Value == true || d.Value == false]
	if _, ok := d.Value.(float64); ok {
		typ = "number"
	}
	if _, ok := d.Value.(string); ok {
		typ = "string"
	}
	if d.Of != nil {
		typ = w.name(d.Of)
	}
	fmt.Fprintf(&w.b, "%sconst %s: %s = %s;\n", w.exported(d), scriptName(d.Name), typ, quote(d.Value))
}

// quote writes a value as JSON, which is a literal of TypeScript too.
func quote(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "undefined" // no value of a constant
	}
	return strings.TrimSpace(b.String())
}

// name is the name of a declaration in this file.
func (w *script) name(d *idl.Decl) string {
	if name, ok := w.names[d]; ok {
		return name
	}
	return scriptName(d.Name)
}

// scalarTypes are the types of values that have no name of their own. Durations, sizes and
// modes may be numbers too.
var scalarTypes = map[schema.Kind]string{
	schema.KindAny: "any", schema.KindBool: "boolean", schema.KindInt: "number", schema.KindFloat: "number", schema.KindString: "string",
	schema.KindDuration: "string | number", schema.KindSize: "string | number", schema.KindMode: "string | number",
}

// shape writes a type.
func (w *script) shape(s *idl.Shape) string {
	switch t := s.Type; {
	case s.Blob != "":
		return w.lib + "." + s.Blob
	case s.Decl != nil:
		return w.name(s.Decl)
	case t.Kind == schema.KindRef:
		return w.lib + ".Resource"
	case t.Kind == schema.KindList:
		elem := w.shape(s.Elem)
		if strings.Contains(elem, " | ") && !strings.HasPrefix(elem, "{") {
			elem = "(" + elem + ")"
		}
		return elem + "[]"
	case t.Kind == schema.KindMap && s.Keys != nil:
		return fmt.Sprintf("{[key in %s]?: %s}", w.name(s.Keys), w.shape(s.Elem))
	case t.Kind == schema.KindMap:
		return fmt.Sprintf("{[key: string]: %s}", w.shape(s.Elem))
	case len(t.Enum) > 0:
		var words []string
		for _, v := range t.Enum {
			words = append(words, quote(v))
		}
		return strings.Join(words, " | ")
	}
	return scalarTypes[s.Type.Kind]
}

// structure writes an interface. Values are plain objects, so a struct needs no class.
func (w *script) structure(d *idl.Decl) {
	w.doc("", d.Doc)
	fmt.Fprintf(&w.b, "%sinterface %s {\n", w.exported(d), scriptName(d.Name))
	for _, f := range d.Fields {
		w.doc("  ", f.Doc, deprecated(f))
		fmt.Fprintf(&w.b, "  %s%s: %s;\n", key(f.Key), question(f.Optional), w.shape(f.Shape))
	}
	w.b.WriteString("}\n")
}

// deprecated is the tag by which editors strike out a property.
func deprecated(f *idl.Field) string {
	if f.Deprecated == "" {
		return ""
	}
	return "@deprecated " + f.Deprecated
}

// question is the mark of a property that may be absent.
func question(optional bool) string {
	if optional {
		return "?"
	}
	return ""
}

var plainKey = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// key writes the name of a property, in quotes where it is not a word.
func key(s string) string {
	if plainKey.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// class writes a resource: its class, and the interface of its arguments. The class gives its
// type to its base, which validates the arguments. Properties are declared and not initialized:
// else the class would overwrite the values that the base has set.
func (w *script) class(d *idl.Decl) error {
	shape, err := bareType(d)
	if err != nil {
		return err
	}
	name, base, first, names := scriptName(d.Name), "Resource", "", ""
	if d.Named {
		base, first, names = "NamedResource", "name: string, ", "name, "
	}
	w.doc("", d.Doc)
	fmt.Fprintf(&w.b, "%sclass %s extends %s.%s {\n", w.exported(d), name, w.lib, base)
	if d.Token != "" {
		fmt.Fprintf(&w.b, "  static readonly token = %s;\n", quote(d.Token))
	}
	fmt.Fprintf(&w.b, "  static readonly type: %s.Type = %s;\n", w.lib, shape)
	for _, f := range d.Fields {
		wrap := "Input"
		if f.Out {
			wrap = "Output"
		}
		w.b.WriteString("\n")
		w.doc("  ", f.Doc, deprecated(f))
		fmt.Fprintf(&w.b, "  declare %s%s%s: %s;\n", readonly(f), key(f.Key), question(f.Optional), w.value(wrap, f))
	}
	args := name + "Args"
	def := " = {}"
	if slices.ContainsFunc(d.Fields, (*idl.Field).Required) {
		def = ""
	}
	fmt.Fprintf(&w.b, "\n  constructor(%sargs: %s%s) {\n    super(%s.type, %sargs);\n  }\n}\n", first, args, def, name, names)
	fmt.Fprintf(&w.b, "\n/** The arguments of %s. */\n%sinterface %s {\n", name, w.exported(d), args)
	for _, f := range d.Fields {
		if !f.Out {
			w.doc("  ", f.Doc, deprecated(f))
			fmt.Fprintf(&w.b, "  %s%s%s: %s;\n", readonly(f), key(f.Key), question(f.Optional), w.value("Input", f))
		}
	}
	w.b.WriteString("}\n")
	return nil
}

// readonly marks the properties whose change makes another resource.
func readonly(f *idl.Field) string {
	if f.Replaces {
		return "readonly "
	}
	return ""
}

// value writes the type of a property of a resource. An argument may be the output of another
// resource instead.
func (w *script) value(wrap string, f *idl.Field) string {
	return fmt.Sprintf("%s.%s<%s>", w.lib, wrap, w.shape(f.Shape))
}

// bareType returns the type of a resource as programs check it: in the form of package wire,
// without docs.
func bareType(d *idl.Decl) (string, error) {
	text, err := wire.EncodeAs(d.TypeKind(), d.Type)
	if err != nil {
		return "", err
	}
	var doc struct {
		Type json.RawMessage `json:"type"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := bare(json.NewDecoder(bytes.NewReader(doc.Type)), &b); err != nil {
		return "", err
	}
	return b.String(), nil
}

// bare copies JSON without the texts for people, in its own order of keys.
func bare(dec *json.Decoder, b *bytes.Buffer) error {
	dec.UseNumber()
	return bareValue(dec, b)
}

// bareValue copies one value. Keys whose values are for people are read, and written nowhere.
func bareValue(dec *json.Decoder, b *bytes.Buffer) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		b.WriteString(quote(tok))
		return nil
	}
	closing := map[json.Delim]string{'{': "}", '[': "]"}[delim]
	b.WriteString(delim.String())
	n := b.Len()
	for dec.More() {
		to := b
		if delim == '{' {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			if slices.Contains([]string{"doc", "go", "names", "deprecated", "manifest"}, name.(string)) {
				to = new(bytes.Buffer)
			} else {
				comma(b, n)
				b.WriteString(quote(name) + ":")
			}
		} else {
			comma(b, n)
		}
		if err := bareValue(dec, to); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	b.WriteString(closing)
	return err
}

// comma parts a value from the one before it, if any was written since a place.
func comma(b *bytes.Buffer, from int) {
	if b.Len() > from {
		b.WriteString(",")
	}
}
