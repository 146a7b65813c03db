package idl_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// schemasOf adds the JSON Schema of each property of a struct.
func schemasOf(d *idl.Decl, to map[string]any) error {
	text, err := derive.JSONSchema(d.Type)
	if err != nil {
		return err
	}
	var doc struct{ Properties map[string]any }
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	for key, s := range doc.Properties {
		to[d.Name+"."+key] = s
	}
	return nil
}

var (
	importLine = regexp.MustCompile(`^import type \{ (.*) \} from "(.*)\.ts";$`)
	enumLine   = regexp.MustCompile(`^(export )?type (\w+) = (.*);$`)
	constLine  = regexp.MustCompile(`^(?:export )?const (\w+): (\w+) = (.*);$`)
	openLine   = regexp.MustCompile(`^(export )?interface (\w+) \{$`)
	classLine  = regexp.MustCompile(`^(export )?class (\w+) extends mgmt_*\.(\w+) \{$`)
	propLine   = regexp.MustCompile(`^  (declare )?(readonly )?(\w+)(\?)?: (.*);$`)
	ctorLine   = regexp.MustCompile(`^  constructor\((.*)\) \{$`)
	wrapped    = regexp.MustCompile(`^mgmt_*\.(Input|Output)<(.*)>$`)
	library    = regexp.MustCompile(`mgmt_*\.Resource`)
)

// script reads generated TypeScript, line by line.
type script struct {
	classes, interfaces, types, consts map[string]any
	imports, docs                      []any
	class, inside                      string
	props                              map[string]any
	documented                         bool
}

// readScript returns what a file of TypeScript declares, and the names that have a comment.
func readScript(text string) (map[string]any, []any) {
	s := &script{classes: map[string]any{}, interfaces: map[string]any{}, types: map[string]any{}, consts: map[string]any{}}
	for line := range strings.SplitSeq(text, "\n") {
		s.line(line)
		comment := strings.HasPrefix(strings.TrimSpace(line), "/**") || strings.HasPrefix(strings.TrimSpace(line), "*")
		s.documented = comment
	}
	// The interface of the arguments belongs to its class.
	for name, c := range s.classes {
		class := c.(map[string]any)
		class["args"] = map[string]any{}
		if args, ok := s.interfaces[name+"Args"].(map[string]any); ok {
			class["args"] = args["props"]
			for _, p := range args["props"].(map[string]any) {
				delete(p.(map[string]any), "out")
			}
			delete(s.interfaces, name+"Args")
		}
	}
	for _, i := range s.interfaces {
		for _, p := range i.(map[string]any)["props"].(map[string]any) {
			delete(p.(map[string]any), "out")
			delete(p.(map[string]any), "readonly")
		}
	}
	return map[string]any{"classes": s.classes, "interfaces": s.interfaces, "types": s.types, "consts": s.consts, "imports": s.imports}, s.docs
}

func (s *script) line(line string) {
	if m := importLine.FindStringSubmatch(line); m != nil {
		s.imports = append(s.imports, map[string]any{"names": strings.Split(m[1], ", "), "from": m[2]})
	}
	if m := enumLine.FindStringSubmatch(line); m != nil {
		s.types[m[2]] = unionParts(m[3])
	}
	if m := constLine.FindStringSubmatch(line); m != nil {
		var v any
		_ = json.Unmarshal([]byte(m[3]), &v)
		s.consts[m[1]] = map[string]any{"type": m[2], "value": v}
	}
	if m := openLine.FindStringSubmatch(line); m != nil {
		s.open(m[2])
		s.interfaces[m[2]] = map[string]any{"exported": m[1] != "", "props": s.props}
	}
	if m := classLine.FindStringSubmatch(line); m != nil {
		s.open(m[2])
		s.class = m[2]
		s.classes[m[2]] = map[string]any{"base": m[3], "props": s.props}
	}
	if m := ctorLine.FindStringSubmatch(line); m != nil && s.class != "" {
		var names []string
		optional := false
		for arg := range strings.SplitSeq(m[1], ", ") {
			name, rest, _ := strings.Cut(arg, ":")
			names = append(names, strings.TrimSuffix(name, "?"))
			optional = strings.HasSuffix(rest, " = {}") || strings.HasSuffix(name, "?")
		}
		class := s.classes[s.class].(map[string]any)
		class["ctor"], class["argsOptional"] = names, optional
	}
	if m := propLine.FindStringSubmatch(line); m != nil && s.props != nil {
		s.property(m)
	}
	if line == "}" {
		s.class, s.props = "", nil
	}
}

func (s *script) open(name string) {
	s.inside, s.props = name, map[string]any{}
	if s.documented {
		s.docs = append(s.docs, name)
	}
}

