package yaml_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// write makes a file below a folder of the test and returns its path.
func write(t testing.TB, dir, name, src string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// build loads a source and builds it, without any finding.
func build(t testing.TB, src string) *resgraph.Graph {
	t.Helper()
	d, err := yaml.Load(write(t, t.TempDir(), "g.yaml", src), yaml.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, ds := gapi.Build(registry(t), d)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return g
}

// edges returns the edges of a graph as text.
func edges(g *resgraph.Graph) []string {
	var list []string
	for e := range g.Edges() {
		arrow := " -> "
		switch {
		case e.Notify:
			arrow = " => "
		case e.Implied:
			arrow = " ~> "
		}
		list = append(list, g.ID(e.From)+arrow+g.ID(e.To))
	}
	return list
}

func ids(g *resgraph.Graph) []string {
	var list []string
	for _, id := range g.IDs() {
		list = append(list, id)
	}
	return list
}

const web = `graph: web
resources:
  password:
  - name: app
    length: 24
  file:
  - name: /etc/app.conf              # path defaults to the name where the kind says so
    content: |
      listen = 8080
    mode: "0644"
    meta: {retry: 3, delay: 500ms, sema: ["disk:2"]}
    notify: ["exec[restart]"]
  - name: /etc/app.secret
    recv: {content: "password[app].password"}
  exec:
  - name: restart
    cmd: /usr/bin/app-restart
    refreshonly: true
edges:
- name: e1
  from: {kind: file, name: /etc/app.secret}
  to: {kind: exec, name: restart}
  notify: true
`

func TestTheGraphOfTheDesign(t *testing.T) {
	g := build(t, web)
	if g.Name != "web" {
		t.Errorf("name %q", g.Name)
	}
	if diff := cmp.Diff([]string{"password[app]", "file[/etc/app.conf]", "file[/etc/app.secret]", "exec[restart]"}, ids(g)); diff != "" {
		t.Error(diff)
	}
	want := []string{"password[app] ~> file[/etc/app.secret]", "file[/etc/app.conf] => exec[restart]", "file[/etc/app.secret] => exec[restart]"}
	if diff := cmp.Diff(want, edges(g)); diff != "" {
		t.Error(diff)
	}
	i, _ := g.Index("file[/etc/app.conf]")
	f := g.Value(i).Res.(*fileRes)
	if *f.Content != "listen = 8080\n" || f.Mode != "0644" || f.State != "exists" {
		t.Errorf("%+v", f)
	}
	if m := f.MetaParams(); m.Retry != 3 || m.Delay.String() != "500ms" || !slices.Equal(m.Sema, []string{"disk:2"}) {
		t.Errorf("%+v", m)
	}
	i, _ = g.Index("file[/etc/app.secret]")
	if w := g.Value(i).Recv; len(w) != 1 || w[0].Field != "content" || w[0].From.String() != "password[app].password" {
		t.Errorf("%+v", w)
	}
}

// What a graph says, as ids, edges and what some function finds in it.
func TestGoodGraphs(t *testing.T) {
	for _, c := range []struct {
		name, src  string
		ids, edges []string
		look       func(t *testing.T, g *resgraph.Graph)
	}{
		{
			name: "the layout of mgmt",
			src: `---
graph: mygraph
comment: simple exec fan in example
resources:
  exec:
  - name: exec1
    cmd: sleep 10s
    meta:
      noop: true
      retry: -1
      delay: 250
      poll: 5
  - name: exec2
    cmd: sleep 10s
  file:
  - name: file1
    path: "/tmp/mgmt/f1"
    content: |
      i am f1
    state: exists
edges:
- name: e1
  from:
    kind: exec
    name: exec1
  to:
    kind: file
    name: file1
- name: e2
  from:
    kind: Exec
    name: exec2
  to:
    kind: FILE
    name: file1
`,
			ids:   []string{"exec[exec1]", "exec[exec2]", "file[file1]"},
			edges: []string{"exec[exec1] -> file[file1]", "exec[exec2] -> file[file1]"},
			look: func(t *testing.T, g *resgraph.Graph) {
				m := g.Value(0).Res.MetaParams()
				if g.Name != "mygraph" || m.Noop == nil || !*m.Noop || m.Retry != -1 || m.Delay != 250*time.Millisecond || m.Poll != 5*time.Second {
					t.Errorf("%s %+v", g.Name, m)
				}
			},
		},
		{
			name: "no more than must be",
			src:  "resources: {noop: [{name: a}]}\n",
			ids:  []string{"noop[a]"},
			look: func(t *testing.T, g *resgraph.Graph) {
				if g.Name != "g" {
					t.Errorf("the name is %q", g.Name)
				}
			},
		},
		{name: "nothing", src: "graph: nothing\nresources:\n  noop:\n  file: []\nedges:\n"},
		{
			name: "four words for edges, one or many",
			src: `resources:
  exec:
  - {name: a, cmd: x, before: "exec[b]"}
  - {name: b, cmd: x, depend: ["exec[a]"], notify: "exec[c]"}
  - {name: c, cmd: x, listen: ["exec[a]", "EXEC[b]"]}
`,
			ids:   []string{"exec[a]", "exec[b]", "exec[c]"},
			edges: []string{"exec[a] -> exec[b]", "exec[a] => exec[c]", "exec[b] => exec[c]"},
		},
		{
			name: "names are text",
			src: `graph: 42
resources:
  noop:
  - name: 8080
  - name: "true"
  - name: yes
  - name: 2024-01-31
  - name: a[b].c
    before: "noop[0x1F]"
  - name: 0x1F
  - name: "  "
  - name: ~x
  Noop:
  - name: "[]"
    depend: "noop[a[b].c]"
edges:
- {name: 7, from: {kind: noop, name: 8080}, to: {kind: noop, name: yes}}
`,
			ids:   []string{"noop[8080]", "noop[true]", "noop[yes]", "noop[2024-01-31]", "noop[a[b].c]", "noop[0x1F]", "noop[  ]", "noop[~x]", "noop[[]]"},
			edges: []string{"noop[8080] -> noop[yes]", "noop[a[b].c] -> noop[0x1F]", "noop[a[b].c] -> noop[[]]"},
		},
		{
			name: "received values",
			src: `resources:
  exec:
  - name: token
    cmd: x
  - name: use
    recv:
      cmd: exec[token].output
      env.TOKEN: Exec[token].output
      Count: exec[token].Code
      extra: exec[token].code
  - name: after
    cmd: x
    depend: "exec[token]"
    recv: {"args[0]": "exec[token].output"}
`,
			ids:   []string{"exec[token]", "exec[use]", "exec[after]"},
			edges: []string{"exec[token] ~> exec[use]", "exec[token] -> exec[after]"},
			look: func(t *testing.T, g *resgraph.Graph) {
				var got []string
				for _, w := range g.Value(1).Recv {
					got = append(got, w.Field+" <- "+w.From.String())
				}
				want := []string{"cmd <- exec[token].output", "count <- exec[token].code", "env.TOKEN <- exec[token].output", "extra <- exec[token].code"}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			},
		},
		{
			name: "anchors and merge keys",
			src: `resources:
  file:
  - &base
    name: /a
    mode: "0600"
    owner: root
    meta: &meta {retry: 2}
  - <<: *base
    name: /b
    owner: me
  - <<: [{name: /c, mode: "0644"}, *base]
  - {name: /d, meta: {<<: *meta, delay: 1s}}
`,
			ids: []string{"file[/a]", "file[/b]", "file[/c]", "file[/d]"},
			look: func(t *testing.T, g *resgraph.Graph) {
				b, c := g.Value(1).Res.(*fileRes), g.Value(2).Res.(*fileRes)
				if b.Mode != "0600" || b.Owner != "me" || b.MetaParams().Retry != 2 || c.Mode != "0644" || c.Owner != "root" {
					t.Errorf("%+v\n%+v", b, c)
				}
				if m := g.Value(3).Res.MetaParams(); m.Retry != 2 || m.Delay != time.Second {
					t.Errorf("%+v", m)
				}
			},
		},
		{
			name: "values",
			src: `noop: true
resources:
  file:
  - {name: /a, content: !!binary "/wAB", mode: 0644, limit: 10MiB, comment: why}
  - {name: /b, content: null, mode: u=rw, recurse: True}
  - {name: /c, content: ""}
  exec:
  - name: x
    cmd: >
      folded
      words
    timeout: 90
    env: {8080: "1", true: a}
    ratio: .5
    extra: [1, 2.5, a, null, {b: true}]
  noop:
  - {name: n, comment: kept}
  user:
  - name: joe
`,
			ids: []string{"file[/a]", "file[/b]", "file[/c]", "exec[x]", "noop[n]", "user[joe]"},
			look: func(t *testing.T, g *resgraph.Graph) {
				a, b, c := g.Value(0).Res.(*fileRes), g.Value(1).Res.(*fileRes), g.Value(2).Res.(*fileRes)
				if *a.Content != "\xff\x00\x01" || a.Mode != "0644" || a.Limit != 10<<20 || !*a.MetaParams().Noop {
					t.Errorf("%+v", a)
				}
				if b.Content != nil || !b.Recurse || c.Content == nil || *c.Content != "" {
					t.Errorf("%+v\n%+v", b, c)
				}
				x := g.Value(3).Res.(*execRes)
				if x.Cmd != "folded words\n" || x.Timeout != 90*time.Second || x.Env["8080"] != "1" || x.Env["true"] != "a" || x.Ratio != 0.5 {
					t.Errorf("%+v", x)
				}
				if diff := cmp.Diff([]any{int64(1), 2.5, "a", nil, map[string]any{"b": true}}, x.Extra); diff != "" {
					t.Error(diff)
				}
				if g.Value(4).Res.(*noopRes).Comment != "kept" || g.Value(5).Res.(*userRes).Login != "joe" {
					t.Error("comment or name")
				}
			},
		},
		{
			name: "a hidden resource is not validated",
			src:  "resources:\n  file:\n  - {name: /a, path: not/absolute, meta: {hidden: true}}\n",
			ids:  []string{"file[/a]"},
		},
		{
			name: "Windows",
			src:  "\ufeffresources:\r\n  file:\r\n  - name: /a\r\n    content: |\r\n      one\r\n      two\r\n",
			ids:  []string{"file[/a]"},
			look: func(t *testing.T, g *resgraph.Graph) {
				if c := *g.Value(0).Res.(*fileRes).Content; c != "one\ntwo\n" {
					t.Errorf("%q", c)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := build(t, c.src)
			if diff := cmp.Diff(c.ids, ids(g)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.edges, edges(g)); diff != "" {
				t.Error(diff)
			}
			if c.look != nil {
				c.look(t, g)
			}
		})
	}
}

// Where a text is wanted, what is written is the text: nothing of 1.10, NO or 0644
// is lost, in names, parameters and keys.
func TestScalarsAsText(t *testing.T) {
	for _, word := range []string{
		"true", "True", "false", "yes", "NO", "on", "off", "y", "1", "0644", "08", "0x1F", "12_000", "1.10", "1e3", ".nan", ".inf", "-0", "22:22", "2026-01-31",
	} {
		src := "graph: " + word + "\nresources:\n  exec:\n  - name: " + word + "\n    cmd: " + word + "\n    args: [" + word + "]\n    env: {" + word + ": " + word + "}\n" +
			"edges:\n- {from: {kind: exec, name: " + word + "}, to: {kind: noop, name: " + word + "}}\n"
		d, err := yaml.Load("-", yaml.Options{}, strings.NewReader(src))
		if err != nil || len(d.Problems) > 0 {
			t.Errorf("%s: %v, %v", word, err, d)
			continue
		}
		r := d.Resources[0]
		if d.Name != word || r.Name != word || d.Edges[0].From.Name != word || d.Edges[0].To.Name != word {
			t.Errorf("%s became graph %q, name %q, %v", word, d.Name, r.Name, d.Edges[0])
		}
		var x struct {
			Cmd  string            `yaml:"cmd"`
			Args []string          `yaml:"args"`
			Env  map[string]string `yaml:"env"`
		}
		if ds := schema.Decode(r.Value, &x); len(ds) > 0 || x.Cmd != word || x.Args[0] != word || x.Env[word] != word {
			t.Errorf("%s became %+v, %v", word, x, ds)
		}
	}
}

// TestEdgesAreNotMixedUp: the nodes of one edge serve the next one, but for those that an alias may come back to, and findings
// are those of any other list.
func TestEdgesAreNotMixedUp(t *testing.T) {
	const head = "resources:\n  noop: [{name: a}, {name: b}, {name: c}, {name: d}]\n"
	g := build(t, head+`edges:
- {name: one, from: {kind: noop, name: a}, to: {kind: noop, name: b}}
- {name: two, from: &b {kind: noop, name: b}, to: {kind: noop, name: c}}
- {name: three, from: "noop[c]", to: {kind: noop, name: d}}
- {name: four, from: *b, to: {kind: noop, name: d}}
- {from: {kind: noop, name: a}, to: {<<: *b, name: d}}
`)
	want := []string{"noop[a] noop[b] one", "noop[a] noop[d] ", "noop[b] noop[c] two", "noop[b] noop[d] four", "noop[c] noop[d] three"}
	var got []string
	for e := range g.Edges() {
		got = append(got, g.ID(e.From)+" "+g.ID(e.To)+" "+e.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	for src, want := range map[string]string{
		head + "edges:\n- {from: \"noop[a]\", to: \"noop[b]\"}\nedges: [1]\n": "given twice",
		head + "edges: {a: b}\n": "edges must be a list of edges",
		head + "edges: [1]\n":    "an edge is a map with from and to, not 1",
		head + "edges: [{from: {kind: noop, kind: x, name: a}}]\n": "given twice",
	} {
		dir := t.TempDir()
		d, err := yaml.Load(write(t, dir, "g.yaml", src), yaml.Options{}, nil)
		if err == nil {
			err = d.Problems.Err()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}
