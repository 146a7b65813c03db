package puppet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// TestBroken: what is no catalog is refused with the place where it goes wrong.
func TestBroken(t *testing.T) {
	for src, want := range map[string]string{
		"":                           "c.json:1:1: there is no catalog, nothing at all was read",
		"\n\t \n":                    "c.json:1:1: there is no catalog, nothing at all was read",
		"Error: no such node":        "c.json:1:1: there is no catalog: a catalog is the JSON that `puppet catalog compile` prints and begins with {",
		"Notice: {\n":                "c.json:2:1: this is no catalog: it ends too early",
		"{":                          "c.json:1:2: this is no catalog: it ends too early",
		"log\n  {\n \"name\": nil}":  "c.json:3:10: this is no catalog: invalid character 'i' in literal null (expecting 'u')",
		"{}":                         `c.json:1:1: this is no catalog: it has no key "resources"`,
		`{"resources": []} x`:        "c.json:1:19: this is no catalog: something follows the end of the catalog",
		`{"resources": []}{}`:        "c.json:1:18: this is no catalog: something follows the end of the catalog",
		"{\"name\": \"\xff\"}":       "c.json:1:11: this is no catalog: JSON is UTF-8, and these bytes are not",
		strings.Repeat(`{"a":`, 200): "c.json:1:502: this is no catalog: it has more than 100 levels",
		`[{"resources": ]`:           "c.json:1:16: this is no catalog: invalid character",
	} {
		_, err := puppet.Read("c.json", []byte(src), kinds, puppet.Options{})
		ds, ok := errors.AsType[schema.Diagnostics](err)
		if !ok || len(ds) != 1 || !strings.HasPrefix(ds[0].String(), want) {
			t.Errorf("%q:\n got %v\nwant %v", src, err, want)
		}
	}
}

// TestShapes: what is no list, hash or text where there must be one is said, all at
// once, and the rest is read.
func TestShapes(t *testing.T) {
	src := `{"name": 3, "resources": [7, {"type": "File"}, {"type": ["x"], "title": "t"},
{"type": "Thing", "title": "a", "tags": "x", "line": "3", "file": 4, "parameters": []},
{"type": "Thing", "title": "b", "file": "site.pp", "line": 99999999999, "parameters": null, "title": "c"},
{"type": "Thing", "title": "d", "file": "site.pp", "line": 0, "sensitive_parameters": {}}
], "edges": [1, {"source": "Thing[a]"}, {"source": "x", "target": 3}], "classes": 3}`
	want := []string{
		`c.json:1:10: name of the catalog must be text, not 3`,
		`c.json:1:27: a resource is a hash with type and title, not 7`,
		`c.json:1:30: a resource needs a type and a title`,
		`c.json:1:57: type of a resource must be text, not a list`,
		`c.json:1:48: a resource needs a type and a title`,
		`c.json:2:41: tags of Thing[a] must be a list, not the text "x"`,
		`c.json:2:67: file of a resource must be text, not 4`,
		`c.json:2:1: Thing[a]: the parameters must be a hash, not a list`,
		`c.json:3:93: the key "title" is given twice` + "\n    c.json:3:19: first given here",
		`c.json:4:87: sensitive_parameters of Thing[d] must be a list, not a hash`,
		`c.json:5:14: an edge is a hash with source and target, not 1`,
		`c.json:5:17: an edge needs a source and a target`,
		`c.json:5:67: target of an edge must be text, not 3`,
		`c.json:5:41: an edge needs a source and a target`,
	}
	d := read(t, src, puppet.Options{})
	got := map[string]bool{}
	for _, p := range d.Problems {
		got[p.String()] = true
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("not said: %s", w)
		}
		delete(got, w)
	}
	if len(got) > 0 {
		t.Errorf("also said: %v", got)
	}
	var names []string
	for _, r := range d.Resources {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "d"}, names); diff != "" || d.Name != "c" {
		t.Errorf("%q %s", d.Name, diff)
	}
}

// TestWrapped: what Puppet prints around a catalog is skipped, and the old form with
// data below a key is read.
func TestWrapped(t *testing.T) {
	for _, src := range []string{
		"Notice: {x}\n\x1b[0mNotice: Compiled catalog for n\x1b[0m\n%s\n\n",
		"%s", "\ufeff%s", `{"document_type": "Catalog", "data": %s}`,
	} {
		d := read(t, fmt.Sprintf(src, source([]string{entry(1, "Thing", "a", "")})), puppet.Options{})
		if len(d.Resources) != 1 || d.Name != "node" || len(d.Problems) > 0 {
			t.Errorf("%q: %+v", src, d)
		}
	}
}

// TestManyValues: the bounds hold.
func TestManyValues(t *testing.T) {
	src := `{"resources": [` + strings.Repeat("0,", 1<<20) + `0]}`
	_, err := puppet.Read("c.json", []byte(src), kinds, puppet.Options{})
	if err == nil || !strings.Contains(err.Error(), "more than 1048576 values") {
		t.Error(err)
	}
	d := read(t, `{"resources": [`+strings.Repeat("0,", 1<<18)+`0]}`, puppet.Options{})
	if n := len(d.Problems); n != schema.MaxFindings+1 {
		t.Errorf("%d findings are kept", n)
	}
}

// TestRich: each form of rich data, and each that is broken.
func TestRich(t *testing.T) {
	for value, want := range map[string]string{
		`{"__ptype": "Regexp", "__pvalue": "a+"}`: `"a+"`,
		`{"__ptype": "Default"}`:                  `"default"`,
		`{"__ptype": "Sensitive", "__pvalue": {"__ptype": "Binary", "__pvalue": "YQ=="}}`:     `secret`,
		`{"__ptype": "Hash", "__pvalue": [1, ["x", {"__ptype": "Symbol", "__pvalue": "y"}]]}`: `"{\"1\": [\"x\", \"y\"]}"`,
		`[{"a": {"__ptype": "Timestamp", "__pvalue": "2020-01-01"}}]`:                         `"[{\"a\": \"2020-01-01\"}]"`,
		`{"__ptype": "Binary", "__pvalue": "?"}`:                                              "a Binary that is not base64",
		`{"__ptype": "Hash", "__pvalue": [1]}`:                                                "a Hash must be a list of keys and values",
		`{"__ptype": "Hash", "__pvalue": [[], 1]}`:                                            "a key must be text or a number, not a list",
		`{"__ptype": "Hash", "__pvalue": ["1", 1, 1, 1]}`:                                     "a Hash has a key twice",
		`{"__ptype": "Timespan", "__pvalue": 3}`:                                              "a Timespan is text, not 3",
		`{"__ptype": "LocalRef", "__pvalue": "$"}`:                                            "a reference to another part of the value (LocalRef) is not supported",
		`{"__ptype": "Pcore::StringType"}`:                                                    "a value of the type Pcore::StringType has no meaning here",
		`{"__ptype": 3}`:                                                                      "a value of the type 3 has no meaning here",
	} {
		d := read(t, source([]string{entry(3, "Notify", "n", `{"message": `+value+`}`)}), puppet.Options{})
		got := ""
		switch {
		case len(d.Problems) > 0:
			got = strings.TrimPrefix(d.Problems[0].String(), "site.pp:3: Notify[n]: message: ")
		case len(d.Resources) == 2 && len(d.Resources[1].Recv) == 1:
			got = "secret"
		default:
			got = text(d.Resources[0].Value.Get("body"))
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", value, got, want)
		}
	}
}
