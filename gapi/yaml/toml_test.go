package yaml_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// number is a number that JSON and TOML take as it is written.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// noted writes a tree in a line, as JSON or as a value of TOML. It reports false for what that notation can't say.
func noted(n *schema.Node, equals string) (string, bool) {
	var parts []string
	switch n.Kind {
	case schema.NodeMap:
		for _, p := range n.Pairs {
			v, ok := noted(p.Value, equals)
			if !ok {
				return "", false
			}
			parts = append(parts, quoted(p.Key)+equals+v)
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	case schema.NodeList:
		for _, i := range n.Items {
			v, ok := noted(i, equals)
			if !ok {
				return "", false
			}
			parts = append(parts, v)
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	case schema.NodeString:
		return quoted(n.Text), true
	case schema.NodeNull:
		return "null", equals == ": "
	}
	return n.Text, n.Kind == schema.NodeBool || number.MatchString(n.Text)
}

// quoted writes a text as JSON does, without the escapes for pages. TOML reads it, too.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return strings.TrimSpace(b.String())
}

// inTOML writes a graph as people write TOML: with a header for each resource.
func inTOML(root *schema.Node) (string, bool) {
	var b strings.Builder
	for _, p := range root.Pairs {
		if p.Key == "resources" {
			continue
		}
		v, ok := noted(p.Value, " = ")
		if !ok {
			return "", false
		}
		fmt.Fprintf(&b, "%s = %s\n", quoted(p.Key), v)
	}
	if resources := root.Get("resources"); resources != nil {
		for _, kind := range resources.Pairs {
			for _, r := range kind.Value.Items {
				fmt.Fprintf(&b, "\n[[resources.%s]]\n", quoted(kind.Key))
				for _, p := range r.Pairs {
					v, ok := noted(p.Value, " = ")
					if !ok {
						return "", false
					}
					fmt.Fprintf(&b, "%s = %s\n", quoted(p.Key), v)
				}
			}
		}
	}
	return b.String(), true
}

// allGraphs are texts in YAML that together have every feature of a graph.
func allGraphs(t *testing.T) []computedCase {
	all := slices.Clone(computedCases)
	names, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(names) < 40 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if yaml.IsTest(name) {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, computedCase{name: name, graph: string(src)})
	}
	return all
}

// TestNotationsAgree: a graph in JSON and in TOML declares what it declares in YAML: values, variables, loops, conditions, data, templates, includes,
// references and edges. Both are read from a file and from a pipe without a name.
func TestNotationsAgree(t *testing.T) {
	told, silent := 0, 0
	for _, c := range allGraphs(t) {
		root, ds := yaml.Document("g.yaml", []byte(c.graph))
		if ds.Err() != nil || root == nil {
			t.Fatal(c.name, ds)
		}
		inJSON, ok := noted(root, ": ")
		texts := map[string]string{}
		if ok {
			texts["g.json"] = inJSON
		}
		if text, ok := inTOML(root); ok {
			texts["g.toml"] = text
		} else {
			silent++
		}
		for name, text := range texts {
			t.Run(c.name+" "+name, func(t *testing.T) {
				told++
				dir := t.TempDir()
				for name, src := range c.files {
					write(t, dir, name, src)
				}
				o := yaml.Options{Facts: machineFacts, Vars: c.vars}
				for _, f := range c.varFiles {
					o.VarFiles = append(o.VarFiles, filepath.Join(dir, f))
				}
				want, werr := yaml.Load(write(t, dir, "want.yaml", c.graph), o, nil)
				got, gerr := yaml.Load(write(t, dir, name, text), o, nil)
				if werr != nil || gerr != nil {
					t.Fatal(werr, gerr, text)
				}
				if d := cmp.Diff(plainly(t, want), plainly(t, got)); d != "" || len(want.Problems) != len(got.Problems) {
					t.Errorf("%s\n%s\n%v\n%v", d, text, want.Problems, got.Problems)
				}
				if len(c.files) > 0 {
					return // their paths are relative to the folder of a file
				}
				got, gerr = yaml.Load("-", o, strings.NewReader(text))
				if gerr != nil || plainly(t, got) != plainly(t, want) {
					t.Errorf("from standard input: %v\n%s", gerr, text)
				}
			})
		}
	}
	if told < 100 || silent*10 > told {
		t.Errorf("%d graphs were written, and %d can't be written in TOML", told, silent)
	}
}

