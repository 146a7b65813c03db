package author

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
)

// TestProtobufOfEveryKind: every parameter of every kind has a field of its name, and no number is there twice.
func TestProtobufOfEveryKind(t *testing.T) {
	a := newTestApp()
	text, err := protobufOf(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := cli.AllKinds(a)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(text), "\nmessage ")
	if len(all) != len(kinds)+1 {
		t.Fatalf("%d messages for %d kinds", len(all)-1, len(kinds))
	}
	field := regexp.MustCompile(`(?m)^  [A-Za-z].* = (\d+) \[json_name = "(.*)"\];$`)
	for i, k := range kinds {
		keys, numbers := map[string]bool{}, map[string]bool{}
		for _, m := range field.FindAllStringSubmatch(all[i+1], -1) {
			if numbers[m[1]] {
				t.Errorf("%s: the number %s is there twice", k.Name, m[1])
			}
			keys[m[2]], numbers[m[1]] = true, true
		}
		if len(keys) != len(k.Type.Fields) {
			t.Errorf("%s: %d fields for %d parameters", k.Name, len(keys), len(k.Type.Fields))
		}
		for _, f := range k.Type.Fields {
			if !keys[f.Key] {
				t.Errorf("%s has no field %s", k.Name, f.Key)
			}
		}
	}
}

// TestOpenAPIOfEveryKind: every kind is a component, and each reference leads to a definition in the same component.
func TestOpenAPIOfEveryKind(t *testing.T) {
	a := newTestApp()
	text, err := openAPIOf(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OpenAPI    string
		Components struct {
			Schemas map[string]map[string]any
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Components.Schemas) != len(a.Kinds().Kinds()) || doc.OpenAPI != "3.1.0" {
		t.Errorf("%d components, version %s", len(doc.Components.Schemas), doc.OpenAPI)
	}
	for name, s := range doc.Components.Schemas {
		if id, _ := s["$id"].(string); id != "urn:mgmt:kind:"+strings.ReplaceAll(name, ".", ":") {
			t.Errorf("%s has the id %q", name, id)
		}
		defs, _ := s["$defs"].(map[string]any)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"\$ref":"#/\$defs/([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			if defs[m[1]] == nil {
				t.Errorf("%s refers to %s, which it does not define", name, m[1])
			}
		}
	}
}

// TestTypesOfClasses: the type in the class of every kind is that of the kind: a struct of Go becomes a Type, its written
// form, a literal of TypeScript, and a Type again.
func TestTypesOfClasses(t *testing.T) {
	a := newTestApp()
	text, err := typescriptOf(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	class := regexp.MustCompile(`static readonly token = "(.*)";\n  static readonly type: Type = (.*);\n`)
	found := class.FindAllStringSubmatch(string(text), -1)
	if len(found) != len(a.Kinds().Kinds()) {
		t.Fatalf("%d classes for %d kinds", len(found), len(a.Kinds().Kinds()))
	}
	for _, m := range found {
		k, err := cli.KindNamed(a, m[1])
		if err != nil {
			t.Fatal(err)
		}
		back, ds := wire.Decode(m[1], []byte(`{"version":1,"type":`+m[2]+`}`))
		if ds.Err() != nil {
			t.Errorf("%s: %v", m[1], ds)
			continue
		}
		for _, f := range k.Type.Fields {
			if f.Key == "name" {
				continue // an argument of its own
			}
			if g := fieldOf(back, f.Key); g == nil || g.Type.Kind != f.Type.Kind || g.Required != f.Required || g.Role != f.Role {
				t.Errorf("%s: %s came back as %+v", m[1], f.Key, g)
			}
		}
	}
}

// fieldOf is the field of a key; nil for none.
func fieldOf(t *schema.Type, key string) *schema.Field {
	for _, f := range t.Fields {
		if f.Key == key {
			return f
		}
	}
	return nil
}
