package derive_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

type rule struct {
	Name string        `yaml:"name" mgmt:"required" doc:"What it is called."`
	Port uint16        `yaml:"port" mgmt:"min=1"`
	For  time.Duration `yaml:"for" mgmt:"unit=ms,max=10s"`
}

type thing struct {
	Path    string             `yaml:"path" mgmt:"identity" doc:"Where it is; with a | in it."`
	State   string             `yaml:"state" mgmt:"enum=exists|absent|1|true" doc:"Whether it is."`
	Content *string            `yaml:"content" doc:"What is in it,\nall of it."`
	Force   bool               `yaml:"force" mgmt:"param"`
	Tiny    int8               `yaml:"tiny" mgmt:"max=100"`
	Byte    uint8              `yaml:"byte"`
	Word    uint32             `yaml:"word" mgmt:"min=5"`
	Big     int64              `yaml:"big"`
	Huge    uint64             `yaml:"huge"`
	Ratio   float64            `yaml:"ratio" mgmt:"min=0,max=1"`
	Thin    float32            `yaml:"thin"`
	Delay   time.Duration      `yaml:"delay" mgmt:"unit=ms" doc:"How long."`
	Shift   time.Duration      `yaml:"shift" mgmt:"min=-1h,max=1h"`
	Limit   schema.Size        `yaml:"limit" mgmt:"max=1GiB"`
	Mode    schema.Mode        `yaml:"mode" mgmt:"init"`
	After   schema.Ref         `yaml:"after"`
	Token   schema.Secret      `yaml:"token" mgmt:"writeonly"`
	When    time.Time          `yaml:"when" mgmt:"readonly"`
	Args    []string           `yaml:"args" mgmt:"max=3"`
	Env     map[string]string  `yaml:"env"`
	Waits   []time.Duration    `yaml:"waits" mgmt:"unit=h"`
	Rules   []rule             `yaml:"rules"`
	Maybe   *int               `yaml:"maybe"`
	Either  *string            `yaml:"either" mgmt:"enum=a|b"`
	Sub     struct{ A, B any } `yaml:"sub"`
	Free    any                `yaml:"free"`
}

type needy struct {
	Cmd string `yaml:"cmd" mgmt:"required" doc:"What to run."`
	Max int    `yaml:"max" mgmt:"min=1,max=64"`
}

type sent struct {
	Output string `yaml:"output" doc:"What it wrote."`
}

type meta struct {
	Noop  *bool         `yaml:"noop" doc:"Only look."`
	Delay time.Duration `yaml:"delay" mgmt:"unit=ms"`
}

