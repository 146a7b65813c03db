package generate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// python writes stubs of types for checkers such as mypy. A provider in Python reads and writes the properties of its resources as
// dicts, and these have the types of them. Each file of definitions has one file, and a module has an
// __init__.pyi that makes it a package. References are texts, as they are on the wire.
func python(p *idl.Package, _ Options) (Files, error) {
	out := Files{}
	for _, m := range p.Modules {
		out[pyPath(path.Join(m.Dir, "__init__"))+".pyi"] = []byte(header("# ", m.Dir))
		for _, f := range m.Files {
			w, at := newPyStub(f), pyPath(swap(f.Path, ""))+".pyi"
			if _, twice := out[at]; twice {
				return nil, fmt.Errorf("two files of definitions have the module %s of Python, %s among them; give one another name", at, f.Path)
			}
			out[at] = []byte(w.file())
		}
	}
	return out, nil
}

// pyStub writes one file.
type pyStub struct {
	f     *idl.File
	names map[*idl.File]string // of the files that it imports
	b     strings.Builder
}

// newPyStub chooses the names of the imports of a file. Two paths that give the same word, such as a/b and a_b, get different
// names.
func newPyStub(f *idl.File) *pyStub {
	w, taken := &pyStub{f: f, names: map[*idl.File]string{}}, map[string]bool{}
	var imported []*idl.File
	for d := range uses(f) {
		if d.File != f && d.Kind != idl.DeclResource {
			imported = append(imported, d.File)
		}
	}
	slices.SortFunc(imported, func(a, b *idl.File) int { return strings.Compare(a.Path, b.Path) })
	for _, file := range slices.Compact(imported) {
		name := "_" + idl.Flat(swap(file.Path, ""))
		for taken[name] {
			name += "_"
		}
		w.names[file], taken[name] = name, true
	}
	return w
}

// file writes the imports and all declarations in the order of the source. Names of other modules have their module
// before them, so no name clashes.
func (w *pyStub) file() string {
	w.b.WriteString(header("# ", w.f.Path) + "from typing import Any, Final, Literal, NotRequired, Required, TypedDict\n")
	var imports []string
	for file := range w.names {
		imports = append(imports, w.importOf(file))
	}
	slices.Sort(imports)
	for _, line := range imports {
		w.b.WriteString(line + "\n")
	}
	for _, d := range w.f.Decls {
		w.b.WriteString("\n")
		switch d.Kind {
		case idl.DeclEnum:
			var words []string
			for _, v := range d.Values {
				words = append(words, quote(v.Value))
			}
			w.comment(d.Doc)
			fmt.Fprintf(&w.b, "%s = Literal[%s]\n", pyName(d.Name), strings.Join(words, ", "))
		case idl.DeclConst:
			w.comment(d.Doc)
			fmt.Fprintf(&w.b, "%s: Final = %s\n", pyName(d.Name), pyValue(d.Value))
		default:
			w.dict(d)
		}
	}
	return w.b.String()
}

// importOf is the import of another file, relative to this one.
func (w *pyStub) importOf(file *idl.File) string {
	dots := "."
	if w.f.Module.Dir != "." {
		dots += strings.Repeat(".", strings.Count(w.f.Module.Dir, "/")+1)
	}
	dir, base := path.Split(pyPath(swap(file.Path, "")))
	return fmt.Sprintf("from %s%s import %s as %s", dots, strings.ReplaceAll(strings.Trim(dir, "/"), "/", "."), base, w.names[file])
}

// dict writes a struct or a resource. A dict in the form of a call takes every text as a key.
func (w *pyStub) dict(d *idl.Decl) {
	w.comment(d.Doc)
	name := pyName(d.Name)
	fmt.Fprintf(&w.b, "%s = TypedDict(\"%s\", {\n", name, name)
	if d.Named {
		w.b.WriteString("    \"name\": Required[str],\n")
	}
	for _, f := range d.Fields {
		word := "Required"
		if !f.Required() {
			word = "NotRequired"
		}
		for line := range strings.SplitSeq(strings.TrimSpace(f.Doc), "\n") {
			if line != "" {
				fmt.Fprintf(&w.b, "    # %s\n", strings.TrimSpace(line))
			}
		}
		fmt.Fprintf(&w.b, "    %s: %s[%s],\n", quote(f.Key), word, w.shape(f.Shape))
	}
	w.b.WriteString("})\n")
	if d.Token != "" {
		fmt.Fprintf(&w.b, "%s_TOKEN: Final = %s\n", name, quote(d.Token))
	}
}

// shape writes a type. Names of declarations are in quotes, since they may come later.
func (w *pyStub) shape(s *idl.Shape) string {
	switch t := s.Type; {
	case t.Kind == schema.KindRef:
		return "str"
	case s.Blob != "":
		return "dict[str, str]"
	case s.Decl != nil && s.Decl.File == w.f:
		return `"` + pyName(s.Decl.Name) + `"`
	case s.Decl != nil:
		return `"` + w.names[s.Decl.File] + "." + pyName(s.Decl.Name) + `"`
	case t.Kind == schema.KindList:
		return "list[" + w.shape(s.Elem) + "]"
	case t.Kind == schema.KindMap:
		key := "str"
		if s.Keys != nil {
			key = w.shape(&idl.Shape{Type: &schema.Type{Kind: schema.KindString}, Decl: s.Keys})
		}
		return "dict[" + key + ", " + w.shape(s.Elem) + "]"
	case t.Kind == schema.KindBool:
		return "bool"
	case t.Kind == schema.KindFloat, t.Kind == schema.KindInt:
		return "float"
	case t.Kind == schema.KindAny:
		return "Any"
	}
	return "str"
}

// comment writes a text for people.
func (w *pyStub) comment(text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line != "" {
			w.b.WriteString("# " + strings.TrimSpace(line) + "\n")
		}
	}
}

// pyValue writes a constant. Texts and numbers are written as in JSON.
func pyValue(v any) string {
	switch v {
	case true:
		return "True"
	case false:
		return "False"
	}
	return quote(v)
}

// pyWords are the reserved words of Python, and the names that the stubs use.
var pyWords = lazyregexp.New(`^(False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|` +
	`import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|Any|Final|Literal|NotRequired|Required|TypedDict|bool|dict|float|list|str)$`)

// pyPath is the path of a module of Python, whose parts an import can name.
func pyPath(file string) string {
	parts := strings.Split(file, "/")
	for i, part := range parts {
		parts[i] = pyName(pySign.ReplaceAllString(part, "_"))
		if part[0] >= '0' && part[0] <= '9' {
			parts[i] = "_" + parts[i]
		}
	}
	return strings.Join(parts, "/")
}

// pySign is a character that no name has.
var pySign = lazyregexp.New(`[^A-Za-z0-9_]`)

// pyName is a name in Python. A word of the language gets another spelling.
func pyName(name string) string {
	if pyWords.MatchString(name) {
		return name + "_"
	}
	return name
}
