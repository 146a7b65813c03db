package yaml_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// vhost is a template with the means that a file of a web server needs.
const vhost = `# {{ .site.name | upperAscii }}
{{- range $i, $a := .site.aliases }}
alias {{ $i }} {{ $a }};
{{- else }}
# no alias
{{- end }}
{{ if index .site "tls" }}tls on;
{{ end -}}
listen {{ .site.port }}; # {{ .site.aliases | join ", " }} {{ json .site.aliases }} {{ read "x.txt" }}
`

// TestTemplates: a template computes the content of a file. Its functions are those of expressions, and its paths are relative to it.
func TestTemplates(t *testing.T) {
	graph := `
vars: {sites: {a: {name: one, port: 80, aliases: [x, y]}, b: {name: two, port: 81, aliases: [], tls: true}}}
resources:
  file:
  - name: /${{ each.key }}
    for_each: ${{ vars.sites }}
    content: '${{ template("t/vhost.tmpl", {"site": each.value}) }}'
  - {name: /all, content: "${{ template('t/all.tmpl', vars) + template('t/none.tmpl') }}"}
`
	files := map[string]string{"g.yaml": graph, "t/vhost.tmpl": vhost, "t/x.txt": "near", "t/all.tmpl": "{{ len .sites }}", "t/none.tmpl": " plain"}
	got, _, err := loadFiles(t, files, yaml.Options{})
	if err == nil {
		err = got.Problems.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := loadFiles(t, map[string]string{"g.yaml": `
resources:
  file:
  - {name: /a, content: "# ONE\nalias 0 x;\nalias 1 y;\nlisten 80; # x, y [\"x\",\"y\"] near\n"}
  - {name: /b, content: "# TWO\n# no alias\ntls on;\nlisten 81; #  [] near\n"}
  - {name: /all, content: "2 plain"}
`}, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(plainly(t, want), plainly(t, got)); d != "" {
		t.Error(d)
	}
}

// TestTemplatesWrong: what is wrong in a template has its place there, below the place of the expression.
func TestTemplatesWrong(t *testing.T) {
	const graph = "resources:\n  exec:\n  - {name: e, cmd: \"${{ template('t.tmpl', {'a': 'x'}) }}\"}\n"
	const at = "g.yaml:3:33: the template t.tmpl has a fault\n    "
	for _, c := range []struct{ name, template, want string }{
		{"a missing key", "x\n  {{ .b }}\n", at + `t.tmpl:2:6: there is no key "b"; index returns nothing for a missing key, as in {{ if index . "b" }}`},
		{"unknown functions, also where nothing goes", "{{ if false }}{{ jsn .a }}{{ end }}\n{{ html .a }}", at + "t.tmpl:1:18: there is no function \"jsn\" (did you mean \"json\"?)\n    t.tmpl:2:4: there is no function \"html\""},
		{"the notation", "a\n{{ if }}\n", at + "t.tmpl:2: missing value for if"},
		{"too many arguments", "{{ json 1 2 3 }}", at + "t.tmpl:1:4: json: it does not take 3 arguments"},
		{"a function that fails", "{{ fromJSON .a }}", at + "t.tmpl:1:4: fromJSON: this is no JSON: invalid character 'x' looking for beginning of value"},
		{"no file", "", "g.yaml:3:33: can't read t.tmpl: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"g.yaml": graph}
			if c.template != "" {
				maps.Copy(files, map[string]string{"t.tmpl": c.template})
			}
			if got := told(t, files, yaml.Options{}); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}