func (s *script) property(m []string) {
	typ, out := m[5], false
	if w := wrapped.FindStringSubmatch(typ); w != nil {
		typ, out = w[2], w[1] == "Output"
	}
	typ = library.ReplaceAllString(typ, "Resource")
	s.props[m[3]] = map[string]any{"type": typ, "optional": m[4] != "", "readonly": m[2] != "", "out": out}
	if s.documented {
		s.docs = append(s.docs, s.inside+"."+m[3])
	}
}

// unionParts reads a union of literals.
func unionParts(text string) []string {
	var out []string
	dec := json.NewDecoder(strings.NewReader("[" + strings.ReplaceAll(text, `" | "`, `","`) + "]"))
	_ = dec.Decode(&out)
	return out
}

// readStub returns what a file of Go declares, and adds what it has for each resource to ops.
func readStub(text string, ops map[string]any) (map[string]any, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &stub{tokens: map[string]string{}, structs: map[string]any{}, enums: map[string]any{}, consts: map[string]any{}, names: map[string]any{}, ops: ops, text: text}
	enums := map[string]bool{}
	for _, d := range f.Decls {
		if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
			spec := gen.Specs[0].(*ast.TypeSpec)
			if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "string" && !spec.Assign.IsValid() {
				enums[spec.Name.Name] = true
				s.enums[spec.Name.Name] = []string{}
			}
		}
	}
	for _, d := range f.Decls {
		s.decl(d)
	}
	return map[string]any{"package": f.Name.Name, "tokens": s.tokens, "structs": s.structs, "enums": s.enums, "consts": s.consts, "nameOp": s.names}, nil
}

type stub struct {
	tokens                        map[string]string
	structs, enums, consts, names map[string]any
	ops                           map[string]any
	text                          string
}

func (s *stub) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.function(d)
	case *ast.GenDecl:
		switch d.Tok {
		case token.CONST:
			s.constant(d.Specs[0].(*ast.ValueSpec))
		case token.TYPE:
			s.typeSpec(d.Specs[0].(*ast.TypeSpec))
		}
	}
}

func (s *stub) constant(spec *ast.ValueSpec) {
	name, value := spec.Names[0].Name, valueOf(spec.Values[0])
	text, _ := value.(string)
	if strings.Count(text, ":") == 2 && strings.HasSuffix(text, ":"+name) {
		s.tokens[name] = text
		return
	}
	s.consts[name] = value
	if id, ok := spec.Type.(*ast.Ident); ok {
		if list, ok := s.enums[id.Name].([]string); ok {
			s.enums[id.Name] = append(list, text)
		}
	}
}

func valueOf(e ast.Expr) any {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name == "true"
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil {
			return text
		}
		n, _ := strconv.ParseFloat(x.Value, 64)
		return n
	}
	return nil
}

func (s *stub) typeSpec(spec *ast.TypeSpec) {
	name := spec.Name.Name
	if st, ok := spec.Type.(*ast.StructType); ok && !strings.HasSuffix(name, "Provider") {
		fields := []any{}
		for _, f := range st.Fields.List {
			typ := strings.NewReplacer("idl.URN", "URN", "idl_.URN", "URN").Replace(types.ExprString(f.Type))
			raw, _ := strconv.Unquote(f.Tag.Value)
			tag := strings.Replace(reflect.StructTag(raw).Get("json"), ",omitempty", ",optional", 1)
			fields = append(fields, map[string]any{"name": f.Names[0].Name, "type": typ, "tag": tag})
		}
		s.structs[name] = fields
	}
	if it, ok := spec.Type.(*ast.InterfaceType); ok {
		var members []string
		for _, m := range it.Methods.List {
			if len(m.Names) > 0 {
				members = append(members, m.Names[0].Name)
			}
		}
		resource := strings.TrimSuffix(name, "ProviderOps")
		op := s.op(resource)
		s.names[resource] = "auto"
		if slices.Contains(members, "Name") {
			s.names[resource] = "ops"
		}
		op["interface"], op["members"] = name, slices.DeleteFunc(members, func(m string) bool { return m == "Name" })
		impl := idl.Property(resource) + "ProviderOpsImpl"
		if strings.Contains(s.text, impl+" implements it") {
			op["impl_convention"] = impl
		}
	}
	if resource, ok := strings.CutSuffix(name, "Provider"); ok {
		s.op(resource)["provider"] = name
	}
}

func (s *stub) op(resource string) map[string]any {
	if s.ops[resource] == nil {
		s.ops[resource] = map[string]any{}
	}
	return s.ops[resource].(map[string]any)
}

func (s *stub) function(d *ast.FuncDecl) {
	name := d.Name.Name
	if d.Recv == nil && strings.HasPrefix(name, "New") {
		s.op(strings.TrimSuffix(strings.TrimPrefix(name, "New"), "Provider"))["constructor"] = name
	}
}
