package yaml_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// nginx is a module with inputs, outputs, data, a template, defaults and a module of its own.
var nginx = map[string]string{
	"m/nginx/module.yaml": `
module: nginx
inputs:
  domain: {type: text, doc: The name of the site.}
  port: {type: int, default: 80}
vars: {dir: /etc/nginx}
data: {files: [d.yaml]}
defaults: {file: {mode: "0600"}}
use: [{module: ../log, with: {path: "${{ vars.dir }}/log-${{ module.inputs.domain }}"}}]
outputs:
  url: http://${{ module.inputs.domain }}:${{ module.inputs.port }}
  port: {type: int, value: "${{ module.inputs.port + 1 }}", doc: The port behind it.}
  log: ${{ module.log.path }}
resources:
  file:
  - name: /${{ module.name }}
    content: '${{ template("x.tmpl", {"d": module.inputs.domain, "k": data.k}) }}'
    depend: ["module[log]", "file[/base]"]
`,
	"m/nginx/d.yaml": "k: from data\n",
	"m/nginx/x.tmpl": "{{ .d }} {{ .k }}",
	"m/log/module.yaml": `
module: log
inputs: {path: {type: text}}
outputs: {path: "${{ module.inputs.path }}"}
resources:
  file: [{name: "${{ module.inputs.path }}"}]
`,
}

// with returns files with a graph.
func with(files map[string]string, graph string) map[string]string {
	all := map[string]string{"g.yaml": graph}
	maps.Copy(all, files)
	return all
}

