package lsp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestFold: keys and entries fold with what is deeper, and comments of several lines fold. A line without deeper ones does not.
func TestFold(t *testing.T) {
	c := start(t, testOptions(t, nil), nil)
	for src, want := range map[string]string{
		"":                         "",
		"a: 1\nb: 2\n":             "",
		"a:\n  b: 1\n\n  c: 2\nd:": "0-3",
		"resources:\n  note:\n  - name: a\n    text: |\n      x\n\n      y\n  - name: b\n# of c\n# more\nc: 1\n": "0-7 1-7 2-6 3-6 8-9comment",
		"files:\n- a\n- b\nx: {a: 1,\n  b: 2}\n": "0-2 3-4",
		"# a\n\n# b\n# c":                        "2-3comment",
		"- - a\n  - b\n- c\n\t\n":                "0-1",
		"a:\r\n  b: 1\r\nc: 2\r\n":               "0-1",
		"}{: :\n  - [\n":                         "0-1",
	} {
		c.edit("g.yaml", src)
		var got []foldingRange
		if f := c.ask("textDocument/foldingRange", map[string]any{"textDocument": map[string]any{"uri": c.uri("g.yaml")}}, &got); f != nil {
			t.Fatal(f)
		}
		slices.SortFunc(got, func(a, b foldingRange) int { return a.Start - b.Start })
		var list []string
		for _, r := range got {
			list = append(list, fmt.Sprintf("%d-%d%s", r.Start, r.End, r.Kind))
		}
		if text := strings.Join(list, " "); text != want {
			t.Errorf("%q folds at %s, want %s", src, text, want)
		}
	}
}

// testFile is a file of tests, as far as this test needs it. The true one is in a package above.
type testFile struct {
	Comment string `yaml:"comment"`
	Graph   string `yaml:"graph" mgmt:"required" doc:"The graph."`
	Tests   []struct {
		Name     string            `yaml:"name" mgmt:"required"`
		Vars     map[string]any    `yaml:"vars"`
		Inputs   map[string]any    `yaml:"inputs"`
		Secrets  map[string]string `yaml:"secrets"`
		Machine  any               `yaml:"machine"`
		Commands []struct {
			Cmd    string `yaml:"cmd"`
			Exit   int    `yaml:"exit"`
			Output string `yaml:"output"`
		} `yaml:"commands"`
		Steps []struct {
			Drift  any               `yaml:"drift"`
			Fail   map[string]string `yaml:"fail"`
			After  string            `yaml:"after"`
			Expect any               `yaml:"expect"`
		} `yaml:"steps"`
	} `yaml:"tests" mgmt:"required"`
}

// TestCompleteTests: in a file of tests the editor offers the keys of the format, the inputs of the module, the variables of the graph, and the kinds.
func TestCompleteTests(t *testing.T) {
	o := testOptions(t, nil)
	typ, err := schema.Of(&testFile{})
	if err != nil {
		t.Fatal(err)
	}
	o.TestFile = typ
	files := map[string]string{"mod/module.yaml": moduleSource, "g.yaml": graphSource}
	for name, src := range featureFiles {
		if files[name] == "" {
			files[name] = src
		}
	}
	c := start(t, o, files)
	c.edit("g.yaml", graphSource)
	c.findings("g.yaml")
	for _, x := range []struct{ file, src, has, hasNot string }{
		{"mod/x_test.yaml", "graph: module.yaml\n‸\n", "tests comment", "resources graph use"},
		{"mod/x_test.yaml", "graph: module.yaml\ntests:\n- name: a\n  inputs: {‸}\n", "port", "domain"},
		{"mod/x_test.yaml", "graph: module.yaml\ntests:\n- name: a\n  inputs:\n    po‸\n", "port", ""},
		{"g_test.yaml", "graph: g.yaml\ntests:\n- name: a\n  ‸\n", "vars steps machine secrets inputs", "name"},
		{"g_test.yaml", "graph: g.yaml\ntests:\n- ‸\n", "name vars", "graph"},
		{"g_test.yaml", "graph: g.yaml\ntests:\n- name: a\n  vars: {‸}\n", "domain sites", "name"},
		{"g_test.yaml", "graph: g.yaml\ntests:\n- name: a\n  steps:\n  - ‸\n", "drift fail after expect", "name"},
		{"g_test.yaml", "graph: g.yaml\ntests:\n- name: a\n  commands:\n  - cmd: x\n    ‸\n", "exit output", "cmd"},
		{"g_test.yaml", "graph: g.yaml\ntests:\n- name: a\n  machine:\n    ‸\n", "note", "text"},
		{"g_test.yaml", "graph: g.yaml\ntests:\n- name: a\n  steps:\n  - expect:\n      ‸\n", "note order changed failed", "text"},
		{"g_test.yaml", "graph: g.yaml\ntests:\n- name: a\n  steps:\n  - drift:\n      note:\n      - name: /a\n        ‸\n", "text state", "name"},
	} {
		labels := c.labels(x.file, x.src)
		for want := range strings.FieldsSeq(x.has) {
			if !slices.Contains(labels, want) {
				t.Errorf("%q: %q lacks %s", x.src, labels, want)
			}
		}
		for other := range strings.FieldsSeq(x.hasNot) {
			if slices.Contains(labels, other) {
				t.Errorf("%q: %q has %s", x.src, labels, other)
			}
		}
	}
}

