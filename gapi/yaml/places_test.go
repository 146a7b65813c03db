package yaml_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// feature is an expression whose value is the text w1.
type feature struct {
	name, src string
	loop      bool // it needs a resource with for_each
	secret    bool // it stands in parameters, and in inputs and outputs of modules
	sent      bool // it stands in parameters alone
	early     bool // it is known before modules and data are read
}

var features = []feature{
	{name: "a fact", src: `facts.hostname`, early: true},
	{name: "a variable", src: `vars.v`, early: true},
	{name: "a key with a dash", src: `vars.m["my-key"]`, early: true},
	{name: "data", src: `data.d`},
	{name: "an optional", src: `vars.?m.?none.orValue('w1')`, early: true},
	{name: "an optional of data", src: `data.?none.orValue('w1')`},
	{name: "two variables", src: `vars.m.transformList(k, v, v)[0]`, early: true},
	{name: "a module's output", src: `module.one.out`},
	{name: "the hosts", src: `hosts['w1'].hostname`, early: true},
	{name: "a schedule", src: `scheduled('s')[0]`, early: true},
	{name: "a template", src: `template('t.tmpl', {'k': 'w1'})`, early: true},
	{name: "a file", src: `read('r')`, early: true},
	{name: "a condition", src: `1 < 2 ? 'w1' : 'other'`, early: true},
	{name: "an encoder", src: `fromJSON(json({'k': 'w1'})).k`, early: true},
	{name: "lists and texts", src: `['w', '1'].join('')`, early: true},
	{name: "a regular expression", src: `regex.replace('w2', '2', '1')`, early: true},
	{name: "mathematics", src: `'w' + string(math.least(1, 2))`, early: true},
	{name: "sets", src: `sets.contains(['w1'], ['w1']) ? 'w1' : ''`, early: true},
	{name: "networks", src: `cidrContains('10.0.0.0/8', '10.1.1.1') ? 'w1' : ''`, early: true},
	{name: "versions", src: `semverCompare('1.2.0', '1.10.0') < 0 ? 'w1' : ''`, early: true},
	{name: "a loop", src: `each.value`, loop: true},
	{name: "a secret", src: `secret('k')`, secret: true},
	{name: "a sent value", src: `sent('exec[x].output')`, sent: true},
}

// site is a place of a graph where an expression may stand. In its graph, A is the expression in double quotes, S its source, and T its source inside
// of double quotes. F and L make room for a loop.
type site struct {
	name, graph string
	shown       bool // names, conditions and the like: neither secrets nor sent values stand there
	top         bool // there is no resource, so no turn of a loop
	early       bool // it is computed before modules and data
	module      bool // an input or an output of a module
	value       func(r *gapi.Declaration) string
}

func param(key string) func(*gapi.Declaration) string {
	return func(r *gapi.Declaration) string { return text(r.Value.Get(key)) }
}

func name(r *gapi.Declaration) string { return strings.TrimPrefix(r.Name, "/") }

var sites = []site{
	{name: "in double quotes", graph: "  file: [{name: /f, F content: A}]\n", value: param("content")},
	{name: "in single quotes", graph: "  file:\n  - name: /f\n    L\n    content: 'Q'\n", value: param("content")},
	{name: "in a literal block", graph: "  file:\n  - name: /f\n    L\n    content: |-\n      ${{ S }}\n", value: param("content")},
	{name: "in a folded block", graph: "  file:\n  - name: /f\n    L\n    content: >-\n      ${{ S }}\n", value: param("content")},
	{name: "in a list", graph: "  exec: [{name: /f, F cmd: c, args: [A]}]\n", value: func(r *gapi.Declaration) string { return text(r.Value.At("args[0]")) }},
	{name: "in a map", graph: "  exec: [{name: /f, F cmd: c, env: {K: A}}]\n", value: func(r *gapi.Declaration) string { return text(r.Value.At("env.K")) }},
	{name: "in defaults", graph: "  file: [{name: /f, F owner: x}]\ndefaults: {file: {content: A}}\n", value: param("content")},
	{name: "in a name", graph: "  file: [{name: A, F content: x}]\n", shown: true, value: name},
	{name: "in meta", graph: "  file: [{name: /f, F meta: {sema: [A]}}]\n", shown: true, value: func(r *gapi.Declaration) string { return text(r.Meta.At("sema[0]")) }},
	{name: "in when", graph: "  file: [{name: w1, F when: W}]\n", shown: true, value: name},
	{name: "in for_each", graph: "  file: [{name: \"${{ each.value }}\", for_each: I}]\n", shown: true, top: true, value: name},
	{name: "in depend", graph: "  file: [{name: /f, F depend: [R]}]\n", shown: true, value: func(r *gapi.Declaration) string { return r.Depend[0].Ref.Name }},
	{name: "in notify", graph: "  file: [{name: /f, F notify: [R]}]\n", shown: true, value: func(r *gapi.Declaration) string { return r.Notify[0].Ref.Name }},
	{name: "in recv", graph: "  file: [{name: /f, F recv: {content: V}}]\n", shown: true, value: func(r *gapi.Declaration) string { return r.Recv[0].From.Name }},
	{name: "in include", graph: "  user: []\ninclude: [\"i-${{ T }}.yaml\"]\n", shown: true, top: true, early: true, value: param("content")},
	{name: "in data.files", graph: "  file: [{name: /f, content: \"${{ data.from }}\"}]\n", shown: true, top: true, early: true, value: param("content")},
	{name: "in use.with", graph: "  user: []\nuse: [{module: one, name: one}, {module: m, with: {k: A}}]\n", top: true, module: true, value: param("content")},
	{name: "in edges", graph: "  file: [{name: w1}]\nedges: [{from: \"file[${{ T }}]\", to: \"exec[x]\"}]\n", shown: true, top: true, value: name},
}

