package typescript

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

//go:embed sdk/*.ts
var sdk embed.FS

// Module is the name of the module with the classes of all kinds.
const Module = "mgmt"

// form says what a module is for.
type form int

const (
	run       form = iota // by the helper, which reads no types
	checked               // by tsc
	described             // for authors: each class and each argument has its text
)

// sources returns the module mgmt and the modules that it imports, by their names in imports. The module has a class for
// each kind of the registry. The same registry gives the same texts.
func sources(reg *engine.Registry, f form) (map[string]string, error) {
	all := map[string]string{}
	entries, err := sdk.ReadDir("sdk")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := sdk.ReadFile("sdk/" + e.Name())
		if err != nil {
			return nil, err
		}
		all[e.Name()] = string(text)
	}
	p := pack{form: f, taken: map[string]bool{}}
	for _, word := range exported.FindAllStringSubmatch(all["core.ts"], -1) {
		p.taken[word[1]] = true
	}
	p.b.WriteString("import { NamedResource } from \"./core.ts\";\nimport type { Common, Input, Output, Ref, Type } from \"./core.ts\";\n\nexport * from \"./core.ts\";\n")
	for _, name := range reg.Kinds() {
		k, err := reg.Kind(name)
		if err != nil {
			return nil, err
		}
		if err := p.class(k); err != nil {
			return nil, fmt.Errorf("the class of the kind %s: %w", name, err)
		}
	}
	all[Module] = p.b.String()
	return all, nil
}

// exported finds the names that a source exports.
var exported = lazyregexp.New(`(?m)^export (?:abstract )?(?:class|function|const|interface|type) (\w+)`)

// pack writes the classes of kinds.
type pack struct {
	form  form
	taken map[string]bool
	b     bytes.Buffer
}

// className is a kind in the casing of classes: aws:ec2:vpc is AwsEc2Vpc.
func (p *pack) className(kind string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(kind, func(r rune) bool { return r == ':' || r == '_' || r == '-' || r == '.' || r == '/' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	name := b.String()
	for p.taken[name] || p.taken[name+"Args"] || !plainKey.MatchString(name) {
		name = "Kind" + name
	}
	p.taken[name], p.taken[name+"Args"] = true, true
	return name
}

// class writes the class of a kind and the interface of its arguments. A key that is sent too is an output of the class,
// because an output can be given to any argument.
func (p *pack) class(k engine.Kind) error {
	shape, err := bare(k.Name, k.Type)
	if err != nil {
		return err
	}
	name := p.className(k.Name)
	sends := sent(k)
	p.b.WriteString("\n")
	p.doc("", docOf(k))
	if p.form == run { // few programs have all classes, and a text is read faster than an object
		shape = "/* @__PURE__ */ JSON.parse(" + quote(shape) + ")"
	}
	fmt.Fprintf(&p.b, "export class %s extends NamedResource {\n  static readonly token = %s;\n  static readonly type: Type = %s;\n", name, quote(k.Name), shape)
	if len(sends) > 0 {
		var keys []string
		for _, f := range sends {
			keys = append(keys, f.Key)
		}
		fmt.Fprintf(&p.b, "  static readonly sends: readonly string[] = %s;\n", quote(keys))
		keys = []string{}
		for _, f := range sends {
			if f.Type.Kind == schema.KindString || f.Type.Opaque {
				keys = append(keys, f.Key)
			}
		}
		fmt.Fprintf(&p.b, "  static readonly texts: readonly string[] = %s;\n", quote(keys))
	}
	if p.form == run {
		fmt.Fprintf(&p.b, "\n  constructor(name, args = {}) {\n    super(%s.type, name, args);\n  }\n}\n", name)
		return nil
	}
	needed := false
	for _, f := range k.Type.Fields {
		if input(f) && !slices.ContainsFunc(sends, func(s *schema.Field) bool { return s.Key == f.Key }) {
			p.field("  declare readonly ", f, "Input")
		}
		needed = needed || input(f) && f.Required
	}
	for _, f := range sends {
		p.field("  declare readonly ", f, "Output")
	}
	def := " = {}"
	if needed {
		def = ""
	}
	fmt.Fprintf(&p.b, "\n  constructor(name: string, args: %sArgs%s) {\n    super(%s.type, name, args);\n  }\n}\n", name, def, name)
	fmt.Fprintf(&p.b, "\nexport interface %sArgs extends Common {\n", name)
	for _, f := range k.Type.Fields {
		if input(f) {
			p.field("  readonly ", f, "Input")
		}
	}
	p.b.WriteString("}\n")
	return nil
}

// docOf is the text of a kind. A kind that is made of data has it in its type.
func docOf(k engine.Kind) string {
	if k.Doc != "" || k.Type == nil {
		return k.Doc
	}
	return k.Type.Doc
}

// sent are the values that a kind sends. The name of a resource is known beforehand.
func sent(k engine.Kind) []*schema.Field {
	if k.Abilities.Sends == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(k.Abilities.Sends.Fields), func(f *schema.Field) bool { return f.Key == "name" })
}

// input reports whether a field is an argument.
func input(f *schema.Field) bool { return f.Role != schema.RoleReadOnly && f.Key != "name" }

// field writes a property.
func (p *pack) field(begin string, f *schema.Field, wrap string) {
	if p.form == described {
		p.b.WriteString("\n")
		text := derive.DocText(f)
		if f.Deprecated != "" {
			text += "\n\n@deprecated " + f.Deprecated
		}
		p.doc("  ", text)
	}
	shape := script(f.Type, wrap == "Input")
	end := fmt.Sprintf("?: %s<%s> | undefined;\n", wrap, shape)
	if f.Required && wrap == "Input" || wrap == "Output" {
		end = fmt.Sprintf(": %s<%s>;\n", wrap, shape)
	}
	key := f.Key
	if !plainKey.MatchString(key) {
		key = strconv.Quote(key)
	}
	p.b.WriteString(begin + key + end)
}

var plainKey = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// doc writes a comment of TSDoc.
func (p *pack) doc(indent, text string) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "*/", `*\/`)
	if p.form != described || text == "" {
		return
	}
	p.b.WriteString(indent + "/**\n")
	for line := range strings.SplitSeq(text, "\n") {
		p.b.WriteString(strings.TrimRight(indent+" * "+line, " \t\r") + "\n")
	}
	p.b.WriteString(indent + " */\n")
}

