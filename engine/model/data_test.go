package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

// load describes models as JSON, one a file: 0.json, 1.json and so on.
func load(t *testing.T, r *model.Registry, texts ...string) schema.Diagnostics {
	t.Helper()
	return r.Load(trees(t, texts...))
}

// trees reads texts of JSON without faults.
func trees(t testing.TB, texts ...string) (trees []*schema.Node) {
	t.Helper()
	for i, text := range texts {
		n, found := jsonnode.Parse([]byte(text), jsonnode.Options{File: fmt.Sprintf("%d.json", i)})
		if found.Err() != nil {
			t.Fatal(found)
		}
		trees = append(trees, n)
	}
	return trees
}

var router = []string{
	`{"model": "Router", "table": "router", "mixins": ["topic", "version"], "bases": ["Named"],
		"fields": {"ports": {"type": "list", "of": {"type": "object", "model": "Port"}}, "net": {"type": "string", "ref": "net"},
			"size": {"type": "int", "default": 5, "max": 9}, "tags": {"type": "set", "of": {"type": "string"}},
			"wait": {"type": "duration", "default": "1m"}},
		"indexes": {"macs": ["ports.mac"], "net_name": ["net.label", "size"]}, "operations": {"add_port": {"add": "ports"}, "associate": {"set": "net"}},
		"schema": 2, "migrations": [{"from": 1, "rename": {"title": "label"}}]}`,
	`{"model": "Port", "fields": {"mac": {"type": "mac", "required": true}}}`,
	`{"model": "Named", "fields": {"label": {"type": "string"}}, "indexes": {"label": ["label"]}}`,
	`{"model": "Net", "table": "net", "bases": ["Named"]}`,
}