func of[T any](t testing.TB) *schema.Type {
	t.Helper()
	ty, err := schema.OfType(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return ty
}

// kinds are two kinds, one of them with every kind of field and with defaults.
func kinds(t testing.TB) []derive.Kind {
	ty, err := schema.Of(&thing{
		State:   "exists",
		Delay:   1500 * time.Millisecond,
		Limit:   10 << 20,
		Mode:    "0644",
		Token:   schema.NewSecret("canary"),
		Args:    []string{"a"},
		Rules:   []rule{{Name: "x", Port: 80, For: time.Second}},
		Content: new(strings.Repeat("long ", 20)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return []derive.Kind{
		{Name: "thing", Doc: "Keeps a thing as it is.\n\nA second paragraph that is long enough to be wrapped when it is shown on a terminal.", Type: ty,
			Abilities: []string{"readable", "edgeable"}, Example: "thing:\n- name: /x\n"},
		{Name: "needy", Type: of[needy](t), Sends: of[sent](t)},
	}
}

// compile checks a document against the meta schema and returns it ready for use.
func compile(t testing.TB, doc []byte) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:schema", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t testing.TB, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGolden(t *testing.T) {
	ks := kinds(t)
	graph, err := derive.GraphSchema(ks, of[meta](t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "graph.json", graph)
	one, err := derive.JSONSchema(of[rule](t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rule.json", one)
	for _, k := range ks {
		golden(t, k.Name+".md", []byte(derive.Markdown(k)))
		golden(t, k.Name+".txt", []byte(derive.Text(k, 60)))
	}
	golden(t, "none.md", []byte(derive.Markdown(derive.Kind{Name: "none", Type: of[struct{}](t)})))
}

func TestNoSecretIsDerived(t *testing.T) {
	ks := kinds(t)
	graph, err := derive.GraphSchema(ks, of[meta](t))
	if err != nil {
		t.Fatal(err)
	}
	all := string(graph) + derive.Markdown(ks[0]) + derive.Text(ks[0], 80)
	if strings.Contains(all, "canary") {
		t.Error("a default that is secret was written")
	}
	if !strings.Contains(all, schema.Redacted) {
		t.Error("that there is a default is not said")
	}
}

func TestGraphSchemaIsStable(t *testing.T) {
	ks := kinds(t)
	a, _ := derive.GraphSchema(ks, of[meta](t))
	b, _ := derive.GraphSchema([]derive.Kind{ks[1], ks[0]}, of[meta](t))
	if !bytes.Equal(a, b) {
		t.Error("the order of the kinds matters")
	}
}

func TestGraphSchemaErrors(t *testing.T) {
	k := kinds(t)[0]
	for name, tc := range map[string]struct {
		kinds []derive.Kind
		meta  *schema.Type
		want  string
	}{
		"no meta":   {[]derive.Kind{k}, nil, "the type of the metaparameters is missing"},
		"twice":     {[]derive.Kind{k, k}, of[meta](t), "the kind thing is given twice"},
		"no fields": {[]derive.Kind{{Name: "x", Type: of[int](t)}}, of[meta](t), "the kind x has no fields"},
	} {
		if _, err := derive.GraphSchema(tc.kinds, tc.meta); err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
	}
}

func TestGraphSchemaJudges(t *testing.T) {
	doc, err := derive.GraphSchema(kinds(t), of[meta](t))
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, doc)
	for graph, ok := range map[string]bool{
		`{}`: true,
		`{"graph": "g", "comment": "c", "include": ["a.yaml"], "resources": {"thing": [{"name": "x"}], "needy": null}}`:    true,
		`{"resources": {"needy": [{"name": "x", "cmd": "true"}]}}`:                                                         true,
		`{"resources": {"needy": [{"name": "x"}]}}`:                                                                        false,
		`{"resources": {"needy": [{"name": "x", "recv": {"cmd": "thing[a].b"}}]}}`:                                         true,
		`{"resources": {"needy": [{"name": "x", "cmd": "x", "recv": {"cmd": "thing[a]"}}]}}`:                               false,
		`{"resources": {"thing": [{"path": "/x"}]}}`:                                                                       false,
		`{"resources": {"thing": [{"name": "x", "sate": "exists"}]}}`:                                                      false,
		`{"resources": {"nothing": []}}`:                                                                                   false,
		`{"resources": {"thing": [{"name": "x", "notify": ["needy[a]"], "before": null, "meta": {"delay": 5}}]}}`:          true,
		`{"resources": {"thing": [{"name": "x", "notify": ["needy"]}]}}`:                                                   false,
		`{"resources": {"thing": [{"name": "x", "meta": {"dealy": 5}}]}}`:                                                  false,
		`{"edges": [{"name": "e", "from": {"kind": "a", "name": "b"}, "to": {"kind": "a", "name": "c"}, "notify": true}]}`: true,
		`{"edges": [{"from": {"kind": "a", "name": "b"}}]}`:                                                                false,
		`{"edges": [{"from": {"kind": "a"}, "to": {"kind": "a", "name": "c"}}]}`:                                           false,
		`{"grpah": "g"}`: false,
		`{"noop": true, "comment": null, "include": "base.yaml"}`:                               true,
		`{"resources": {"thing": [{"name": ""}]}}`:                                              false,
		`{"resources": {"thing": [{"name": "x", "notify": "needy[a]"}]}}`:                       true,
		`{"resources": {"thing": [{"name": "x", "notify": "needy"}]}}`:                          false,
		`{"edges": [{"from": "a[b]", "to": {"kind": "a", "name": "c"}, "comment": "because"}]}`: true,
		`{"edges": [{"from": "a", "to": {"kind": "a", "name": "c"}}]}`:                          false,
	} {
		if err := s.Validate(parse(t, graph)); (err == nil) != ok {
			t.Errorf("%s: %v", graph, err)
		}
	}
}

// TestDefaultsAreValid holds each default against the rule that it stands in.
// The schema of a kind has its name, and not that of a type of Go.
func TestKindSchema(t *testing.T) {
	k := kinds(t)[0]
	k.Name = "other"
	doc, err := derive.KindSchema(k)
	if err != nil || !strings.Contains(string(doc), `"title": "`+k.Name+`"`) {
		t.Errorf("%v: %.200s", err, doc)
	}
	if _, err := derive.KindSchema(derive.Kind{Name: "x"}); err == nil || err.Error() != "the kind x has no fields" {
		t.Error(err)
	}
}

func TestDefaultsAreValid(t *testing.T) {
	k := kinds(t)[0]
	doc, err := derive.JSONSchema(k.Type)
	if err != nil {
		t.Fatal(err)
	}
	var root struct {
		Properties map[string]struct{ Default any }
	}
	if err := json.Unmarshal(doc, &root); err != nil {
		t.Fatal(err)
	}
	s, n := compile(t, doc), 0
	for key, p := range root.Properties {
		if p.Default == nil {
			continue
		}
		n++
		if err := s.Validate(map[string]any{key: p.Default}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if n != 7 {
		t.Errorf("%d defaults are written, want 7", n)
	}
}

func TestTextFitsTheTerminal(t *testing.T) {
	for _, k := range kinds(t) {
		for line := range strings.Lines(derive.Text(k, 72)) {
			if strings.HasPrefix(line, "        ") && len([]rune(strings.TrimRight(line, "\n"))) > 72 {
				t.Errorf("too long: %q", line)
			}
		}
	}
}

// TestKeysOfAMap: the schema of a map whose keys are an enum takes no other keys, and the name of the type says them.
func TestKeysOfAMap(t *testing.T) {
	typ := &schema.Type{Kind: schema.KindMap, Enum: []string{"tcp", "udp"}, Elem: &schema.Type{Kind: schema.KindBool}}
	text, err := derive.JSONSchema(typ)
	if err != nil || !strings.Contains(strings.Join(strings.Fields(string(text)), ""), `"propertyNames":{"enum":["tcp","udp"]}`) {
		t.Errorf("%s, %v", text, err)
	}
	if name := derive.TypeName(typ); name != "map of boolean by tcp | udp" {
		t.Errorf("its name is %q", name)
	}
}
