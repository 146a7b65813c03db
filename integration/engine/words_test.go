package engine_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// understood loads a source and returns the graph, if there is one, and what is said of it.
func understood(t *testing.T, src string) (*resgraph.Graph, []string) {
	t.Helper()
	d, err := yaml.Load("-", yaml.Options{}, strings.NewReader(src))
	if err != nil {
		return nil, strings.Split(err.Error(), "\n")
	}
	d.Thorough = true
	g, ds := gapi.Build(engine.DefaultRegistry(), d)
	var out []string
	for _, f := range ds {
		f.Pos.File = ""
		text := f.String()
		if f.Pos.Line > 0 {
			text = fmt.Sprintf("%d:%d: ", f.Pos.Line, f.Pos.Col) + strings.TrimPrefix(text, f.Pos.String()+": ")
		}
		out = append(out, text)
	}
	return g, out
}

func has(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}

// An export that would publish less, or more, than the graph says is refused, wherever the graph comes from.
func TestFindingD2Export(t *testing.T) {
	for meta, want := range map[string]string{
		"meta: {export: [\"*\"]}":                                  "",
		"meta: {export: []}":                                       "",
		"meta: {export: [web], secret: [any]}":                     "6:20: export publishes the parameters to other hosts, and secret says",
		"meta: {export: [web]}\n    recv: {any: \"value[a].any\"}": "6:20: export publishes the declared parameters, and this resource receives some",
	} {
		g, said := understood(t, "resources:\n  value:\n  - name: a\n    any: 1\n  - name: b\n    "+meta+"\n")
		if (g == nil) != (want != "") || want != "" && !has(said, want) || want == "" && len(said) > 0 {
			t.Errorf("%s: %v", meta, said)
		}
	}
	d := &gapi.Declared{Resources: []gapi.Declaration{{Kind: "test", Name: "a", Value: &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{
		{Key: "secret", Value: &schema.Node{Kind: schema.NodeString, Text: "x"}},
	}}, Meta: &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{
		{Key: "export", Value: &schema.Node{Kind: schema.NodeList, Items: []*schema.Node{{Kind: schema.NodeString, Text: "web"}}}},
	}}}}}
	if g, ds := gapi.Build(engine.DefaultRegistry(), d); g != nil || !strings.Contains(ds.Error(), "one of them is a secret") {
		t.Error("a graph of another frontend may export a secret", ds)
	}
}

// What nothing means here and elsewhere is told with the word that asks for the other
// meaning. Whoever says the word is told nothing.
func TestFindingD3Defaults(t *testing.T) {
	for _, c := range []struct{ kind, params, note string }{
		{"user", "groups: [wheel]", "2:5: note: user has membership: minimum where nothing is said: inclusive gives exactly these groups"},
		{"user", "groups: [wheel], membership: minimum", ""},
		{"user", "managehome: true", ""},
		{"password", "length: 16", "note: password has saved and check_recovery: true where nothing is said"},
		{"password", "saved: false", "note: password has check_recovery: true where nothing is said"},
		{"password", "saved: false, check_recovery: true", ""},
		{"pkg", "state: installed", "note: pkg has allownonfree and allowunsupported: true where nothing is said: false refuses such packages"},
		{"pkg", "allownonfree: true, allowunsupported: false", ""},
		{"file", "state: exists", ""},
	} {
		line := "  - {name: /x, " + c.params + "}\n"
		g, said := understood(t, "resources:\n  "+c.kind+":\n"+strings.ReplaceAll(line+strings.Replace(line, "/x", "/y", 1), "/", map[bool]string{true: "/", false: ""}[c.kind == "file"]))
		if g == nil {
			t.Error(c.kind, c.params, said)
		}
		if c.note == "" && len(said) > 0 || c.note != "" && (len(said) != 1 || !has(said, strings.TrimPrefix(c.note, "2:5: "))) {
			t.Errorf("%s %s: %q", c.kind, c.params, said)
		}
	}
}

// A name that exports elsewhere would be made here.
func TestFindingD3ExportedNames(t *testing.T) {
	g, said := understood(t, "resources:\n  file:\n  - name: \"@@motd\"\n    path: /etc/motd\n    content: x\n")
	if g != nil || !has(said, `3:11: the name "@@motd": a name with @@ exports the resource`) {
		t.Error(g, said)
	}
}

