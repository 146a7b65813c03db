package yaml_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// told loads and builds a graph with the kinds of these tests, and returns all that is said.
func told(t *testing.T, files map[string]string, o yaml.Options) string {
	t.Helper()
	reg := registry(t)
	o.Registry = func() *engine.Registry { return reg }
	d, dir, err := loadFiles(t, files, o)
	ds, _ := err.(schema.Diagnostics)
	if d != nil {
		_, ds = gapi.Build(reg, d)
	}
	return strings.ReplaceAll(ds.Error(), dir+"/", "")
}

// TestExpected: an expression is judged by the type of its field when the graph is loaded. Each finding has its character, all come at once with
// those of the builder, and no consequence of one is told.
func TestExpected(t *testing.T) {
	for _, c := range []struct{ name, kind, item, want string }{
		{"a list for text", "file", `{name: /a, content: "${{ facts.roles }}"}`, `3:30: content must be text or null, and this expression is a list whose items are text`},
		{"text for a bool", "file", `{name: /a, recurse: "${{ facts.hostname }}"}`, `3:30: recurse must be true or false, and this expression is text`},
		{"text around a number", "exec", `{name: e, cmd: c, count: "1${{ facts.cpus }}"}`, `3:30: count must be a whole number from 0 to 10, and text around an expression makes it text`},
		{"a bool for a size", "file", `{name: /a, limit: "${{ facts.cpus > 2 }}"}`, `3:28: limit must be a size such as 64k or 10MiB, and this expression is bool`},
		{"text for a list", "exec", `{name: e, cmd: c, args: "${{ facts.hostname }}"}`, `3:34: args must be a list of text, and this expression is text`},
		{"a list in a list", "exec", `{name: e, cmd: c, args: [a, "${{ facts.roles }}"]}`, `3:38: args[1] must be text, and this expression is a list whose items are text`},
		{"a map of lists", "exec", `{name: e, cmd: c, env: "${{ {'A': [1]} }}"}`, `3:33: env must be a map of text, and this expression is a map whose values are a list`},
		{"in a map", "exec", `{name: e, cmd: c, env: {A: "${{ [1] }}"}}`, `3:37: env.A must be text, and this expression is a list whose items are int`},
		{"a metaparameter", "file", `{name: /a, meta: {retry: "${{ facts.hostname }}"}}`, `3:35: meta.retry must be a whole number of at least -1, and this expression is text`},
		{"a name", "file", `{name: "${{ facts.roles }}"}`, `3:17: name must be text, and this expression is a list whose items are text`},
		{"a condition", "file", `{name: /a, when: "${{ facts.cpus }}"}`, `3:27: when must be true or false, and this expression is int`},
		{"what a condition leaves out", "file", `{name: /a, when: false, recurse: "${{ facts.hostname }}"}`, `3:43: recurse must be true or false, and this expression is text`},
		{"what an empty loop never makes", "file", `{name: "/${{ each.key }}", for_each: [], content: "${{ facts.roles }}"}`, `3:60: content must be text or null, and this expression is a list whose items are text`},
		{"a list in a text that is left out", "file", `{name: /a, when: false, content: "x ${{ facts.roles }}"}`, `3:45: inside a text an expression must be text, a number or true or false, not a list: write .join(", ") behind it`},
		{"a required parameter with a fault is not missing", "exec", `{name: e, cmd: "${{ facts.hostnam }}"}`, `3:31: facts has no "hostnam" (did you mean "hostname"?)`},
		{"a required parameter of a wrong type is not missing", "exec", `{name: e, cmd: "${{ facts.roles }}"}`, `3:25: cmd must be text, and this expression is a list whose items are text`},
		{"a required parameter without a value", "exec", `{name: e, cmd: "${{ {'a': 'b'}.?c }}"}`, `3:5: cmd is required: text`},
		{"a value that only the machine knows", "exec", `{name: e, cmd: c, count: "${{ facts.cpus * 5 }}"}`, `3:35: count must be a whole number from 0 to 10, not 20`},
		{"with a finding of the builder", "exec", `{name: e, cmd: "${{ facts.roles }}", cound: 1}`, `3:25: cmd must be text, and this expression is a list whose items are text
g.yaml:3:42: unknown key "cound" (did you mean "count"?)`},
		{"what fits", "exec", `{name: e, cmd: "${{ facts.cpus }}", args: "${{ facts.roles }}", count: "${{ facts.cpus }}", timeout: "${{ duration('5s') }}", ratio: "${{ 1 }}", extra: "${{ [1] }}"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want != "" {
				want = "g.yaml:" + want
			}
			graph := "resources:\n  " + c.kind + ":\n  - " + c.item + "\n"
			if got := told(t, map[string]string{"g.yaml": graph}, yaml.Options{}); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}
