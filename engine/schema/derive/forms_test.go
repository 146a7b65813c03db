package derive_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

type branch struct {
	Name string             `yaml:"name" mgmt:"pattern=^[a-z]+$"`
	Sub  []branch           `yaml:"sub" doc:"What is below it."`
	Side *branch            `yaml:"side"`
	By   map[string]*branch `yaml:"by"`
}

type forms struct {
	IP    string     `yaml:"ip" mgmt:"format=ip"`
	Net   *string    `yaml:"net" mgmt:"format=cidr"`
	Mac   string     `yaml:"mac" mgmt:"format=mac"`
	Ports []string   `yaml:"ports" mgmt:"format=portrange"`
	URI   string     `yaml:"uri" mgmt:"format=uri"`
	Mail  string     `yaml:"mail" mgmt:"format=email"`
	Ver   string     `yaml:"ver" mgmt:"format=semver,replaces" doc:"Which one"`
	Word  string     `yaml:"word" mgmt:"pattern=^[a-c]{2,3}$"`
	File  schema.Ref `yaml:"file" mgmt:"target=file"`
	Share float64    `yaml:"share" mgmt:"min=0.25,max=0.5"`
	Old   int        `yaml:"old" deprecated:"use word"`
	Tree  branch     `yaml:"tree"`
}

// TestFormsAgree: the JSON Schema of formats, patterns, targets, bounds with a point and structs in
// themselves takes what Decode takes.
func TestFormsAgree(t *testing.T) {
	doc, err := derive.JSONSchema(of[forms](t))
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, doc)
	for in, right := range map[string]bool{
		`{"ip": "::1"}`: true, `{"ip": "localhost"}`: false, `{"ip": 1}`: false,
		`{"net": "10.0.0.0/8"}`: true, `{"net": null}`: true, `{"net": "10.0.0.0"}`: false,
		`{"mac": "52:54:00:12:34:56"}`: true, `{"mac": "52:54"}`: false,
		`{"ports": [80, "8000-8010"]}`: true, `{"ports": ["a"]}`: false,
		`{"uri": "https://x/"}`: true, `{"uri": "x"}`: false, `{"uri": "https://x/ä"}`: false, `{"uri": "https://x/{a}"}`: false,
		`{"mail": "a@x"}`: true, `{"mail": "a"}`: false, `{"mail": "a..b@x"}`: false, `{"mail": ".a@x"}`: false,
		`{"ver": "1.2.3"}`: true, `{"ver": "1.2"}`: false,
		`{"word": "abc"}`: true, `{"word": "abcd"}`: false,
		`{"file": "file[/x]"}`: true, `{"file": ""}`: true, `{"file": "pkg[x]"}`: false,
		`{"share": 0.5}`: true, `{"share": 0.51}`: false, `{"share": 0}`: false,
		`{"old": 1}`: true,
		`{"tree": {"name": "a", "sub": [{"sub": [{"name": "b"}]}], "side": {"side": null}, "by": {"x": null, "y": {}}}}`: true,
		`{"tree": {"sub": [{"sub": [{"name": "B"}]}]}}`:                                                                  false,
		`{"tree": {"side": {"side": {"zzz": 1}}}}`:                                                                       false,
		`{"tree": {"by": {"x": []}}}`:                                                                                    false,
	} {
		var v any
		dec := json.NewDecoder(strings.NewReader(in))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		schemaErr, decodeErr := s.Validate(v), schema.Decode(node(v), &forms{}).Err()
		if (schemaErr == nil) != right || (decodeErr == nil) != right {
			t.Errorf("%s should be right: %v\nschema: %v\nDecode: %v", in, right, schemaErr, decodeErr)
		}
	}
	if !strings.Contains(string(doc), `"deprecated": true`) {
		t.Error("nothing is deprecated")
	}
}

// FuzzFormats: the JSON Schema of a format, with the judgement of its library about uri and email, refuses no text that the
// format takes.
func FuzzFormats(f *testing.F) {
	schemas := map[string]*jsonschema.Schema{}
	for name := range schema.Formats {
		t, err := schema.Build(&schema.Type{Kind: schema.KindStruct, Name: name, Fields: []*schema.Field{{Key: "v", Type: &schema.Type{Kind: schema.KindString, Format: name}}}})
		if err != nil {
			f.Fatal(err)
		}
		doc, err := derive.JSONSchema(t)
		if err != nil {
			f.Fatal(err)
		}
		schemas[name] = compile(f, doc)
	}
	for _, s := range []string{
		"::1", "fe80::1%eth0", "fe80::1%a\nb", "::ffff:192.0.2.1%x", "192.0.2.7/24", "02-00-5e-10-00-00-00-01", "0-65535", "080", "root@example.org", ".a@x", "a..b@x",
		"https://u:p@h:1/%7E?q#f", "http://[::1%25eth0]:80/", "http://a/{b}", "http://a/#b#c", "urn:x:y", "x:%zz", "http://ä/", "1.0.0-0a.-.x-y+001.-",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, format := range schema.Formats {
			if !format.Is(s) {
				continue
			}
			if err := schemas[name].Validate(map[string]any{"v": s}); err != nil {
				t.Errorf("%s %q: %v", name, s, err)
			}
		}
	})
}

func TestFormsInPages(t *testing.T) {
	k := derive.Kind{Name: "forms", Type: of[forms](t)}
	page, text := derive.Markdown(k), derive.Text(k, 80)
	for _, want := range []string{
		"| `ports` | list of portrange |", "| `word` | text like `^[a-c]{2,3}$` |", "| `file` | reference to file |",
		"| `share` | number 0.25..0.5 |", "Deprecated: use word.", "Another value removes the thing", "| `tree.sub` | list of branch, as above |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s:\n%s", want, page)
		}
	}
	if !strings.Contains(text, "Deprecated: use word.") {
		t.Error(text)
	}
	kinds := []derive.Kind{k, {Name: "more", Type: of[forms](t)}, {Name: "branch", Type: of[branch](t)}}
	whole, err := derive.GraphSchema(kinds, of[meta](t))
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, whole)
	var v any
	_ = json.Unmarshal([]byte(`{"resources": {"branch": [{"name": "a", "sub": [{"sub": [{"zzz": 1}]}]}]}}`), &v)
	if s.Validate(v) == nil {
		t.Error("an unknown key deep in a kind that contains itself is taken")
	}
}
