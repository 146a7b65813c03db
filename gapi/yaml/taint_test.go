package yaml_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// theSecret is the only secret of the tests below. No finding may have a part of it.
const theSecret = "hunter2"

// vault gives the options of a graph with one secret, called token.
func vault() yaml.Options {
	return yaml.Options{Secret: func(name string) (string, bool) { return theSecret, name == "token" }}
}

// marksOf returns the parameters of the one resource that are marked as secret.
func marksOf(t *testing.T, meta *schema.Node) (marks []string) {
	t.Helper()
	if meta == nil || meta.Get("secret") == nil {
		return nil
	}
	for _, n := range meta.Get("secret").Items {
		marks = append(marks, n.Text)
	}
	return marks
}

// TestSecretInTemplate: a template that is given a secret, or asks for one, makes a secret, also in a module and in a function around it.
func TestSecretInTemplate(t *testing.T) {
	for _, c := range []struct{ name, graph, template, mark string }{
		{"given", "resources:\n  file: [{name: /a, content: \"${{ template('t.tmpl', {'k': secret('token')}) }}\"}]\n", "k={{ .k }}", "content"},
		{"asked for", "resources:\n  file: [{name: /a, content: \"${{ template('t.tmpl') }}\"}]\n", `k={{ secret "token" }}`, "content"},
		{"in a pipeline", "resources:\n  file: [{name: /a, content: \"${{ template('t.tmpl') }}\"}]\n", `{{ $s := "token" | secret }}k={{ range fromJSON (json (split "x" $s)) }}{{ . }}{{ end }}`, "content"},
		{"in text and a function", "resources:\n  file: [{name: /a, content: \"k=${{ base64(template('t.tmpl')) }}\"}]\n", `{{ secret "token" }}`, "content"},
		{"a condition on it", "resources:\n  file: [{name: /a, content: \"${{ template('t.tmpl') }}\"}]\n", `k={{ if eq (secret "token") "x" }}a{{ else }}b{{ end }}`, "content"},
		{"not reached", "resources:\n  file: [{name: /a, content: \"${{ template('t.tmpl') }}\"}]\n", `k={{ if false }}{{ secret "token" }}{{ end }}`, ""},
		{"in a module", "use: [{module: m}]\n", `k={{ secret "token" }}`, "content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _, err := loadFiles(t, map[string]string{
				"g.yaml": c.graph, "t.tmpl": c.template,
				"m/module.yaml": "module: m\nresources:\n  file: [{name: /a, content: \"${{ template('../t.tmpl') }}\"}]\n",
			}, vault())
			if err != nil || d.Problems.Err() != nil || len(d.Resources) != 1 {
				t.Fatal(err, d)
			}
			r := d.Resources[0]
			if got := strings.Join(marksOf(t, r.Meta), ","); got != c.mark {
				t.Errorf("the marks are %q", got)
			}
			text := r.Value.Get("content").Text
			if hidden := text == schema.Redacted; hidden != (c.mark != "") || strings.Contains(text, theSecret) {
				t.Errorf("the node of the content shows %q", text)
			}
		})
	}
}

