package yaml_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// rendered loads a graph, and writes it out.
func rendered(t *testing.T, files map[string]string, o yaml.Options, how yaml.Rendering) (*gapi.Declared, string) {
	t.Helper()
	d, dir, err := loadFiles(t, files, o)
	if err == nil {
		err = d.Problems.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := yaml.Render(&b, d, how); err != nil {
		t.Fatal(err)
	}
	return d, strings.ReplaceAll(b.String(), dir+"/", "")
}

// linesOf counts equal lines: a rendered graph has its resources in another order.
func linesOf(text string) map[string]int {
	lines := map[string]int{}
	for line := range strings.Lines(text) {
		lines[line]++
	}
	return lines
}

// TestRenderAgain: a graph that was rendered is read as the same graph, and rendered again it is the same text.
func TestRenderAgain(t *testing.T) {
	cases := append(computedCases, computedCase{name: "all keys of a graph", graph: `
graph: g
comment: "the ${{ facts.hostname }} $${{ x }}"
noop: true
vars: {l: [1], m: {a: {}}, n: null}
resources:
  file:
  - {name: "/$${{ a }}", content: "$$${{ b }} yes", meta: {retry: 2}, depend: ["exec[no]"]}
  exec:
  - {name: "no", cmd: "c\nd: #e", env: {A: "1", B: "${{ 'null' }}"}, args: ["${{ string(vars.l[0]) }}", "~", ""], notify: ["file[/b]"]}
  FILE:
  - {name: /b, recv: {content: "exec[no].output"}, for_each: "${{ vars.l }}", mode: "0644"}
edges: [{name: e, from: "file[/b]", to: "file[/c]", notify: true}]
collect: [{kind: file, name: "/x*", from: "web*", set: {mode: "0600"}}]
`})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"g.yaml": c.graph}
			maps.Copy(files, c.files)
			d, text := rendered(t, files, yaml.Options{Vars: c.vars, VarFiles: c.varFiles}, yaml.Rendering{})
			again, twice := rendered(t, map[string]string{"g.yaml": text}, yaml.Options{}, yaml.Rendering{})
			if diff := cmp.Diff(text, twice); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(linesOf(plainly(t, d)), linesOf(plainly(t, again))); diff != "" {
				t.Errorf("%s\n%s", diff, text)
			}
			if len(d.Collects) != len(again.Collects) || d.Name != again.Name {
				t.Errorf("%v %v, read again %v %v", d.Name, d.Collects, again.Name, again.Collects)
			}
		})
	}
}

// TestRenderHides: no secret is written, whether it was computed, marked, or is one by its type. Places are comments.
func TestRenderHides(t *testing.T) {
	graph := `
resources:
  file:
  - {name: /a, content: "${{ secret('token') }}", mode: "0600"}
  - {name: /b, content: open, meta: {secret: [content]}}
  - {name: /c, content: open, meta: {secret: content}}
  exec:
  - {name: e, cmd: c, env: {A: "x${{ secret('token') }}", B: open}}
  password:
  - {name: p, password: typed}
`
	isSecret := func(d *gapi.Declaration, key string) bool { return d.Kind == "password" && key == "password" }
	_, got := rendered(t, map[string]string{"g.yaml": graph}, vault(), yaml.Rendering{IsSecret: isSecret, Positions: true})
	want := `graph: g
resources:
  file:
  # g.yaml:4:5
  # secret, and left out of the next one: content
  - name: /a
    mode: '0600'
    meta:
      secret:
      - content
  # g.yaml:5:5
  # secret, and left out of the next one: content
  - name: /b
    meta:
      secret:
      - content
  # g.yaml:6:5
  # secret, and left out of the next one: content
  - name: /c
    meta:
      secret: content
  exec:
  # g.yaml:8:5
  # secret, and left out of the next one: env
  - name: e
    cmd: c
    meta:
      secret:
      - env
  password:
  # g.yaml:10:5
  # secret, and left out of the next one: password
  - name: p
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFindingP2RenderHides: the known part of a secret that is made when a value is sent is no more shown than a whole one.
func TestFindingP2RenderHides(t *testing.T) {
	graph := `
resources:
  exec:
  - {name: e, cmd: c}
  password:
  - {name: p, password: "typed${{ sent('exec[e].output') }}"}
`
	for _, secret := range []bool{false, true} {
		isSecret := func(d *gapi.Declaration, key string) bool { return secret && d.Kind == "password" && key == "password" }
		_, got := rendered(t, map[string]string{"g.yaml": graph}, yaml.Options{}, yaml.Rendering{IsSecret: isSecret})
		if strings.Contains(got, "typed") == secret || strings.Contains(got, "left out of the next one: password") != secret {
			t.Errorf("a secret is %t:\n%s", secret, got)
		}
	}
}