func TestModelsFromData(t *testing.T) {
	r := model.NewRegistry(nil)
	if ds := load(t, r, router...); ds.Err() != nil {
		t.Fatal(ds)
	}
	if got := r.Tables(); !slices.Equal(got, []string{"net", "router"}) {
		t.Fatal(got)
	}
	m, err := r.Model("router")
	if err != nil {
		t.Fatal(err)
	}
	o := object(t, m, map[string]any{"id": "r", "topic": "t", "label": "x", "tags": []any{"b", "a"}})
	next, err := o.Do("add_port", map[string]any{"value": map[string]any{"id": "p", "mac": "52-54-00-00-00-AB"}})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := next.MarshalJSON()
	if want := `{"id":"r","label":"x","ports":[{"id":"p","mac":"52:54:00:00:00:ab"}],"size":5,"tags":["a","b"],"topic":"t","wait":"1m"}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	if _, err := m.New(map[string]any{"size": 10}); err == nil {
		t.Error("10 is above the maximum")
	}
	if _, err := m.Index("label"); err != nil {
		t.Error("the index of the base:", err)
	}
	if ds := load(t, r, `{"model": "Rack", "table": "rack", "fields": {"top": {"type": "string", "ref": "Router"}}, "indexes": {"net": ["top.net.label"]}}`); ds.Err() != nil {
		t.Error("a second folder, which refers to the first:", ds)
	}
}

// TestFaultsOfDescriptions: each fault has its place, all come at once, and the registry stays as it was.
func TestFaultsOfDescriptions(t *testing.T) {
	for want, text := range map[string]string{
		`0.json:1:2: `: `{"modle": "x", "model": "A"}`,
		`0.json:1:27: model "A" names the model "B", and there is no such model`:                       `{"model": "A", "bases": [ "B"]}`,
		`0.json:1:58: model "A" is inside of itself`:                                                   `{"model": "A", "fields": {"a": {"type":"object","model": "A"}}}`,
		`0.json:1:32: the field a is a list, so it needs the key of`:                                   `{"model": "A", "fields": {"a": {"type": "list"}}}`,
		`0.json:1:32: the field a is an object, so it needs the key model`:                             `{"model": "A", "fields": {"a": {"type": "object"}}}`,
		`0.json:1:36: model "A": the operation a needs one of set, add and remove`:                     `{"model": "A", "operations": {"a": {}}}`,
		`0.json:1:36: model "A": the operation a is about x, and there is no such field`:               `{"model": "A", "operations": {"a": {"set": "x"}}}`,
		`0.json:1:36: model "A": the operation a is about id, which is no list`:                        `{"model": "A", "operations": {"a": {"add": "id"}}}`,
		`0.json:1:33: model "A": the index i has the path x, and there is no such field`:               `{"model": "A", "indexes": {"i": ["x"]}}`,
		`0.json:1:55: the field a is a int, and values is for string`:                                  `{"model": "A", "fields": {"a": {"type":"int","values":["x"]}}}`,
		`0.json:1:59: the pattern of the field a: `:                                                    `{"model": "A", "fields": {"a": {"type":"string","pattern":"("}}}`,
		`0.json:1:81: required is for the field a as a whole`:                                          `{"model": "A", "fields": {"a": {"type":"set","of": {"type": "string","required":true}}}}`,
		`0.json:1:32: model "A": the default of a must be`:                                             `{"model": "A", "fields": {"a": {"type": "int", "default": "many"}}}`,
		`0.json:1:32: model "A": the field a is a secret, so it has no default`:                        `{"model": "A", "fields": {"a": {"type": "secret", "default": "canary"}}}`,
		`0.json:1:25: model "A": its records have version 2, and there is no migration from version 1`: `{"model": "A","schema": 2}`,
		`0.json:1:56: model "A": there is a migration from version 1 already`:                          `{"model": "A","schema": 2, "migrations": [{"from": 1}, {"from": 1}]}`,
		`0.json:1:47: model "A": the field a refers to "nowhere", and there is no such model or table`: `{"model": "A", "table": "a", "fields": { "a": {"type": "string", "ref": "nowhere"}}}`,
		`0.json:1:90: model "A": the index i has the path a.x, and there is no such field behind`:      `{"model": "A", "table": "a", "fields": {"a": {"type":"string","ref":"A"}},"indexes":{"i":["a.x"]}}`,
		`0.json:1:26: table "a/b" of model "A": a table has no slash`:                                  `{"model": "A", "table" : "a/b"}`,
	} {
		r := model.NewRegistry(nil)
		ds := load(t, r, text, `{"model": "Good", "table": "good"}`)
		if ds.Err() == nil || len(ds) != 1 || !strings.HasPrefix(ds[0].String(), want) || strings.Contains(ds.Err().Error(), "canary") {
			t.Errorf("%s\n%v\nwant %s", text, ds, want)
		}
		if len(r.Tables()) > 0 {
			t.Errorf("%s: the registry has %v", text, r.Tables())
		}
	}
	ds := load(t, model.NewRegistry(nil), `{"model": "A", "bases": ["B"]}`, `{"model": "Z", "nonsense": 1}`, `{"model": "C", "table": "t"}`, `{"model": "D", "table": "t"}`, `{"model": "C"}`)
	if len(ds) != 4 { // unknown in A, a wrong key in Z, a table twice, a model twice
		t.Errorf("all faults at once: %v", ds)
	}
	ds = load(t, model.NewRegistry(nil), `{"model": "A", "table": "a", "fields": {"b": {"type": "bool", "min": 1}, "c": {"type": "int", "default": "x"}}, "indexes": {"i": ["y"]}}`,
		`{"model": "B", "table": "b", "fields": {"a": {"type": "string", "ref": "a"}, "z": {"type": "string", "ref": "z"}}}`)
	if len(ds) != 4 {
		t.Errorf("a rule, a default, an index, and a reference to no model, but not to the faulty one: %v", ds)
	}
	if ds := load(t, model.NewRegistry(nil), `{"model": "A", "table": "t"}`, `{"model": "A", "table": "u"}`); len(ds) != 1 || ds[0].Related[0].Pos.File != "0.json" {
		t.Errorf("a model that is described twice: %v", ds)
	}
}