// TestModules: a graph with modules is the graph that has their resources. Inputs and outputs pass between them, each module sees its own values,
// and a reference to a module is one to all of its resources.
func TestModules(t *testing.T) {
	got, _, err := loadFiles(t, with(nginx, `
vars: {domain: x.org}
use:
- {module: m/nginx, name: front, with: {domain: "${{ vars.domain }}"}}
- {module: ./m/nginx, with: {domain: "${{ module.front.url }}", port: 7}}
resources:
  file:
  - {name: /base}
  - {name: /a, content: "${{ module.front.url }} ${{ module.nginx.port + 1 }} ${{ module.front.log }}", depend: ["module[front]"]}
edges: [{from: "file[/a]", to: "module[nginx]"}]
`), yaml.Options{Vars: []expand.Setting{{Name: "domain", Text: "y"}}})
	if err == nil {
		err = got.Problems.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := loadFiles(t, map[string]string{"g.yaml": `
resources:
  file:
  - {name: /base}
  - {name: /a, content: "http://y:80 9 /etc/nginx/log-y", depend: ["file[/front]", "file[/etc/nginx/log-y]"]}
  - {name: /front, content: y from data, mode: "0600", depend: ["file[/etc/nginx/log-y]", "file[/base]"]}
  - {name: /etc/nginx/log-y}
  - {name: /nginx, content: "http://y:80 from data", mode: "0600", depend: ["file[/etc/nginx/log-http://y:80]", "file[/base]"]}
  - {name: "/etc/nginx/log-http://y:80"}
edges: [{from: "file[/a]", to: "file[/nginx]"}, {from: "file[/a]", to: "file[/etc/nginx/log-http://y:80]"}]
`}, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(plainly(t, want), plainly(t, got)); d != "" {
		t.Error(d)
	}
}

// TestModulesInLoops: an entry of use may have a condition and a loop. An instance that is left out has no resources and no outputs.
func TestModulesInLoops(t *testing.T) {
	got, _, err := loadFiles(t, with(nginx, `
vars: {sites: {a: {port: 1}, b: {port: 2}, c: {port: 3}}, none: []}
use:
- {module: m/nginx, name: "s_${{ each.key }}", for_each: "${{ vars.sites }}", when: "${{ each.value.port != 2 }}", with: {domain: "${{ each.key }}", port: "${{ each.value.port }}"}}
- {module: m/nginx, name: gone, when: false, with: {domain: "${{ 1 / 0 > 0 ? 'x' : 'y' }}"}}
- {module: m/nginx, name: "n_${{ each.key }}", for_each: "${{ vars.none }}", with: {domain: d}}
resources:
  file:
  - {name: /base}
  - {name: /x, content: "${{ module.s_c.url + module.gone.?url.orValue('-') + module.s_b.?url.orValue('-') }}", depend: ["module[s_a]", "module[gone]"]}
  - {name: /y, when: false, content: "${{ module.gone.url }}"}
edges: [{from: "file[/x]", to: "module[s_b]"}]
`), yaml.Options{})
	if err == nil {
		err = got.Problems.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := loadFiles(t, map[string]string{"g.yaml": `
resources:
  file:
  - {name: /base}
  - {name: /x, content: "http://c:3--", depend: ["file[/s_a]", "file[/etc/nginx/log-a]"]}
  - {name: /s_a, content: a from data, mode: "0600", depend: ["file[/etc/nginx/log-a]", "file[/base]"]}
  - {name: /etc/nginx/log-a}
  - {name: /s_c, content: c from data, mode: "0600", depend: ["file[/etc/nginx/log-c]", "file[/base]"]}
  - {name: /etc/nginx/log-c}
`}, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(plainly(t, want), plainly(t, got)); d != "" {
		t.Error(d)
	}
}

// TestModulesInMemory: a deploy carries the files of modules, and is read from them alone.
func TestModulesInMemory(t *testing.T) {
	const graph = "use: [{module: m/nginx, name: front, with: {domain: d}}]\nresources:\n  file: [{name: /base}]\n"
	files := map[string][]byte{}
	for name, src := range with(nginx, graph) {
		files[name] = []byte(src)
	}
	d, err := yaml.LoadFiles("g.yaml", files, yaml.Options{Facts: machineFacts})
	if err != nil || d.Problems.Err() != nil || len(d.Resources) != 3 {
		t.Fatal(err, d)
	}
	delete(files, "m/log/module.yaml")
	if d, err = yaml.LoadFiles("g.yaml", files, yaml.Options{Facts: machineFacts}); err == nil && d.Problems.Err() == nil {
		t.Error("a module that did not come was not missed")
	}
}

// TestModulesWrong: each fault of a module has its place, and none has a consequence.
func TestModulesWrong(t *testing.T) {
	const rest = "\nresources:\n  file: [{name: /base}, {name: /z, content: \"${{ module.front.url }}\"}]\n"
	for _, c := range []struct{ name, use, want string }{
		{"no folder", "{module: m/none, name: front}", "g.yaml:1:16: there is no module in m/none: its file module.yaml is missing or empty; mgmt module get fetches the modules of a lock file"},
		{"an unknown input", "{module: m/nginx, name: front, with: {domain: d, prot: 1}}", "g.yaml:1:56: the module front has no input \"prot\", it has domain (text), port (int) (did you mean \"port\"?)"},
		{"a missing input", "{module: m/nginx, name: front}", "g.yaml:1:7: the module front needs the input domain, which is text: write with: {domain: ...}\n    m/nginx/module.yaml:4:3: declared here, without a default"},
		{"an input of a wrong type", "{module: m/nginx, name: front, with: {domain: d, port: x}}", "g.yaml:1:62: the input port is int, not text\n    m/nginx/module.yaml:5:3: declared here"},
		{"an input with a fault", "{module: m/nginx, name: front, with: {domain: \"${{ facts.hostnam }}\"}}", "g.yaml:1:64: facts has no \"hostnam\" (did you mean \"hostname\"?)"},
		{"an unknown key", "{module: m/nginx, name: front, wiht: {}, with: {domain: d}}", "g.yaml:1:38: unknown key \"wiht\" in use (did you mean \"with\"?)"},
		{"a name twice in a loop", "{module: m/log, name: front, for_each: [1, 2], with: {path: /x}}", "g.yaml:1:29: the module front is there twice: give one of them another name\n    g.yaml:1:7: first used here\ng.yaml:3:63: module.front has no \"url\""},
		{"no condition", "{module: m/nginx, name: front, when: 1, with: {domain: d}}", "g.yaml:1:44: when must be true or false, not 1; write a condition as ${{ ... }}"},
		{"no loop", "{module: m/nginx, name: front, for_each: x, with: {domain: d}}", "g.yaml:1:48: for_each takes a list or a map, not the text \"x\"\ng.yaml:3:50: there is no module here: the key use names those of a graph"},
		{"a fault in a loop without a turn", "{module: m/nginx, name: front, with: {domain: d}}, {module: m/nginx, name: \"a${{ each.key }}\", for_each: [], with: {domain: \"${{ each.kee }}\"}}", "g.yaml:1:141: each has no \"kee\" (did you mean \"key\"?)"},
		{"left out", "{module: m/nginx, name: front, when: false}", "g.yaml:3:50: module.front has no outputs: the condition of the module leaves it out here; write module.front.?NAME.orValue(...)"},
		{"a reserved name", "{module: m/nginx, name: inputs, with: {domain: d}}", "g.yaml:1:31: a module can't be called inputs here: module.inputs has another meaning\ng.yaml:3:50: there is no module here: the key use names those of a graph"},
		{"twice", "{module: m/nginx, name: front, with: {domain: d}}, {module: m/log, name: front, with: {path: /x}}", "g.yaml:1:80: the module front is there twice: give one of them another name\n    g.yaml:1:7: first used here"},
		{"a clash of resources", "{module: m/log, name: front, with: {path: /x}}, {module: m/log, name: b, with: {path: /x}}", "g.yaml:3:63: module.front has no \"url\"\nm/log/module.yaml:6:17: file[/x] is there twice: it is in the module b\n    m/log/module.yaml:6:17: first made here: it is in the module front"},
		{"a clash with the graph", "{module: m/log, name: front, with: {path: /base}}", "g.yaml:3:63: module.front has no \"url\"\nm/log/module.yaml:6:17: file[/base] is there twice: it is in the module front\n    g.yaml:3:17: first made here: it is in no loop"},
		{"a module in itself", "{module: m/self, name: front}", "g.yaml:3:63: module.front has no \"url\"\nm/self/module.yaml:1:31: the module m/self uses itself"},
		{"a fault in the module", "{module: m/bad, name: front}", "g.yaml:3:63: module.front has no \"url\"\nm/bad/module.yaml:3:53: vars has no \"x\""},
		{"no module", "{module: m/plain, name: front}", "m/plain/module.yaml:1:1: a module is a map with the keys module, inputs, outputs and those of a graph: module gives its name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := with(nginx, "use: ["+c.use+"]"+rest)
			files["m/self/module.yaml"] = "{module: self, use: [{module: ../self}]}\n"
			files["m/bad/module.yaml"] = "module: bad\nresources:\n  file: [{name: /q, when: false, content: \"${{ vars.x }}\"}]\n"
			files["m/plain/module.yaml"] = "resources: {}\n"
			if got := told(t, files, yaml.Options{}); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
	files := with(nginx, "resources:\n  file: [{name: /base, depend: [\"module[fornt]\"]}]\nuse: [{module: m/nginx, name: front, with: {domain: d}}]\n")
	if got := told(t, files, yaml.Options{}); !strings.Contains(got, "g.yaml:2:33: no module is called fornt here: the key use names them (did you mean \"front\"?)") {
		t.Error(got)
	}
}

// TestModule: a module says which inputs it takes, and which outputs it gives, without a value for any.
func TestModule(t *testing.T) {
	dir := t.TempDir()
	for name, src := range nginx {
		write(t, dir, name, src)
	}
	m, ds := yaml.Module(filepath.Join(dir, "m/nginx"), yaml.Options{})
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	var got []string
	for _, f := range append(m.Inputs.Fields, m.Outputs.Fields...) {
		got = append(got, fmt.Sprint(f.Key, " ", f.Type, " ", f.Required, " ", f.Default, " ", f.Doc))
	}
	want := []string{"domain text true <nil> The name of the site.", "port a whole number false 80 ", "url any value false <nil> ", "port a whole number false <nil> The port behind it.", "log any value false <nil> "}
	if d := cmp.Diff(want, got); d != "" || m.Name != "nginx" {
		t.Error(m.Name, d)
	}
	write(t, dir, "none/module.yaml", "resources: {}\n")
	for _, folder := range []string{"none", "missing"} {
		if _, ds := yaml.Module(filepath.Join(dir, folder), yaml.Options{}); ds.Err() == nil {
			t.Errorf("%s is taken for a module", folder)
		}
	}
}

// TestFindingJ2Instances: a few modules that each use the next one several times are refused before they fill the machine, once
// and with a place. A chain of 32 is taken, and one more is not.
func TestFindingJ2Instances(t *testing.T) {
	chain := func(length, times int) map[string][]byte {
		files := map[string][]byte{"g.yaml": []byte("use: [{module: m0}]\nresources: {file: [{name: /x}]}\n")}
		for n := range length {
			var text strings.Builder
			text.WriteString(fmt.Sprintf("module: m%d\n", n))
			if n+1 < length {
				text.WriteString("use:\n")
				for i := range times {
					text.WriteString(fmt.Sprintf("- {module: ../m%d, name: a%d}\n", n+1, i))
				}
				text.WriteString("outputs: {o: \"${{ module.a0.o }}\"}\n")
			} else {
				text.WriteString("outputs: {o: end}\n")
			}
			files[fmt.Sprintf("m%d/module.yaml", n)] = []byte(text.String())
		}
		return files
	}
	for _, c := range []struct {
		length, times int
		want          string
	}{
		{23, 2, "m19/module.yaml:3:12: the graph has more than 10000 instances of modules"},
		{32, 1, ""},
		{33, 1, "m31/module.yaml:3:12: the module m32 is in 32 modules"},
	} {
		d, err := yaml.LoadFiles("g.yaml", chain(c.length, c.times), yaml.Options{Facts: machineFacts})
		if err == nil {
			err = d.Problems.Err()
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%d modules: %v", c.length, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 1):
			t.Errorf("%d modules, each used %d times: %v", c.length, c.times, err)
		}
	}
}

// TestFindingJ2Named: what a graph costs whose every entry of use reads the one before grows with their number, and not with its square.
func TestFindingJ2Named(t *testing.T) {
	bytes := func(n int) uint64 {
		var text strings.Builder
		text.WriteString("use:\n- {module: m, name: a0}\n")
		for i := range n {
			fmt.Fprintf(&text, "- {module: m, name: a%d, with: {v: \"${{ module.a%d.o }}\"}}\n", i+1, i)
		}
		text.WriteString("resources: {}\n")
		files := map[string][]byte{
			"g.yaml":        []byte(text.String()),
			"m/module.yaml": []byte("module: m\ninputs: {v: {type: text, default: x}}\noutputs: {o: \"${{ module.inputs.v }}\"}\n"),
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := yaml.LoadFiles("g.yaml", files, yaml.Options{Facts: machineFacts})
		runtime.ReadMemStats(&after)
		if err == nil {
			err = d.Problems.Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	bytes(10) // what is made once
	some, many := bytes(100), bytes(400)
	if many > 6*some {
		t.Errorf("100 entries take %d bytes, and four times as many %d", some, many)
	}
	var whole strings.Builder
	whole.WriteString("use:\n")
	for i := range 101 {
		fmt.Fprintf(&whole, "- {module: m, name: a%d}\n", i)
	}
	whole.WriteString("- {module: m, with: {v: \"${{ json(module) }}\"}}\nresources: {}\n")
	_, err := yaml.LoadFiles("g.yaml", map[string][]byte{
		"g.yaml":        []byte(whole.String()),
		"m/module.yaml": []byte("module: m\ninputs: {v: {type: text, default: x}}\n"),
	}, yaml.Options{Facts: machineFacts})
	if err == nil || !strings.Contains(err.Error(), "g.yaml:103:30: an entry of use after 50 others reads single modules alone") {
		t.Errorf("all instances as a whole: %v", err)
	}
}
