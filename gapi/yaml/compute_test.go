package yaml_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// machineFacts are the facts of the machine in these tests.
func machineFacts() map[string]any {
	return map[string]any{"hostname": "w1", "os_family": "Debian", "cpus": int64(4), "roles": []any{"web"}}
}

// plainly writes what a graph declares, without places: equal texts are equal graphs.
func plainly(t testing.TB, d *gapi.Declared) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, "noop", d.Noop, d.Comment)
	for _, r := range d.Resources {
		fmt.Fprintf(&b, "%s[%s] %s meta %s recv", r.Kind, r.Name, shape(r.Value), shape(r.Meta))
		for _, w := range r.Recv {
			fmt.Fprintf(&b, " %s from %s", w.Field, w.From)
		}
		for _, list := range [][]gapi.RefDecl{r.Before, r.Depend, r.Notify, r.Listen} {
			b.WriteString(" |")
			for _, ref := range list {
				b.WriteString(" " + ref.Ref.String())
			}
		}
		b.WriteString("\n")
	}
	for _, e := range d.Edges {
		fmt.Fprintln(&b, e.Name, e.From.Ref(), e.To.Ref(), e.Notify)
	}
	return b.String()
}

// shape writes a node without its place and its quotes.
func shape(n *schema.Node) string {
	if n == nil {
		return "-"
	}
	var parts []string
	switch n.Kind {
	case schema.NodeList:
		for _, i := range n.Items {
			parts = append(parts, shape(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case schema.NodeMap:
		for _, p := range n.Pairs {
			parts = append(parts, p.Key+": "+shape(p.Value))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprintf("%d %q", n.Kind, n.Text)
}

// loadFiles writes files and loads the first one, g.yaml.
func loadFiles(t testing.TB, files map[string]string, o yaml.Options) (*gapi.Declared, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, src := range files {
		write(t, dir, name, src)
	}
	o.Facts = machineFacts
	o.VarFiles = slices.Clone(o.VarFiles) // the test that gave them may give them again
	for i, f := range o.VarFiles {
		o.VarFiles[i] = filepath.Join(dir, f)
	}
	d, err := yaml.Load(filepath.Join(dir, "g.yaml"), o, nil)
	return d, dir, err
}

// TestComputed: a graph that computes is the graph that somebody would write out by hand.
func TestComputed(t *testing.T) {
	for _, c := range computedCases {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"g.yaml": c.graph}
			maps.Copy(files, c.files)
			got, _, err := loadFiles(t, files, yaml.Options{Vars: c.vars, VarFiles: c.varFiles})
			if err == nil {
				err = got.Problems.Err()
			}
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := loadFiles(t, map[string]string{"g.yaml": c.want}, yaml.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(plainly(t, want), plainly(t, got)); d != "" {
				t.Error(d)
			}
		})
	}
}

type computedCase struct {
	name, graph, want string
	files             map[string]string
	vars              []expand.Setting
	varFiles          []string
}

// one is a graph with one file of a content.
func one(content string) string {
	return "resources:\n  file:\n  - {name: /a, content: " + content + "}\n"
}

var computedCases = []computedCase{
	{name: "a fact in a text", graph: one(`"I am ${{ facts.hostname }}.\n"`), want: one(`"I am w1.\n"`)},
	{name: "an escape", graph: one(`"$${{ github.ref }}"`), want: one(`"\x24{\x7b github.ref }}"`)},
	{name: "other notations stay", graph: one(`"${X} $(x) {{ x }}"`), want: one(`"${X} $(x) {{ x }}"`)},
	{name: "a single expression keeps its type", graph: one(`"${{ facts.cpus * 2 }}"`), want: one("8")},
	{name: "a folded block", graph: "resources:\n  file:\n  - name: /a\n    content: >-\n      a\n      ${{ facts.hostname\n      + 'x' }}\n", want: one("a w1x")},
	{name: "a literal block", graph: "resources:\n  file:\n  - name: /a\n    content: |\n      a\n      ${{ facts.hostname }}\n", want: one(`"a\nw1\n"`)},
	{name: "a name, meta and references",
		graph: `
resources:
  file:
  - {name: "/${{ facts.hostname }}", meta: {retry: "${{ facts.cpus }}"}, before: ["file[/${{ facts.hostname }}.d]"]}
  - {name: "/w1.d", state: "${{ facts.cpus > 2 ? 'present' : 'absent' }}"}
edges:
- {from: "file[/${{ facts.hostname }}]", to: "file[/w1.d]", notify: "${{ true }}"}
`, want: `
resources:
  file:
  - {name: /w1, meta: {retry: 4}, before: ["file[/w1.d]"]}
  - {name: /w1.d, state: present}
edges:
- {from: "file[/w1]", to: "file[/w1.d]", notify: true}
`},
	{name: "variables", graph: "vars: {a: x, n: {type: int, default: 1}, l: [1, b]}\n" + one(`"${{ vars.a }}${{ vars.n }}${{ vars.l[1] }}"`), want: one("x1b")},
	{name: "settings of variables", graph: "vars: {a: x, b: y, c: {type: text}, l: {type: list}}\n" + one(`"${{ vars.a }}${{ vars.b }}${{ vars.c }}${{ size(vars.l) }}"`),
		vars:  []expand.Setting{{Name: "a", Text: "env"}, {Name: "a", Text: "line"}, {Name: "c", Text: "1.10"}, {Name: "l", Text: "[1, 2]"}},
		files: map[string]string{"v.yaml": "a: file\nb: file\n"}, varFiles: []string{"v.yaml"},
		want: one("linefile1.102")},
	{name: "a loop over a list", graph: `
resources:
  file:
  - {name: "/${{ each.value }}", for_each: [b, a], content: "${{ each.key }} ${{ each.index }}"}
`, want: `
resources:
  file:
  - {name: /b, content: 0 0}
  - {name: /a, content: 1 1}
`},
	{name: "a loop over a map visits its keys in order", graph: `
vars: {sites: {b: {on: true, port: 1}, a: {on: true, port: 2}, c: {on: false, port: 3}}}
resources:
  file:
  - name: /${{ each.key }}
    for_each: ${{ vars.sites }}
    when: ${{ each.value.on }}
    content: ${{ each.value.port }}
`, want: `
resources:
  file:
  - {name: /a, content: 2}
  - {name: /b, content: 1}
`},
	{name: "an empty loop", graph: "resources:\n  file:\n  - {name: \"/${{ each.key }}\", for_each: []}\n", want: "resources:\n  file: []\n"},
	{name: "a condition cuts references", graph: `
resources:
  file:
  - {name: /a, when: "${{ facts.os_family == 'RedHat' }}"}
  - {name: /b, depend: ["file[/a]", "file[/c]"], notify: "file[/a]"}
  - {name: /c, when: true}
edges: [{from: "file[/a]", to: "file[/b]"}, {from: "file[/b]", to: "file[/c]"}]
`, want: `
resources:
  file:
  - {name: /b, depend: ["file[/c]"]}
  - {name: /c}
edges: [{from: "file[/b]", to: "file[/c]"}]
`},
	{name: "a resource left out with a broken name", graph: `
vars: {m: {}}
resources:
  file:
  - {name: "/${{ vars.m.x }}", when: false}
`, want: "resources:\n  file: []\n"},
	{name: "one of two conditions holds", graph: `
resources:
  file:
  - {name: /a, content: x, when: "${{ facts.cpus > 8 }}"}
  - {name: /a, content: y, when: "${{ facts.cpus <= 8 }}"}
  - {name: /b, depend: ["file[/a]"]}
`, want: "resources:\n  file:\n  - {name: /a, content: y}\n  - {name: /b, depend: [\"file[/a]\"]}\n"},
	{name: "an optional without a value leaves its key out", graph: "vars: {m: {a: 1}}\nresources:\n  file:\n  - {name: /a, content: \"${{ vars.m.?b }}\", mode: \"${{ vars.m.?a }}\"}\n",
		want: "resources:\n  file:\n  - {name: /a, mode: 1}\n"},
	{name: "defaults", graph: `
vars: {who: root}
defaults:
  file: {owner: "${{ vars.who }}", mode: "0600", meta: {retry: 1, delay: 2}}
  "*": {meta: {timeout: 10m}}
resources:
  file:
  - {name: /a, mode: "0644", meta: {retry: 5}}
  - {name: /b, recv: {mode: "value[x].text"}}
  noop: [{name: n}]
`, want: `
resources:
  file:
  - {name: /a, owner: root, mode: "0644", meta: {retry: 5, delay: 2, timeout: 10m}}
  - {name: /b, owner: root, recv: {mode: "value[x].text"}, meta: {retry: 1, delay: 2, timeout: 10m}}
  noop: [{name: n, meta: {timeout: 10m}}]
`},
	{name: "data", graph: `
data:
  files: ["hosts/${{ facts.hostname }}.yaml", "os/${{ facts.os_family }}.yaml", common.yaml]
  merge: {users: deep, tags: append}
` + one(`"${{ data.a }}${{ data.b }}${{ data.c }} ${{ data.users.x.id }}${{ data.users.x.sh }}${{ data.tags.size() }}${{ data.?z.orValue('-') }}"`),
		files: map[string]string{
			"hosts/w1.yaml": "a: host\nusers: {x: {id: 1}}\ntags: [p]\n",
			"common.yaml":   "a: common\nb: common\nc: 3\nusers: {x: {id: 2, sh: zsh}}\ntags: [q, r]\n",
		}, want: one("hostcommon3 1zsh3-")},
	{name: "an include and its variables", graph: "vars: {part: p}\ninclude: [\"${{ vars.part }}/${{ facts.hostname }}.yaml\"]\n" + one(`"${{ vars.of_part }}"`),
		files: map[string]string{"p/w1.yaml": "vars: {of_part: 7}\nresources:\n  file:\n  - {name: /b, content: \"${{ vars.part }}\"}\n"},
		want:  "resources:\n  file:\n  - {name: /a, content: 7}\n  - {name: /b, content: p}\n"},
	{name: "functions", graph: one(`"${{ read('f.txt') }}${{ json({'b': [1, 'x<'], 'a': true}) }}${{ fromJSON('{\"n\": 7}').n + 1 }}${{ base64('hi') }}${{ fromBase64('w6QK') }}"`),
		files: map[string]string{"f.txt": "text "}, want: one(`"text {\"a\":true,\"b\":[1,\"x<\"]}8aGk=ä\n"`)},
	{name: "sums", graph: one(`"${{ md5('a') }} ${{ sha1('a').substring(0, 8) }} ${{ sha256('a').substring(0, 8) }} ${{ sha512('a').substring(0, 8) }}"`),
		want: one("0cc175b9c0f1b6a831c399e269772661 86f7e437 ca978112 1f40fc92")},
	{name: "a file is named by the file that reads it", graph: "include: [d/i.yaml]\n",
		files: map[string]string{"d/i.yaml": one(`"${{ read('x') }}"`), "d/x": "deep"}, want: one("deep")},
	{name: "the escape in variables and data", graph: "vars: {a: \"$${{ x }}\", l: [{k: \"$${{\"}]}\ndata: {files: [d.yaml]}\n" + one(`"${{ vars.a }}${{ vars.l[0].k }}${{ data.d }}"`),
		files: map[string]string{"d.yaml": "d: \"$${{ y }}\"\n"}, want: one(`"$${{ x }}$${{$${{ y }}"`)},
	{name: "an optional with a value", graph: "vars: {m: {s: {x: 1, y: 2}, w: true}}\nresources:\n  file:\n  - {name: \"/${{ each.key }}\", for_each: \"${{ vars.m.?s }}\", when: \"${{ vars.m.?w }}\"}\n" +
		"  - {name: \"/l${{ each.value }}\", for_each: \"${{ facts.?roles }}\"}\n",
		want: "resources:\n  file:\n  - {name: /x}\n  - {name: /y}\n  - {name: /lweb}\n"},
	{name: "lists and maps", graph: `
vars: {env: {A: "1"}, l: [x]}
resources:
  exec:
  - {name: e, cmd: /bin/true, env: "${{ vars.env }}", args: ["${{ vars.l[0] }}", y]}
`, want: "resources:\n  exec:\n  - {name: e, cmd: /bin/true, env: {A: \"1\"}, args: [x, y]}\n"},
}

// TestComputedWrong: what is wrong is told at once, each at its character.
func TestComputedWrong(t *testing.T) {
	for _, c := range wrongCases {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"g.yaml": c.graph}
			maps.Copy(files, c.files)
			d, dir, err := loadFiles(t, files, yaml.Options{Vars: c.vars, VarFiles: c.varFiles})
			ds, _ := err.(schema.Diagnostics)
			if d != nil {
				ds = d.Problems
			}
			got := strings.ReplaceAll(ds.Error(), dir+"/", "")
			if got != strings.TrimSpace(c.want) {
				t.Errorf("\n got %s\nwant %s", got, strings.TrimSpace(c.want))
			}
		})
	}
}

// BenchmarkLoop reads 10,000 resources of a loop with three expressions each.
func BenchmarkLoop(b *testing.B) {
	benchmarkLoad(b, `
resources:
  file:
  - name: "/srv/${{ each.value }}"
    for_each: ${{ lists.range(10000) }}
    content: "${{ facts.hostname }} ${{ each.value + 1 }}\n"
`)
}

// BenchmarkWrittenOut reads the same graph without a loop.
func BenchmarkWrittenOut(b *testing.B) {
	src := strings.Builder{}
	src.WriteString("resources:\n  file:\n")
	for i := range 10000 {
		fmt.Fprintf(&src, "  - name: \"/srv/%d\"\n    content: \"w1 %d\\n\"\n", i, i+1)
	}
	benchmarkLoad(b, src.String())
}

func benchmarkLoad(b *testing.B, src string) {
	path := write(b, b.TempDir(), "g.yaml", src)
	for b.Loop() {
		d, err := yaml.Load(path, yaml.Options{Facts: machineFacts}, nil)
		if err != nil || len(d.Resources) != 10000 {
			b.Fatal(len(d.Resources), err)
		}
	}
}
