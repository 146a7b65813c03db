package yaml_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
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

// TestSecretOfModule: a secret is neither an input nor an output of a module, whatever is computed from it, and no finding has a part of it.
func TestSecretOfModule(t *testing.T) {
	const refused = "a secret may stand only in a parameter of a resource: names, conditions, loops, references, and the inputs and outputs of modules are shown"
	module := map[string]string{
		"m/module.yaml": "module: m\ninputs: {k: {type: any, default: x}}\nresources:\n  file: [{name: /a, content: \"${{ string(module.inputs.k) }}\"}]\n",
		"o/module.yaml": "module: o\noutputs: {k: \"${{ 'k' + secret('token') }}\"}\n",
		"t.tmpl":        `{{ secret "token" }}`, "f.tmpl": `{{ fromJSON (secret "token") }}`,
	}
	for _, c := range []struct{ name, graph, want string }{
		{"an input", "use: [{module: m, with: {k: \"${{ secret('token') }}\"}}]\n", "g.yaml:1:40: " + refused},
		{"an input in text", "use: [{module: m, with: {k: \"a ${{ base64(secret('token')) }}\"}}]\n", "g.yaml:1:49: " + refused},
		{"an input by a template", "use: [{module: m, with: {k: \"${{ template('t.tmpl') }}\"}}]\n", "g.yaml:1:42: the template t.tmpl has a fault\n    t.tmpl:1:4: secret: " + refused},
		{"an output", "use: [{module: o}]\nresources:\n  file: [{name: /b, content: \"${{ module.o.k }}\"}]\n", "o/module.yaml:2:31: " + refused},
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
