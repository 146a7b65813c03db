package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestTypesOfValues: a plain value has the type that its parts agree on, and says it in the words of a graph.
func TestTypesOfValues(t *testing.T) {
	for _, c := range []struct {
		v          any
		long, hint string
		inText     bool
	}{
		{true, "bool", "", true},
		{int64(1), "int", "", true},
		{1, "int", "", true},
		{uint64(1), "uint", "", true},
		{1.5, "float", "", true},
		{"a", "text", "", true},
		{nil, "any", "", true},
		{list(), "a list", `: write .join(", ") behind it`, false},
		{list("a", "b"), "a list whose items are text", `: write .join(", ") behind it`, false},
		{list("a", int64(1)), "a list", `: write .join(", ") behind it`, false},
		{list(list("a"), list("b")), "a list whose items are a list", `: write .join(", ") behind it`, false},
		{map[string]any{"a": int64(1), "b": int64(2)}, "a map whose values are int", "", false},
		{map[string]any{"a": int64(1), "b": "c"}, "a map", "", false},
		{map[string]any{}, "a map", "", false},
		{struct{}{}, "any", "", true},
	} {
		typ := expr.OfValue(c.v)
		if typ.Long() != c.long || typ.TextHint() != c.hint || typ.InText() != c.inText {
			t.Errorf("%v is %s, %q, in a text: %t", c.v, typ.Long(), typ.TextHint(), typ.InText())
		}
	}
}

// TestIsAny: only the type that says nothing is any.
func TestIsAny(t *testing.T) {
	for _, x := range []expr.Type{expr.Text, expr.ListOf(expr.Type{}), expr.MapOf(expr.Int)} {
		if x.IsAny() {
			t.Errorf("%s is any", x)
		}
	}
	if !(expr.Type{}).IsAny() {
		t.Error("the empty type is not any")
	}
}

// TestElem: a list has indexes, a map has keys, an optional one has those of its value, and a single value has none.
func TestElem(t *testing.T) {
	s := deep(t)
	for src, want := range map[string]string{
		"lines":              "int text true",
		"ports":              "text int true",
		"optional.of(['a'])": "int text true",
		"data.?k":            "any any true",
		"any":                "any any true",
		"{1: true}":          "int bool true",
		"'a'":                "any any false",
		"facts":              "any any false",
		"optional.of('a')":   "any any false",
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Fatal(src, said(faults))
		}
		key, value, ok := p.Type().Elem()
		if got := fmt.Sprint(key, " ", value, " ", ok); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

// TestSchemas: every type of a schema has a type here, whose zero value is one of it. A field that the schema lacks is a fault.
func TestSchemas(t *testing.T) {
	all, err := schema.Of(&everything{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := expr.NewScope(map[string]expr.Type{"r": expr.OfSchema("r", all)})
	if err != nil {
		t.Fatal(err)
	}
	zero := map[string]any{"r": expr.ZeroOf(all)}
	for src, want := range map[string]any{
		"!r.bool": true, "r.int + 1": int64(1), "r.float + 1.5": 1.5, "r.text + 'a'": "a", "r.size + 1": int64(1), "r.list.join('')": "", "size(r.numbers)": int64(0),
		"size(r.map)": int64(0), "r.struct.a + 'a'": "a", "size(r.lists)": int64(0), "r.any == null": true, "size(r.structs)": int64(0), "r.mode == ''": true,
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Errorf("%s: %s", src, said(faults))
			continue
		}
		if got, err := p.Eval(zero); got != want || err != nil {
			t.Errorf("%s = %v, %v", src, got, err)
		}
	}
	for src, want := range map[string]string{
		"r.struct.b":            `9: r.struct has no "b"`,
		"r.structs[0].b":        `13: r.structs[...] has no "b"`,
		"r.texts":               `2: r has no "texts" (text)`,
		"r.int + r.text":        "6: + can't be applied to (int, text)",
		"r.list[0] + 1":         "10: + can't be applied to (text, int)",
		"r.map['a'] + 1":        "11: + can't be applied to (text, int)",
		"r.lists['a'][0] + 'a'": "16: + can't be applied to (int, text)",
	} {
		if p, faults := s.Compile(src); p != nil || said(faults) != want {
			t.Errorf("%s:\n got %s\nwant %s", src, said(faults), want)
		}
	}
}

// TestMembers: an editor is offered the names of a scope and the fields of a path, in order, and nothing where the path leads nowhere.
func TestMembers(t *testing.T) {
	s := deep(t)
	for path, want := range map[string]string{
		"":          "any any, data a map, facts facts, lines a list, o o, ports a map, vars vars",
		"facts":     "cpus int, hostname text, roles a list",
		"o":         "in o.in, list a list, map a map",
		"o in":      "port int",
		"o in port": "",
		"o list":    "",
		"data":      "",
		"nope":      "",
		"o nope in": "",
	} {
		var got []string
		for _, m := range s.Members(strings.Fields(path)) {
			got = append(got, m.Name+" "+m.Type.String())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q has %q, want %q", path, got, want)
		}
	}
}

// TestSignatures: each function that an editor offers can be called by its name, is listed by name, and shows its types in the words of a graph.
func TestSignatures(t *testing.T) {
	s, err := expr.NewScopeSent(nil, &expr.Sent{}, expr.Function{Name: "own", Params: []expr.Type{expr.Text, expr.ListOf(expr.Int)}, Result: expr.Float})
	if err != nil {
		t.Fatal(err)
	}
	seen, last := map[string]bool{}, ""
	for _, x := range s.Signatures() {
		if seen[x.Text] {
			t.Errorf("%s is listed twice", x.Text)
		}
		seen[x.Text] = true
		if x.Name < last && x.Name != expr.SentName {
			t.Errorf("%s stands behind %s", x.Name, last)
		}
		last = x.Name
		if ok, near := s.HasFunction(x.Name); !ok && x.Name != expr.SentName {
			t.Errorf("there is no function %s, but %s", x.Name, near)
		}
		if strings.ContainsAny(x.Name, "@_") || strings.Contains(x.Text, "string,") || strings.Contains(x.Text, "dyn,") || x.Method == strings.HasPrefix(x.Text, x.Name+"(") {
			t.Errorf("%+v", x)
		}
	}
	for _, text := range []string{"own(text, a list) float", "text.split(text) a list", "size(text) int", "text.size() int", "sent('kind[name].key')", "lists.range(int) a list"} {
		if !seen[text] {
			t.Errorf("%s is not listed", text)
		}
	}
	for name, want := range map[string]string{"own": "true ", "sizee": "false size", "sent": "false ", "_+_": "false ", "lists.rang": "false lists.range", "": "false "} {
		if ok, near := s.HasFunction(name); fmt.Sprint(ok, " ", near) != want {
			t.Errorf("HasFunction(%q) = %t, %q, want %s", name, ok, near, want)
		}
	}
}
