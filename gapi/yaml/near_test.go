package yaml_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestNear: a name that is almost right is named by the error, wherever it stands, and a fault is told once.
func TestNear(t *testing.T) {
	const missing = `; has(...) asks for one, and .?key.orValue(...) takes another value`
	for _, c := range []struct{ name, graph, want string }{
		{"a key of data", `{data: {files: [d.yaml]}, resources: {file: [{name: "/${{ data.prot }}"}]}}`, `1:63: there is no key "prot"` + missing + ` (did you mean "port"?)`},
		{"a key of data below another", `{data: {files: [d.yaml]}, resources: {file: [{name: "/${{ data.users.ann.shel }}"}]}}`, `1:73: there is no key "shel"` + missing + ` (did you mean "shell"?)`},
		{"a key in brackets", `{data: {files: [d.yaml]}, resources: {file: [{name: "/${{ data['users']['anne'].shell }}"}]}}`, `1:72: there is no key "anne"` + missing + ` (did you mean "ann"?)`},
		{"the first of several keys", `{data: {files: [d.yaml]}, resources: {file: [{name: "/${{ data.user.ann.shell }}"}]}}`, `1:63: there is no key "user"` + missing + ` (did you mean "users"?)`},
		{"a computed key", `{data: {files: [d.yaml]}, resources: {file: [{name: "/${{ data.users['an' + 'e'].shell }}"}]}}`, `1:69: there is no key "ane"` + missing + ` (did you mean "ann"?)`},
		{"a key in the turn of a loop", `{resources: {file: [{name: "/${{ each.value.prot }}", for_each: [{port: 1}]}]}}`, `1:44: there is no key "prot"` + missing + ` (did you mean "port"?)`},
		{"a key of a variable", `{vars: {m: {type: map, default: {port: 1}}}, resources: {file: [{name: "/${{ vars.m.prot }}"}]}}`, `1:84: there is no key "prot"` + missing + ` (did you mean "port"?)`},
		{"a key of a list", `{resources: {file: [{name: "/${{ facts.roles[7] }}"}]}}`, `1:45: index out of bounds: 7`},
		{"a function of a group", `{resources: {file: [{name: "/${{ lists.rnge(3) }}"}]}}`, `1:40: there is no "lists.rnge" here (did you mean "lists.range"?)`},
		{"another function of a group", `{resources: {file: [{name: "/${{ math.gretest(3, 4) }}"}]}}`, `1:39: there is no "math.gretest" here (did you mean "math.greatest"?)`},
		{"a kind of defaults", `{defaults: {fle: {owner: root}}, resources: {file: [{name: /a}]}}`, `1:13: unknown resource kind "fle" in defaults (did you mean "file"?)`},
		{"a kind of defaults in other words", `{defaults: {File: {owner: root}, "*x": {meta: {retry: 1}}}, resources: {file: [{name: /a}]}}`, `1:34: unknown resource kind "*x" in defaults`},
		{"a secret", `{secrets: [{age: s.yaml}], resources: {file: [{name: /a, content: "${{ secret('api/tokn') }}"}]}}`, `1:78: there is no secret "api/tokn" in s.yaml (did you mean "api/token"?)`},
		{"a variable without a value", `{vars: {s: {type: text}}, resources: {file: [{name: "/${{ vars.s }}", content: "a ${{ vars.s }}"}]}}`, `1:9: the variable s has no value: it has no default, so write --var s=VALUE`},
		{"sent in a template", `{resources: {exec: [{name: e, cmd: c}], file: [{name: /a, content: "${{ template('sent.tmpl') }}"}]}}`,
			"1:81: the template sent.tmpl has a fault\n\tsent.tmpl:2:4: sent can't stand in a template: which values are sent must be known when the graph is loaded; give the template the value, as in template(\"x.tmpl\", {\"value\": sent('kind[name].key')}), and write {{ .value }}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{
				"g.yaml": c.graph, "d.yaml": "port: 80\nusers: {ann: {shell: /bin/sh}}\n", "s.yaml": "api: {token: \"ENC[age,x]\"}\n",
				"sent.tmpl": "one\n{{ sent \"exec[e].output\" }}\n",
			}
			got := told(t, files, yaml.Options{Vars: []expand.Setting{}})
			if want := "g.yaml:" + c.want; strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}