// refusal says whether a feature may not stand at a site, and a part of the reason.
func refusal(f feature, s site) (why string) {
	switch {
	case f.sent && (s.shown || s.module):
		return "sent value"
	case f.secret && s.shown:
		return "a secret may stand only in"
	case f.loop && s.top:
		return "each is there in a resource with for_each only"
	case s.early && s.name == "in include" && strings.HasPrefix(f.src, "module."):
		return "there is no module here"
	case s.early && strings.HasPrefix(f.src, "module."):
		return "there is no module here"
	case s.early && strings.HasPrefix(f.src, "data.d"):
		return `there is no `
	}
	return ""
}

// TestEveryFeatureEverywhere: every feature meets every place. It has its value there, or the reason why it can't stand there.
func TestEveryFeatureEverywhere(t *testing.T) {
	for _, f := range features {
		for _, s := range sites {
			t.Run(f.name+" "+s.name, func(t *testing.T) {
				t.Parallel()
				meet(t, f, s)
			})
		}
	}
}

// meet loads the graph of one feature at one place.
func meet(t *testing.T, f feature, s site) {
	if s.early && !f.early && refusal(f, s) == "" {
		t.Skip("it is another value where data are not read yet")
	}
	quoted := strings.ReplaceAll(f.src, `"`, `\"`)
	loop, line := "", "owner: x"
	if f.loop {
		loop, line = "for_each: [w1],", "for_each: [w1]"
	}
	graph := strings.NewReplacer(
		" A", ` "${{ `+quoted+` }}"`, "[A]", `["${{ `+quoted+` }}"]`, "'Q'", "'${{ "+strings.ReplaceAll(f.src, "'", "''")+" }}'",
		" W}", ` "${{ (`+quoted+`) == 'w1' }}"}`, " I}", ` "${{ [`+quoted+`] }}"}`, "[R]", `["file[${{ `+quoted+` }}]"]`, " V}", ` "exec[${{ `+quoted+` }}].output"}`,
		"${{ S }}", "${{ "+f.src+" }}", "${{ T }}", "${{ "+quoted+" }}", " F ", " "+loop+" ", "    L\n", "    "+line+"\n",
	).Replace(s.graph)
	data := "[d.yaml]"
	if s.name == "in data.files" {
		data = `["f-${{ ` + quoted + ` }}.yaml", d.yaml]`
	}
	use := ""
	if !strings.Contains(graph, "use:") {
		use = "use: [{module: one, name: one}]\n"
	}
	if !strings.Contains(graph, "  exec:") {
		use += "resources:\n  exec: [{name: x, cmd: c}, {name: w1, cmd: c}]\n" + graph
	} else {
		use += "resources:\n" + strings.Replace(graph, "exec: [", "exec: [{name: x, cmd: c}, ", 1)
	}
	files := map[string]string{
		"g.yaml": "vars: {v: w1, m: {my-key: w1}}\ndata: {files: " + data + "}\n" + use,
		"d.yaml": "d: w1\n", "f-w1.yaml": "from: w1\n", "t.tmpl": "{{ .k }}", "r": "w1",
		"i-w1.yaml":       "resources: {file: [{name: /f, content: w1}]}\n",
		"one/module.yaml": "module: one\noutputs: {out: w1}\n",
		"m/module.yaml":   "module: m\ninputs: {k: text}\noutputs: {o: \"${{ module.inputs.k }}\"}\nresources: {file: [{name: /f, content: \"${{ module.inputs.k }}\"}]}\n",
	}
	reg := registry(t)
	d, _, err := loadFiles(t, files, yaml.Options{
		Registry:  func() *engine.Registry { return reg },
		Secret:    func(name string) (string, bool) { return "w1", name == "k" },
		Scheduled: func(string, string) ([]string, string) { return []string{"w1"}, "" },
	})
	said := ""
	if err != nil {
		said = err.Error()
	} else if d.Problems.Err() != nil {
		said = d.Problems.Error()
	}
	if why := refusal(f, s); why != "" {
		if !strings.Contains(said, why) {
			t.Errorf("it says %q, not %q:\n%s", said, why, files["g.yaml"])
		}
		return
	}
	if said != "" {
		t.Fatalf("%s\n%s", said, files["g.yaml"])
	}
	checkMet(t, f, s, d)
}

// checkMet compares the value at the place.
func checkMet(t *testing.T, f feature, s site, d *gapi.Declared) {
	t.Helper()
	for i := range d.Resources {
		r := &d.Resources[i]
		if r.Name == "x" || r.Kind == "exec" && r.Name == "w1" {
			continue
		}
		switch {
		case f.sent:
			got, _, err := r.Recv[0].Formula.Make(map[string]any{"exec[x].output": "w1"})
			if list, ok := got.([]any); ok {
				got = list[0]
			}
			if m, ok := got.(map[string]any); ok {
				got = m["K"]
			}
			if got != "w1" || err != nil {
				t.Errorf("the formula makes %v, %v", got, err)
			}
		case f.secret:
			if got := marksOf(t, r.Meta); len(got) != 1 {
				t.Errorf("the parameter is not marked as a secret: %v", got)
			}
		default:
			if got := s.value(r); got != "w1" {
				t.Errorf("the value is %q", got)
			}
		}
		return
	}
	t.Error("the resource is not there")
}

// text returns the text of a scalar, empty for nothing.
func text(n *schema.Node) string {
	if n == nil {
		return ""
	}
	return n.Text
}
