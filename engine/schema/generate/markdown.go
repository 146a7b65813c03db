package generate

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// markdown writes a page of each module: README.md in its folder, with every resource and every
// enum.
func markdown(p *idl.Package, _ Options) (Files, error) {
	out := Files{}
	for _, m := range p.Modules {
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- %s -->\n\n# %s\n", strings.TrimSpace(header("", m.Dir)), moduleName(p, m))
		for _, f := range m.Files {
			for _, d := range f.Decls {
				section(&b, d)
			}
		}
		out[path.Join(m.Dir, "README.md")] = []byte(b.String())
	}
	return out, nil
}

// moduleName is the title of a page: the package, and the folder of the module.
func moduleName(p *idl.Package, m *idl.Module) string {
	if m.Dir == "." {
		return p.Name
	}
	return p.Name + "/" + m.Dir
}

// section writes the part of the page about a declaration. A struct is shown where it is used.
// A constant without an enum is left out.
func section(b *strings.Builder, d *idl.Decl) {
	switch {
	case d.Kind == idl.DeclEnum:
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n| constant | value | meaning |\n| --- | --- | --- |\n", d.Name, strings.TrimSpace(d.Doc))
		for _, v := range d.Values {
			fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", v.Name, quote(v.Value), strings.Join(strings.Fields(v.Doc), " "))
		}
	case d.Kind == idl.DeclResource:
		k := kindOf(d)
		k.Example = example(d)
		page := derive.Markdown(k)
		// One level down, since the page of a kind begins with a title of its own.
		page = strings.ReplaceAll("\n"+page, "\n#", "\n##")
		b.WriteString(page)
		fmt.Fprintf(b, "\n### %s in TypeScript\n\n```typescript\n%s\n```\n", d.Name, scriptExample(d))
	}
}

// example writes a piece of a graph with all required properties. YAML reads values of JSON.
func example(d *idl.Decl) string {
	var b strings.Builder
	fmt.Fprintf(&b, "resources:\n  %s:\n    - name: example\n", d.TypeKind())
	for _, f := range d.Type.Fields {
		if f.Required {
			fmt.Fprintf(&b, "      %s: %s\n", f.Key, quote(sample(f.Type)))
		}
	}
	return b.String()
}

// scriptExample writes the same as a program. A reference to another resource is named other.
func scriptExample(d *idl.Decl) string {
	var args []string
	for _, f := range d.Type.Fields {
		if f.Required {
			args = append(args, f.Key+": "+scriptSample(f.Type))
		}
	}
	text := "{" + strings.Join(args, ", ") + "}"
	if d.Named {
		text = `"example", ` + text
	}
	return fmt.Sprintf("const example = new %s(%s);", d.Name, text)
}

// scriptSample is a value in a program: a reference is the resource itself.
func scriptSample(t *schema.Type) string {
	if t.Kind == schema.KindRef {
		return "other"
	}
	return quote(sample(t))
}

// sample returns a value that a type takes, as far as its kind and its bounds say. A pattern is
// not looked at, so a person may have to put another text there.
func sample(t *schema.Type) any {
	switch t.Kind {
	case schema.KindBool:
		return true
	case schema.KindFloat:
		if t.FloatMin != nil {
			return *t.FloatMin
		}
		return 1
	case schema.KindRef:
		target := t.Target
		if target == "" {
			target = "file"
		}
		return target + "[other]"
	case schema.KindList:
		return []any{}
	case schema.KindMap:
		if t.Min != nil && *t.Min == 1 && len(t.Enum) > 0 { // such as an asset
			return map[string]any{t.Enum[0]: sample(t.Elem)}
		}
		return map[string]any{}
	case schema.KindStruct:
		out := orderedMap{}
		for _, f := range t.Fields {
			if f.Required {
				out = append(out, entry{f.Key, sample(f.Type)})
			}
		}
		return out
	}
	if len(t.Enum) > 0 {
		return t.Enum[0]
	}
	return "example"
}

// orderedMap is an object of JSON with its own order.
type orderedMap []entry

type entry struct {
	key   string
	value any
}

// MarshalJSON writes the keys as they stand.
func (m orderedMap) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, e := range m {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, quote(e.key)...), ':'), value...)
	}
	return append(b, '}'), nil
}
