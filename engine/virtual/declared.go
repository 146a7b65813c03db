package virtual

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// declaration is an interface as a file describes it.
type declaration struct {
	Interface string             `yaml:"interface" doc:"The module." mgmt:"required"`
	Doc       string             `yaml:"doc" doc:"Purpose."`
	Functions []declaredFunction `yaml:"functions" doc:"The functions that can be called."`
}

type declaredFunction struct {
	described     `yaml:",inline"`
	Default       any              `yaml:"default"`
	NotFound      any              `yaml:"not_found"`
	NotApplicable map[string][]any `yaml:"not_applicable"`
	Supported     map[string][]any `yaml:"supported"`
	Alone         bool             `yaml:"alone"`
	Extra         bool             `yaml:"extra"`
	Deprecated    string           `yaml:"deprecated"`
}

// IsDeclaration reports whether a description is one of an interface, and not one of a backend.
func IsDeclaration(n *schema.Node) bool { return n.Get("interface") != nil }

// Declared reads an interface, as a frontend has read it from a file: what Describe gives, and
// what External reads of functions.
func Declared(n *schema.Node) (*Interface, schema.Diagnostics) {
	var d declaration
	ds := schema.Decode(n, &d)
	i := &Interface{Module: d.Interface, Doc: d.Doc}
	for k := range d.Functions {
		g := &d.Functions[k]
		f := g.function(n.At(fmt.Sprintf("functions[%d]", k)), &ds)
		f.Default, f.NotFound, f.Alone, f.Extra, f.Deprecated = g.Default, g.NotFound, g.Alone, g.Extra, g.Deprecated
		f.NotApplicable, f.Supported = g.NotApplicable, g.Supported
		i.Functions = append(i.Functions, f)
	}
	if ds.Err() == nil {
		placed(n, "interface "+i.Module, i.faults(), &ds)
	}
	return i, ds
}

// Describe returns the interface as a plain value that Declared reads.
func (i *Interface) Describe() map[string]any {
	functions := []any{}
	for n := range i.Functions {
		functions = append(functions, i.Functions[n].describe())
	}
	return telling(map[string]any{"interface": i.Module, "doc": i.Doc, "functions": functions})
}

func (f *Function) describe() map[string]any {
	params := []any{}
	for _, p := range f.Params {
		q := map[string]any{"name": p.Name, "doc": p.Doc, "type": notation(p.Type)}
		if p.Kind != Positional {
			q["kind"] = p.Kind.String()
		}
		if p.Optional {
			q["optional"], q["default"] = true, revealed(p.Default)
		}
		params = append(params, telling(q))
	}
	all := map[string]any{"name": f.Name, "doc": f.Doc, "returns": notation(f.Returns), "default": f.Default, "not_found": f.NotFound, "deprecated": f.Deprecated}
	if len(params) > 0 {
		all["params"] = params
	}
	for key, is := range map[string]bool{"extra": f.Extra, "alone": f.Alone} {
		if is {
			all[key] = true
		}
	}
	for key, rule := range map[string]Match{"not_applicable": f.NotApplicable, "supported": f.Supported} {
		if rule != nil {
			all[key] = rule.plain()
		}
	}
	return telling(all)
}

func (m Match) plain() map[string]any {
	out := map[string]any{}
	for key, values := range m {
		out[key] = append([]any{}, values...)
	}
	return out
}

// telling leaves out what says nothing.
func telling(m map[string]any) map[string]any {
	for key, v := range m {
		if text, is := v.(string); v == nil || is && text == "" && key != "default" {
			delete(m, key)
		}
	}
	return m
}

// revealed is a default as a description has it: that of a secret is empty, or is not told.
func revealed(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return nil
	case Source:
		return string(v)
	default:
		return v
	}
}

// notation writes a type in the notation that ParseShape reads; nil for nil.
func notation(t *schema.Type) any {
	if t == nil {
		return nil
	}
	switch t.Kind {
	case schema.KindList, schema.KindMap:
		word := "list"
		if t.Kind == schema.KindMap {
			word = "map"
		}
		if t.Elem == nil || t.Elem.Kind == schema.KindAny {
			return word
		}
		return map[string]any{"type": word + "_of", "of": notation(t.Elem)}
	case schema.KindStruct:
		fields, optional := map[string]any{}, map[string]any{}
		for _, f := range t.Fields {
			if f.Type.Optional {
				optional[f.Key] = notation(f.Type)
			} else {
				fields[f.Key] = notation(f.Type)
			}
		}
		return map[string]any{"type": "record", "fields": fields, "optional": optional}
	case schema.KindString:
		if t.Secret {
			return "secret"
		}
	}
	return map[schema.Kind]string{
		schema.KindAny: "any", schema.KindBool: "bool", schema.KindInt: "int", schema.KindFloat: "float",
		schema.KindString: "string", schema.KindDuration: "duration", schema.KindSize: "size",
	}[t.Kind]
}