// ensure is state, in kinds made of data and in others; a note says so once.
func TestFindingD5Ensure(t *testing.T) {
	g, said := understood(t, `
resources:
  file:
  - {name: /a, ensure: absent}
  - {name: /b, ensure: absent}
  crontab:
  - {name: c, ensure: absent}
  - {name: d, state: absent}
`)
	if g == nil {
		t.Fatal(said)
	}
	if len(said) != 1 || !has(said, `4:16: note: "ensure" of file is state here (Puppet)`) {
		t.Errorf("%q", said)
	}
	for i := range g.Len() {
		if v, err := schema.Get(g.Value(i).Res, "state"); err != nil || v != "absent" {
			t.Error(g.ID(i), v, err)
		}
	}
	if g, said = understood(t, "resources:\n  file:\n  - {name: /a, ensure: absent, state: exists}\n"); g != nil || !has(said, `"ensure" is state here, which is given too`) {
		t.Error(g, said)
	}
}

// Graphs with the words of mgmt of purpleidea, feature by feature: most load, and of each of
// the others the errors say why, with our word.
func TestFindingD4WordsOfUpstream(t *testing.T) {
	src, err := os.ReadFile("testdata/words/upstream.txtar")
	if err != nil {
		t.Fatal(err)
	}
	loaded, all := 0, 0
	for _, f := range txtar.Parse(src).Files {
		verdict, graph, _ := strings.Cut(string(f.Data), "\n")
		all++
		t.Run(f.Name, func(t *testing.T) {
			g, said := understood(t, graph)
			if verdict == "loads" {
				if loaded++; g == nil {
					t.Errorf("it does not load: %q", said)
				}
				return
			}
			errs := slices.DeleteFunc(said, func(s string) bool { return strings.Contains(s, "note: ") })
			reasons := strings.Split(verdict, "; ")
			if g != nil || len(errs) != len(reasons) {
				t.Errorf("%d errors, want %d: %q", len(errs), len(reasons), errs)
			}
			for _, r := range reasons {
				if !has(errs, r) {
					t.Errorf("%q is not in %q", r, errs)
				}
			}
		})
	}
	if loaded < 44 || all != 68 {
		t.Errorf("%d of %d load", loaded, all)
	}
}

// A graph that runs is not told of every default: only of groups of users, and of the others
// where it has words of the program that has other defaults.
func TestFindingD3Quiet(t *testing.T) {
	const graph = "resources:\n  password:\n  - name: p\n"
	for add, want := range map[string]int{
		"": 0, "  user:\n  - {name: u, groups: [a]}\n": 1,
		"  exec:\n  - {name: \"true\", pollint: 0}\n": 2,
	} {
		d, err := yaml.Load("-", yaml.Options{}, strings.NewReader(graph+add))
		if err != nil {
			t.Fatal(err)
		}
		if g, ds := gapi.Build(engine.DefaultRegistry(), d); g == nil || len(ds) != want {
			t.Errorf("%q: %v", add, ds)
		}
	}
}

// A number alone is a count without a name.
func TestFindingD10SemaCount(t *testing.T) {
	for sema, want := range map[string]string{
		"42": "a count stands behind a name, write name:42", "apt:42": "", "42:1": "", "apt": "", "4a": "",
	} {
		g, said := understood(t, "resources:\n  noop:\n  - name: a\n    meta: {sema: [\""+sema+"\"]}\n")
		if (g != nil) != (want == "") || want != "" && !has(said, want) {
			t.Errorf("%s: %q", sema, said)
		}
	}
}

// A group of the system is one, and trim is a word of exec.
func TestFindingD10GroupOfTheSystem(t *testing.T) {
	g, said := understood(t, "resources:\n  group:\n  - {name: words, system: true}\n  exec:\n  - {name: hostname, trim: true}\n")
	if g == nil || len(said) > 0 {
		t.Fatal(said)
	}
	if v, err := schema.Get(g.Value(0).Res, "system"); err != nil || v != true {
		t.Error(v, err)
	}
}
