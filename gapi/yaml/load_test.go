package yaml_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine"
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
func build(t testing.TB, src string) *engine.Graph {
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
func edges(g *engine.Graph) []string {
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

func ids(g *engine.Graph) []string {
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
