package yaml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestSentWrong: a sent value is judged by the type of its sender, and may stand in parameters alone. All is told at once, each at its character.
func TestSentWrong(t *testing.T) {
	for _, c := range []struct{ name, item, want string }{
		{"text for a number", `{name: b, cmd: c, count: "${{ sent('exec[a].output') }}"}`, `5:35: count must be a whole number from 0 to 10, and this expression is text`},
		{"a number fits", `{name: b, cmd: c, count: "${{ sent('exec[a].code') + 1 }}"}`, ""},
		{"a wrong operator", `{name: b, cmd: "é${{ sent('exec[a].code') + 'x' }}"}`, `5:47: + can't be applied to (int, text)`},
		{"no such resource", `{name: b, cmd: "é${{ sent('exec[aa].output') }}"}`, `5:31: sent: exec[aa] is not in the graph (did you mean "exec[a]"?)`},
		{"no such key", `{name: b, cmd: "${{ sent('exec[a].outptu') }}"}`, `5:30: exec[a]: unknown key "outptu" (did you mean "output"?)`},
		{"no key", `{name: b, cmd: "${{ sent('exec[a]') }}"}`, `5:30: exec[a] names no value, write exec[a].key`},
		{"no reference", `{name: b, cmd: "${{ sent('a') }}"}`, `5:30: "a" is not a reference, write kind[name]`},
		{"itself", `{name: b, cmd: "${{ sent('exec[b].output') }}"}`, `5:30: exec[b] depends on itself`},
		{"of a resource that sends nothing", `{name: b, cmd: "${{ sent('noop[n].x') }}"}`, `5:30: noop[n] sends nothing`},
		{"of a resource that is left out", `{name: b, cmd: "${{ sent('exec[out].output') }}"}`, `5:30: sent: exec[out] is left out by its condition, so it sends nothing`},
		{"in a condition", `{name: b, cmd: c, when: "${{ facts.cpus == 0 && sent('exec[a].code') == 1 }}"}`, `5:58: a condition can't ask for a sent value: it decides which resources the graph has, and the value is known only when the graph runs`},
		{"in a name", `{name: "${{ sent('exec[a].output') }}", cmd: c}`, `5:22: name can't have a sent value: it must be known before the graph runs`},
		{"in a loop", `{name: b, cmd: c, for_each: "${{ sent('exec[a].output').split('x') }}"}`, `5:43: a loop can't be over a sent value: it decides which resources the graph has, and the value is known only when the graph runs`},
		{"in meta", `{name: b, cmd: c, meta: {retry: "${{ sent('exec[a].code') }}"}}`, `5:47: meta can't have a sent value: it must be known before the graph runs`},
		{"in a reference", `{name: b, cmd: c, depend: ["${{ sent('exec[a].output') }}"]}`, `5:42: depend can't have a sent value: it must be known before the graph runs`},
		{"inside of map", `{name: b, cmd: c, args: "${{ ['a'].map(x, sent('exec[' + x + '].output')) }}"}`, `5:52: the argument of sent must be known when the graph is loaded: it may have neither variables of map and filter nor sent values in it`},
		{"a fault of a file comes at load", `{name: b, cmd: "${{ read('none') + sent('exec[a].output') }}"}`, `5:25: can't read none: no such file or directory`},
		{"what is wrong with an empty value only", `{name: b, cmd: "${{ fromJSON(sent('exec[a].output')).x }}"}`, ""},
		{"both received and sent", `{name: b, cmd: "${{ sent('exec[a].output') }}", recv: {cmd: "exec[a].output"}}`, `5:60: cmd is received twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want != "" {
				want = "g.yaml:" + want
			}
			graph := "resources:\n  noop: [{name: n}]\n  exec:\n  - {name: a, cmd: c}\n  - " + c.item + "\n  - {name: out, cmd: c, when: false}\n"
			got := told(t, map[string]string{"g.yaml": graph}, yaml.Options{Facts: machineFacts})
			if got, _, _ = strings.Cut(got, "\n"); got != want && !(c.name == "itself" && strings.Contains(got, "exec[b]")) {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

// formulaOf loads a graph and returns the formula of the parameter content of file[/f].
func formulaOf(t *testing.T, files map[string]string, o yaml.Options) (*resgraph.Formula, []gapi.RecvDecl) {
	t.Helper()
	reg := registry(t)
	o.Registry = func() *engine.Registry { return reg }
	d, _, err := loadFiles(t, files, o)
	if err != nil || d.Problems.Err() != nil {
		t.Fatal(err, d.Problems)
	}
	for _, r := range d.Resources {
		if r.Name == "/f" && len(r.Recv) > 0 {
			if r.Value.Get("content") != nil {
				t.Error("the parameter has a value before one was sent")
			}
			return r.Recv[0].Formula, r.Recv
		}
	}
	t.Fatal("file[/f] receives nothing")
	return nil, nil
}

// TestSentComputed: a formula makes the value of what is sent, of variables, of the turn of a loop, of templates and of secrets, in graphs and in modules.
func TestSentComputed(t *testing.T) {
	const graph = "vars: {port: 80}\nuse: [{module: m, with: {x: 1}}]\nresources:\n  password: [{name: p}]\n  exec: [{name: a, cmd: c}, {name: b1, cmd: c}]\n  file: [{name: /f, content: %s}]\n"
	sent := map[string]any{"exec[a].output": "out", "exec[a].code": int64(7), "password[p].password": "pw", "exec[b1].output": "b"}
	for _, c := range []struct {
		name, content, want string
		secret              bool
	}{
		{"alone", `"${{ sent('exec[a].output') }}"`, "out", false},
		{"among text", `"<${{ sent('exec[a].output') }}|${{ sent('exec[a].code') + vars.port }}>"`, "<out|87>", false},
		{"kinds in any case, names of Go", `"${{ sent('Exec[a].Output') }}"`, "out", false},
		{"a computed name", `"${{ sent('exec[b' + string(vars.port / 80) + '].output') }}"`, "b", false},
		{"one of two", `"${{ sent('exec[a].code') > 5 ? sent('exec[a].output') : sent('exec[b1].output') }}"`, "out", false},
		{"a template", `"${{ template('t.tmpl', {'o': sent('exec[a].output')}) }}"`, "o=out\n", false},
		{"a secret beside it", `"${{ sent('exec[a].output') }} ${{ secret('token') }}"`, "out " + theSecret, true},
		{"a secret in one expression with it", `"${{ sent('exec[a].output') + secret('token') }}"`, "out" + theSecret, true},
		{"a secret in a branch", `"${{ sent('exec[a].code') == 7 ? secret('token') : 'none' }}"`, theSecret, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"g.yaml": strings.ReplaceAll(graph, "%s", c.content), "t.tmpl": "o={{ .o }}\n", "m/module.yaml": "module: m\ninputs: {x: 0}\n"}
			f, _ := formulaOf(t, files, vault())
			got, secret, err := f.Make(sent)
			if err != nil || got != c.want || secret != c.secret {
				t.Errorf("%q, secret %v: %v; want %q, %v", got, secret, err, c.want, c.secret)
			}
		})
	}
	files := map[string]string{"g.yaml": "use: [{module: m, with: {x: 5}}]\n",
		"m/module.yaml": "module: m\ninputs: {x: 0}\nresources:\n  exec: [{name: a, cmd: c}]\n  file: [{name: /f, content: \"${{ module.inputs.x + sent('exec[a].code') }}\"}]\n"}
	if f, _ := formulaOf(t, files, yaml.Options{}); f != nil {
		if got, _, err := f.Make(sent); got != int64(12) || err != nil {
			t.Errorf("in a module: %v, %v", got, err)
		}
	}
}

// TestSentFault: what a formula can't compute has its place, and reads no file that was not read at load.
func TestSentFault(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{`"é ${{ int(sent('exec[a].output')) }}"`, "g.yaml:3:37: "},
		{`"${{ read(sent('exec[a].output')) }}"`, "must be known when the graph is loaded"},
		{`"${{ secret(sent('exec[a].output')) }}"`, "must be known when the graph is loaded"},
	} {
		f, _ := formulaOf(t, map[string]string{"g.yaml": "resources:\n  exec: [{name: a, cmd: c}]\n  file: [{name: /f, content: " + c.content + "}]\n"},
			yaml.Options{Secret: func(string) (string, bool) { return "", true }})
		if _, _, err := f.Make(map[string]any{"exec[a].output": "/etc/hostname"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.content, err)
		}
	}
}

// TestSentSum: formulas of equal inputs are equal, and those of other inputs are not. So an unchanged resource keeps its vertex.
func TestSentSum(t *testing.T) {
	dir := t.TempDir()
	sum := func(content, tmpl, host, secret string) string {
		graph := "resources:\n  exec: [{name: a, cmd: c}]\n  file: [{name: /f, content: \"" + content + "\"}]\n"
		for name, text := range map[string]string{"g.yaml": graph, "t.tmpl": tmpl} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := yaml.Load(filepath.Join(dir, "g.yaml"), yaml.Options{Facts: func() map[string]any { return map[string]any{"hostname": host, "cpus": int64(len(tmpl))} }, Secret: func(string) (string, bool) { return secret, true }}, nil)
		if err != nil || len(d.Resources[1].Recv) == 0 {
			t.Fatal(err)
		}
		return d.Resources[1].Recv[0].Formula.Sum
	}
	const content = "${{ facts.hostname + sent('exec[a].output') + template('t.tmpl') + secret('x') }}"
	first := sum(content, "t", "h", "s")
	if sum(content, "t", "h", "s") != first {
		t.Error("equal inputs make another formula")
	}
	for what, other := range map[string]string{"text": sum(content+" ", "t", "h", "s"), "template": sum(content, "u", "h", "s"), "fact": sum(content, "t", "g", "s"), "secret": sum(content, "t", "h", "r")} {
		if other == first {
			t.Errorf("another %s makes the same formula", what)
		}
	}
	plain := "${{ sent('exec[a].output') }}"
	if sum(plain, "t", "h", "s") != sum(plain, "uu", "g", "r") {
		t.Error("inputs that the expression does not read make another formula")
	}
}