// TestSecretOfModule: a secret goes into a module and out of it, also through a module in a module, and what is made of it is a secret.
// Its neighbours in the same value are none.
func TestSecretOfModule(t *testing.T) {
	modules := map[string]string{
		"m/module.yaml": "module: m\ninputs: {k: {type: any, default: x}, open: {type: text, default: o}}\noutputs: {back: '${{ module.inputs.k }}', plain: '${{ module.inputs.open }}'}\n" +
			"resources:\n  file: [{name: /a, content: \"${{ string(module.inputs.k) }}\"}]\n",
		"maps/module.yaml":  "module: maps\ninputs: {c: {type: map}}\nresources:\n  file: [{name: \"/${{ module.inputs.c.port }}\", content: \"${{ module.inputs.c.key }}\"}]\n",
		"all/module.yaml":   "module: all\ninputs: {k: {type: text}}\nresources:\n  file: [{name: /a, content: \"${{ template('../in.tmpl', module.inputs) }}\"}]\n",
		"outer/module.yaml": "module: outer\ninputs: {k: {type: text}}\nuse: [{module: ../o, name: core, with: {k: \"<${{ module.inputs.k }}>\"}}]\noutputs: {k: '${{ module.core.k }}'}\n",
		"o/module.yaml":     "module: o\ninputs: {k: {type: text}}\noutputs: {k: {type: text, value: \"${{ 'k' + module.inputs.k }}\"}}\n",
		"own/module.yaml":   "module: own\noutputs: {k: \"${{ base64(secret('token')) }}\"}\n",
		"in.tmpl":           "k={{ .k }}",
	}
	for _, c := range []struct{ name, graph, resource, mark, content string }{
		{"an input", "use: [{module: m, with: {k: \"${{ secret('token') }}\"}}]\n", "/a", "content", theSecret},
		{"an input in text", "use: [{module: m, with: {k: \"a ${{ base64(secret('token')) }}\"}}]\n", "/a", "content", "a aHVudGVyMg=="},
		{"another input", "use: [{module: m, with: {open: \"${{ secret('token') }}\"}}]\n", "/a", "", "x"},
		{"a part of a map", "use: [{module: maps, with: {c: {port: 80, key: \"${{ secret('token') }}\"}}}]\n", "/80", "content", theSecret},
		{"all inputs", "use: [{module: all, with: {k: \"${{ secret('token') }}\"}}]\n", "/a", "content", "k=" + theSecret},
		{"an output", "use: [{module: own}]\nresources:\n  file: [{name: /b, content: \"${{ module.own.k }}\"}]\n", "/b", "content", "aHVudGVyMg=="},
		{"an optional output", "use: [{module: own}]\nresources:\n  file: [{name: /b, content: \"${{ module.?own.?k.orValue('') }}\"}]\n", "/b", "content", "aHVudGVyMg=="},
		{"all outputs", "use: [{module: own}]\nresources:\n  file: [{name: /b, content: \"${{ [module].map(m, m.own.k)[0] }}\"}]\n", "/b", "content", "aHVudGVyMg=="},
		{"nested", "use: [{module: outer, with: {k: \"${{ secret('token') }}\"}}]\nresources:\n  file: [{name: /b, content: \"${{ module.outer.k }}\"}]\n", "/b", "content", "k<" + theSecret + ">"},
		{"a plain output", "use: [{module: m, with: {k: \"${{ secret('token') }}\"}}]\nresources:\n  file: [{name: \"/${{ module.m.plain }}\", content: \"${{ module.m.plain }}\"}]\n", "/o", "", "o"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _, err := loadFiles(t, with(modules, c.graph), vault())
			if err != nil || d.Problems.Err() != nil {
				t.Fatal(err, d)
			}
			at := slices.IndexFunc(d.Resources, func(r gapi.Declaration) bool { return r.Name == c.resource })
			if at < 0 {
				t.Fatalf("%s is missing: %v", c.resource, d.Resources)
			}
			r := d.Resources[at]
			var content any
			if ds := schema.Decode(r.Value.Get("content"), &content); ds.Err() != nil {
				t.Fatal(ds)
			}
			if s, hidden := content.(schema.Secret); hidden {
				content = s.Reveal()
			}
			if marks := strings.Join(marksOf(t, r.Meta), ","); marks != c.mark || content != c.content {
				t.Errorf("the content is %q, and the marks are %q", content, marks)
			}
			if shown := r.Value.Get("content").Text; (shown == schema.Redacted) != (c.mark != "") {
				t.Errorf("the node shows %q", shown)
			}
		})
	}
}

// TestSecretShown: a secret of a module is refused where it would be shown, and no finding has a part of it.
func TestSecretShown(t *testing.T) {
	const refused = "a secret may stand only in a parameter of a resource, or in an input or an output of a module: names, conditions, loops and references are shown"
	module := map[string]string{
		"m/module.yaml": "module: m\ninputs: {k: {type: any, default: x}}\noutputs: {k: '${{ module.inputs.k }}'}\n",
		"n/module.yaml": "module: n\ninputs: {k: {type: text}}\nresources:\n  file: [{name: \"/${{ module.inputs.k }}\"}]\n",
		"i/module.yaml": "module: i\ninputs: {k: {type: int}}\n",
		"f/module.yaml": "module: f\ninputs: {k: {type: text}}\nresources:\n  file: [{name: /b, content: \"${{ fromJSON(module.inputs.k) }}\"}]\n",
		"f.tmpl":        `{{ fromJSON (secret "token") }}`,
	}
	const use = "use: [{module: m, with: {k: \"${{ secret('token') }}\"}}]\nresources:\n"
	for _, c := range []struct{ name, graph, want string }{
		{"a name", use + "  file: [{name: \"/${{ module.m.k }}\"}]\n", "g.yaml:3:23: " + refused},
		{"a condition", use + "  file: [{name: /b, when: \"${{ module.m.k == 'x' }}\"}]\n", "g.yaml:3:32: " + refused},
		{"a loop", use + "  file: [{name: /b, for_each: \"${{ [module.m.k] }}\"}]\n", "g.yaml:3:36: " + refused},
		{"a name in the module", "use: [{module: n, with: {k: \"${{ secret('token') }}\"}}]\n", "n/module.yaml:4:23: " + refused},
		{"another type", "use: [{module: i, with: {k: \"${{ secret('token') }}\"}}]\n", "g.yaml:1:34: the input k is int, not text\n    i/module.yaml:2:10: declared here"},
		{"no text", "use: [{module: i, with: {k: \"${{ size(secret('token')) }}\"}}]\n", "g.yaml:1:30: a value that is made from a secret must be text, or a list or a map of texts: write string(...)"},
		{"a fault in the module", "use: [{module: f, with: {k: \"${{ secret('token') }}\"}}]\n", "f/module.yaml:4:35: the value can't be computed from the secret; the reason is not shown, since it may have a part of the secret"},
		{"a variable", "vars: {v: \"${{ secret('token') }}\"}\nresources:\n  file: [{name: /b, content: \"${{ vars.v }}\"}]\n", "g.yaml:1:11: a variable takes no expression: expressions stand in resources, include, defaults and data.files; for the characters ${{ write $${{"},
		{"a fault of a template", "resources:\n  file: [{name: /b, content: \"${{ template('f.tmpl') }}\"}]\n", "g.yaml:2:35: the value can't be computed from the secret; the reason is not shown, since it may have a part of the secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := told(t, with(module, c.graph), vault())
			if got != c.want || strings.Contains(got, theSecret) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}