// TestSecretsStayHidden asks every question at every place of graphs with secrets. The session could decrypt them, and decrypts none. No answer and no
// finding has a part of a value, encrypted or not.
func TestSecretsStayHidden(t *testing.T) {
	const canary = "canary-7a31"
	o := testOptions(t, nil)
	var unsealed atomic.Int64
	o.YAML.Unseal = func(string) (string, error) { unsealed.Add(1); return `{"` + canary + `": "` + canary + `"}`, nil }
	module := "module: m\ninputs:\n  token: {type: text}\noutputs:\n  made: {value: \"${{ 'x' + module.inputs.token }}\"}\nresources:\n  note:\n  - {name: in, text: \"${{ module.inputs.token }}\"}\n"
	keys := "token: \"ENC[age,x]\"\nclear: " + canary + "\n"
	graph := `secrets: [{age: keys.yaml}]
vars:
  v: {type: text, default: plain}
use:
- {module: ./mod, name: front, with: {token: "${{ secret('token') }}"}}
resources:
  note:
  - name: a
    text: ${{ secret('token') }}
  - name: clear
    text: ${{ secret('clear') }}
  - name: b
    text: ${{ fromJSON(secret('token')).nope }}
  - name: c
    text: ${{ module.front.made }}
    depend: ["note[a]"]
  - name: d
    text: ${{ template('t.tmpl', {'s': secret('token')}) }}
  - name: e
    for_each: ${{ [fromJSON(secret('token'))] }}
    text: ${{ each.value.x }}
  - name: ${{ secret('token') }}
    state: ${{ secret('token') }}
    tags: ${{ fromJSON(secret('token')) }}
`
	c := start(t, o, map[string]string{"keys.yaml": keys, "mod/module.yaml": module, "t.tmpl": "{{ .s }}{{ .nope }}\n"})
	asked := 0
	told := func(what string, raw any) {
		asked++
		if text := fmt.Sprint(raw); strings.Contains(text, canary) {
			t.Errorf("%s shows the secret: %s", what, text)
		}
	}
	c.edit("g.yaml", graph)
	told("the findings", c.findings("g.yaml"))
	for name, src := range map[string]string{"g.yaml": graph, "mod/module.yaml": module, "keys.yaml": keys} {
		c.edit(name, src)
		for offset := range len(src) {
			at := map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "position": newText(src).position(offset)}
			for _, method := range []string{"textDocument/hover", "textDocument/completion", "textDocument/definition"} {
				var raw any
				f := c.ask(method, at, &raw)
				told(fmt.Sprintf("%s at %d of %s", method, offset, name), []any{raw, f})
			}
		}
		for _, method := range []string{"textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/formatting"} {
			var raw any
			f := c.ask(method, map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}}, &raw)
			told(method+" of "+name, []any{raw, f})
		}
	}
	if unsealed.Load() != 0 || asked < 1000 {
		t.Errorf("%d texts were decrypted for %d questions", unsealed.Load(), asked)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "g.yaml")); err == nil {
		t.Error("the server has written a file")
	}
}
