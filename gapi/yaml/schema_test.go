package yaml_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yamlv4 "go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// The JSON Schema judges the frame of a graph file as the loader does: the keys at
// the top, of an edge and of every resource. (Parameters: engine/schema/derive.)
func TestSchemaAgreesWithTheLoader(t *testing.T) {
	judge := graphSchema(t)
	const ab = "resources: {noop: [{name: a}, {name: b}]}\n"
	for graph, ok := range map[string]bool{
		"resources: ~":                    true,
		"{}":                              true,
		"graph: 5":                        true,
		"graph: ~":                        false,
		"graph: [a]":                      false,
		"comment: ~":                      true,
		"comment: 5":                      true,
		"comment: [a]":                    false,
		"comment: {}":                     false,
		"noop: true":                      true,
		"noop: ~":                         false,
		"noop: 1":                         false,
		"include: ~":                      true,
		"include: []":                     true,
		"include: ''":                     false,
		"include: ['']":                   false,
		"include: [5]":                    false,
		"edges: ~":                        true,
		"edges: {}":                       false,
		"resources: {noop: ~}":            true,
		"resources: {bogus: []}":          false,
		"resources: {bogus: ~}":           false,
		"resources: {noop: {name: a}}":    false,
		"resources: {noop: [{name: 5}]}":  true,
		"resources: {noop: [{name: ''}]}": false,
		"resources: {noop: [{name: ~}]}":  false,
		"resources: {noop: [~]}":          false,
		"resources: {noop: [{name: a, meta: ~}]}":                                           true,
		"resources: {noop: [{name: a, meta: []}]}":                                          false,
		"resources: {noop: [{name: a, recv: ~}]}":                                           true,
		"resources: {noop: [{name: a, recv: x}]}":                                           false,
		"resources: {file: [{name: /a, comment: ~}]}":                                       true,
		"resources: {file: [{name: /a, comment: true}]}":                                    true,
		"resources: {file: [{name: /a, comment: [a]}]}":                                     false,
		"resources: {file: [{name: /a, comment: {a: b}}]}":                                  false,
		"resources: {noop: [{name: a, before: 'noop[b]'}, {name: b}]}":                      true,
		"resources: {noop: [{name: a, before: ['noop[b]']}, {name: b}]}":                    true,
		"resources: {noop: [{name: a, before: noop}, {name: b}]}":                           false,
		"resources: {noop: [{name: a, before: 5}]}":                                         false,
		"resources: {noop: [{name: a, before: ~}]}":                                         true,
		ab + "edges: [{from: 'noop[a]', to: 'noop[b]'}]":                                    true,
		ab + "edges: [{from: 'noop[a]', to: 'noop[b]', notify: true, name: 5, comment: ~}]": true,
		ab + "edges: [{from: 'noop[a]', to: 'noop[b]', notify: 3}]":                         false,
		ab + "edges: [{from: 'noop[a]', to: 'noop[b]', notify: ~}]":                         false,
		ab + "edges: [{from: 'noop[a]', to: 'noop[b]', comment: [a]}]":                      false,
		ab + "edges: [{from: 'noop[a]', to: 'noop[b]', more: 1}]":                           false,
		ab + "edges: [{from: 'noop[a]'}]":                                                   false,
		ab + "edges: [{from: {kind: noop, name: a}, to: {kind: noop, name: b}}]":            true,
		ab + "edges: [{from: {kind: '', name: a}, to: {kind: noop, name: b}}]":              false,
		ab + "edges: [{from: {kind: noop, name: ''}, to: {kind: noop, name: b}}]":           false,
		ab + "edges: [{from: {kind: noop}, to: {kind: noop, name: b}}]":                     false,
		ab + "edges: [{from: {kind: noop, name: a, x: y}, to: {kind: noop, name: b}}]":      false,
		ab + "edges: [a]":  false,
		ab + "more: of it": false,
		"resources: {file: [{name: '/${{ facts.os }}', recurse: '${{ 1 > 0 }}', content: '${{ 1 }}'}]}":                   true,
		"resources: {file: [{name: /a, mode: '0${{ 644 }}', state: '${{ \"present\" }}', limit: '${{ 5 }}'}]}":            true,
		"resources: {file: [{name: /a, recurse: text}]}":                                                                  false,
		"resources: {file: [{name: '/${{ each.key }}', for_each: [1, 2], when: true}]}":                                   true,
		"resources: {file: [{name: '/${{ each.key }}', for_each: '${{ [1] }}', when: '${{ each.value > 0 }}'}]}":          true,
		"resources: {file: [{name: /a, for_each: 1}]}":                                                                    false,
		"resources: {file: [{name: /a, when: maybe}]}":                                                                    false,
		"resources: {exec: [{name: a, cmd: b, args: ['${{ \"c\" }}'], env: '${{ {\"A\": \"b\"} }}', count: '${{ 2 }}'}]}": true,
		"resources: {noop: [{name: a, meta: {retry: '${{ 2 }}'}, before: '${{ \"noop[b]\" }}'}, {name: b}]}":              true,
		"{vars: {a: 1, b: {type: int, default: 2}}, data: {files: [none.yaml], merge: {k: deep}}}":                        true,
		"data: {files: a}":                                        false,
		"data: {merge: {k: sideways}}":                            false,
		"{defaults: {file: {mode: '0600'}}, noop: '${{ true }}'}": true,
		"use: {module: m}":                                        false,
		"use: [{name: m}]":                                        false,
		"use: []":                                                 true,
		"secrets: 5":                                              false,
		"secrets: [{credentials: true}]":                          true,
		"resources: [noop]":                                       false,
	} {
		var v any
		if err := yamlv4.Unmarshal([]byte(graph), &v); err != nil {
			t.Fatal(graph, err)
		}
		if err := judge.Validate(v); (err == nil) != ok {
			t.Errorf("%s: the schema says %v", graph, err)
		}
		d, err := yaml.Load("-", yaml.Options{}, strings.NewReader(graph))
		if err == nil {
			_, ds := gapi.Build(registry(t), d)
			err = ds.Err()
		}
		if (err == nil) != ok {
			t.Errorf("%s: the loader says %v", graph, err)
		}
	}
}

func graphSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	reg := registry(t)
	var kinds []derive.Kind
	for _, name := range reg.Kinds() {
		res, err := reg.New(name)
		if err != nil {
			t.Fatal(err)
		}
		ty, err := schema.Of(res)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, derive.Kind{Name: name, Type: ty})
	}
	meta, err := schema.OfType(reflect.TypeFor[engine.MetaParams]())
	if err != nil {
		t.Fatal(err)
	}
	text, err := derive.GraphSchema(kinds, meta)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:graph", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:graph")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