// TestFaultsInTOML: a fault of a graph in TOML has its place, be it one of the text, of the form, of an expression, or of a file next to it.
func TestFaultsInTOML(t *testing.T) {
	for src, want := range map[string]string{
		"graph = \"x\"\ngraph = \"y\"\n":                                             "g.toml:2:1: the key \"graph\" is given twice",
		"[[resources.file]\n":                                                        "g.toml:1:17: ",
		"graph = 1\n[resource.file]\n":                                               "g.toml:2:2: unknown key \"resource\" at the top of a graph",
		"[[resources.file]]\nname = []\n":                                            "g.toml:2:8: a name must be text, not a list",
		"[resources]\nfile = 'x'\n":                                                  "g.toml:2:8: file must be a list of resources",
		"[[resources.file]]\nname = '/a'\ncontent = '''\nx ${{ none }}'''\n":         "g.toml:4:7: ",
		"[[resources.file]]\nname = '/a'\ncontent = \"\\u00e9 \\\" ${{ nix + 1 }}\"": "g.toml:3:26: ",
		"include = [\n  'none.toml']\n":                                              "g.toml:2:3: can't include",
		"edges = [{from = 'file[/a]'}]\n":                                            "g.toml:1:10: ",
		"# nothing\n":                                                                "g.toml: the file is empty",
		"module = 'x'\n":                                                             "g.toml:1:1: this is a module, not a graph",
		"a = \x00\n":                                                                 "g.toml:1:5: the control character 0x00 is not allowed",
		"a = '\xff'\n":                                                               "g.toml:1:6: the byte 0xff is not UTF-8; save the file as UTF-8",
	} {
		dir := t.TempDir()
		path := write(t, dir, "g.toml", src)
		d, err := yaml.Load(path, yaml.Options{Facts: machineFacts}, nil)
		if err == nil {
			err = d.Problems.Err()
		}
		if got := strings.ReplaceAll(fmt.Sprint(err), dir+"/", ""); err == nil || !strings.HasPrefix(got, want) {
			t.Errorf("%q\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestTOMLAmongOthers: a folder, an include, data, variables and files of tests take TOML by its name, next to YAML.
func TestTOMLAmongOthers(t *testing.T) {
	dir := t.TempDir()
	for name, src := range map[string]string{
		"a.yaml":      "include: [more/]\nresources:\n  file: [{name: /a}]\n",
		"b.toml":      "[vars.port]\ntype = 'int'\n[data]\nfiles = ['d/data.toml']\n[[resources.file]]\nname = '/b${{ vars.port }}${{ data.x }}'\n",
		"b_test.toml": "graph = 'b.toml'\n[[tests]]\nname = 'x'\n",
		"more/c.toml": "[[resources.file]]\nname = '/c'\n",
		"more/d.json": "no graph",
		"d/data.toml": "x = 7\n",
		"v.vars":      "no graph",
		"vars/v.toml": "port = 80\n",
	} {
		write(t, dir, name, src)
	}
	taken := map[string]bool{}
	o := yaml.Options{Facts: machineFacts, VarFiles: []string{filepath.Join(dir, "vars/v.toml")}}
	d, err := yaml.Files(dir, o, nil, func(path string, _ []byte) {
		rel, _ := filepath.Rel(dir, path)
		taken[rel] = true
	})
	if err != nil || d.Problems.Err() != nil {
		t.Fatal(err, d)
	}
	var names []string
	for _, r := range d.Resources {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"/a", "/b807", "/c"}) {
		t.Error(names)
	}
	for _, name := range []string{"a.yaml", "b.toml", "more/c.toml", "d/data.toml"} {
		if !taken[name] {
			t.Errorf("a deploy lacks %s: %v", name, taken)
		}
	}
	if taken["b_test.toml"] || taken["more/d.json"] || yaml.TestsOf("b.toml") != "b_test.toml" || !yaml.IsTest("b_test.toml") {
		t.Error(taken)
	}
	// On the other machine the files are in memory.
	mem := map[string][]byte{}
	for name := range taken {
		mem[name], _ = os.ReadFile(filepath.Join(dir, name))
	}
	got, err := yaml.LoadFiles("more/c.toml", mem, yaml.Options{Facts: machineFacts})
	if err != nil || len(got.Resources) != 1 {
		t.Error(got, err)
	}
}

// TestPrivateTOML: no finding about a private file that is no graph shows anything of it.
func TestPrivateTOML(t *testing.T) {
	for _, src := range []string{"hunter2 = 1\nhunter2 = 2\n", "[hunter2]\nx = hunter2\n", "x = \"hunter2\\h\"\n", "hunter2 = 2026-13-01"} {
		path := write(t, t.TempDir(), "g.toml", src)
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := yaml.Load(path, yaml.Options{}, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "'h'") {
			t.Errorf("%q: %v %v", src, d, err)
		}
	}
}

// TestTOMLIsFollowed: the frontend reads a graph in TOML again when it changes, and yields a part of one that computes.
func TestTOMLIsFollowed(t *testing.T) {
	path := write(t, t.TempDir(), "g.toml", "[[resources.file]]\nname = '/a'\n")
	r := yaml.NewReader(path, yaml.Options{Facts: machineFacts})
	read := func() (*gapi.Declared, error) { return r.Read(context.Background()).Result() }
	if d, err := read(); err != nil || d.Resources[0].Pos.Line != 1 {
		t.Fatal(d, err)
	}
	write(t, filepath.Dir(path), "g.toml", "\n[[resources.file]]\nname = '/${{ facts.hostname }}'\n")
	if d, err := read(); err != nil || d.Resources[0].Name != "/w1" || d.Resources[0].Pos.Line != 2 {
		t.Fatal(d, err)
	}
}