// words is the type of the texts of an enum.
func words(enum []string) string {
	list := make([]string, len(enum))
	for i, w := range enum {
		list[i] = quote(w)
	}
	return strings.Join(list, " | ")
}

// script is a type in TypeScript. What code of the kind reads may be anything. The parts of an argument may be outputs.
func script(t *schema.Type, input bool) string {
	part := func(t *schema.Type) string {
		if input {
			return "Input<" + script(t, true) + ">"
		}
		return script(t, false)
	}
	switch {
	case t.Opaque, t.Link != nil:
		return "unknown"
	case len(t.Enum) > 0 && t.Kind != schema.KindMap:
		return words(t.Enum)
	}
	switch t.Kind {
	case schema.KindBool:
		return "boolean"
	case schema.KindInt:
		return "number | bigint"
	case schema.KindFloat:
		return "number"
	case schema.KindString:
		return "string"
	case schema.KindDuration, schema.KindSize, schema.KindMode:
		return "string | number"
	case schema.KindRef:
		return "Ref"
	case schema.KindList:
		return "readonly (" + part(t.Elem) + ")[]"
	case schema.KindMap:
		if len(t.Enum) > 0 {
			return "{ readonly [key in " + words(t.Enum) + "]?: " + part(t.Elem) + " }"
		}
		return "{ readonly [key: string]: " + part(t.Elem) + " }"
	case schema.KindStruct:
		return structure(t, part)
	}
	return "unknown"
}

// structure is an object with the fields of a struct, whose types part writes.
func structure(t *schema.Type, part func(*schema.Type) string) string {
	var b strings.Builder
	b.WriteString("{")
	for _, f := range t.Fields {
		mark := "?: "
		if f.Required {
			mark = ": "
		}
		fmt.Fprintf(&b, " readonly %s%s%s;", strconv.Quote(f.Key), mark, part(f.Type))
	}
	return b.String() + " }"
}

// bareType is a type as programs check it: the form of package wire, without texts for people.
type bareType struct {
	Kind     string      `json:"kind"`
	Name     string      `json:"name,omitempty"`
	Opaque   bool        `json:"opaque,omitempty"`
	Enum     []string    `json:"enum,omitempty"`
	Pattern  string      `json:"pattern,omitempty"`
	Target   string      `json:"target,omitempty"`
	Unsigned bool        `json:"unsigned,omitempty"`
	Min      any         `json:"min,omitempty"`
	Max      any         `json:"max,omitempty"`
	Of       *bareType   `json:"of,omitempty"`
	Fields   []bareField `json:"fields,omitempty"`
	Link     string      `json:"link,omitempty"`
}

// bareField is one key of a struct.
type bareField struct {
	Key      string    `json:"key"`
	Alias    string    `json:"alias,omitempty"`
	Role     string    `json:"role,omitempty"`
	Required bool      `json:"required,omitempty"`
	Type     *bareType `json:"type"`
}

// bare returns the literal of a type. The name of a resource is an argument of its own, so the type leaves it out.
func bare(name string, t *schema.Type) (string, error) {
	text, err := wire.EncodeAs(name, t)
	if err != nil {
		return "", err
	}
	var doc struct {
		Type *bareType `json:"type"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return "", err
	}
	doc.Type.Fields = slices.DeleteFunc(doc.Type.Fields, func(f bareField) bool { return f.Key == "name" })
	return quote(doc.Type), nil
}

// quote writes a value as JSON, which is a literal of TypeScript too.
func quote(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	return strings.TrimSpace(b.String())
}
