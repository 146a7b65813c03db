package mgmt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/gapi/words"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// example writes an example of the page to a file and returns the file.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := words.Examples.ReadFile("example/" + name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if filepath.Ext(name) == ".sls" {
		path += ".yaml"
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// said is what a graph asks for: its resources with what they do not have by default, and
// its edges, those that notify last.
func said(t *testing.T, g *resgraph.Graph) (resources, edges, notify []string) {
	t.Helper()
	for i := range g.Len() {
		res := g.Value(i).Res
		base, err := engine.DefaultRegistry().New(res.Kind())
		if err != nil {
			t.Fatal(err)
		}
		values, err := schema.EncodeChanged(res, base)
		if err != nil {
			t.Fatal(err)
		}
		for key, like := range map[string]any{"path": res.Name(), "cmd": res.Name(), "state": map[string]any{"file": "exists"}[res.Kind()]} {
			if values[key] == like {
				delete(values, key) // what the name, or the content, says already
			}
		}
		resources = append(resources, fmt.Sprint(g.ID(i), " ", values))
	}
	for e := range g.Edges() {
		line := g.ID(e.From) + " -> " + g.ID(e.To)
		if edges = append(edges, line); e.Notify {
			notify = append(notify, line)
		}
	}
	slices.Sort(resources)
	slices.Sort(edges)
	slices.Sort(notify)
	return resources, slices.Compact(edges), notify
}

func built(t *testing.T, d *gapi.Declared) *resgraph.Graph {
	t.Helper()
	g, ds := gapi.Build(engine.DefaultRegistry(), d)
	if g == nil {
		t.Fatal(ds)
	}
	return g
}

func loaded(t *testing.T, name string) *gapi.Declared {
	t.Helper()
	d, err := yaml.Load(example(t, name), yaml.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The server of the page is the same one in each notation, and the graph that our words
// make of it is the same one too. What orders Ansible is the order of its tasks.
func TestFindingD4SameServer(t *testing.T) {
	resources, edges, notify := said(t, built(t, loaded(t, "ours.yaml")))
	if len(resources) != 5 || len(edges) != 3 || len(notify) != 1 {
		t.Fatal(resources, edges, notify)
	}
	for name, d := range map[string]*gapi.Declared{
		"upstream.yaml": loaded(t, "upstream.yaml"),
		"playbook.yaml": playbook(t),
		"state.sls":     states(t),
		"catalog.json":  catalog(t),
	} {
		t.Run(name, func(t *testing.T) {
			r, e, n := said(t, built(t, d))
			if name == "catalog.json" {
				r = withoutPuppets(r)
			}
			if diff := cmp.Diff(resources, r); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(edges, e); diff != "" && name != "playbook.yaml" {
				t.Error(diff)
			}
			if diff := cmp.Diff(notify, n); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// withoutPuppets takes out what Puppet asks for where a manifest says nothing.
func withoutPuppets(resources []string) []string {
	out := slices.Clone(resources)
	for i := range out {
		out[i] = strings.NewReplacer(" env:map[PATH:/usr/bin:/bin]", "", " timeout:5m0s", "", "timeout:5m0s ", "", "refresh:restart ", "").Replace(out[i])
	}
	return out
}

// nodeIn reads a file that is no graph.
func nodeIn(t *testing.T, name string) *schema.Node {
	t.Helper()
	nodes, ds := yaml.Documents(filepath.Dir(example(t, name)), yaml.Options{})
	if len(nodes) != 1 {
		t.Fatal(ds)
	}
	return nodes[0]
}

// playbook makes resources of the tasks of a playbook: the module is the kind, and its
// arguments are the parameters.
func playbook(t *testing.T) *gapi.Declared {
	t.Helper()
	d := &gapi.Declared{Name: "web", Authored: gapi.OtherTools{}}
	play := nodeIn(t, "playbook.yaml").Items[0]
	handlers := map[string]gapi.Declaration{}
	for _, task := range play.Get("handlers").Items {
		handlers[task.Get("name").Text] = taskOf(t, task)
	}
	for _, task := range play.Get("tasks").Items {
		r := taskOf(t, task)
		if n := task.Get("notify"); n != nil {
			h := handlers[n.Text]
			r.Notify = []gapi.RefDecl{{Ref: schema.Ref{Kind: h.Kind, Name: h.Name}}}
		}
		d.Resources = append(d.Resources, r)
	}
	return d
}

func taskOf(t *testing.T, task *schema.Node) gapi.Declaration {
	t.Helper()
	for _, p := range task.Pairs {
		if p.Value.Kind != schema.NodeMap {
			continue
		}
		r := gapi.Declaration{Kind: p.Key, Value: &schema.Node{Kind: schema.NodeMap}}
		for _, arg := range p.Value.Pairs {
			switch {
			case slices.Contains([]string{"name", "dest", "cmd"}, arg.Key):
				r.Name = arg.Value.Text
			default:
				r.Value.Pairs = append(r.Value.Pairs, arg)
			}
		}
		return r
	}
	t.Fatal("a task without a module")
	return gapi.Declaration{}
}

// states makes resources of the states of Salt: the function is the kind, and its
// arguments are the parameters.
func states(t *testing.T) *gapi.Declared {
	t.Helper()
	d := &gapi.Declared{Name: "web", Authored: gapi.OtherTools{}}
	for _, state := range nodeIn(t, "state.sls").Pairs {
		for _, f := range state.Value.Pairs {
			r := gapi.Declaration{Kind: f.Key, Name: state.Key, Value: &schema.Node{Kind: schema.NodeMap}}
			for _, arg := range f.Value.Items {
				r.Value.Pairs = append(r.Value.Pairs, arg.Pairs...)
			}
			if f.Key == "cmd.run" { // Salt runs each command in a shell
				r.Value.Pairs = append(r.Value.Pairs, schema.Pair{Key: "shell", Value: &schema.Node{Kind: schema.NodeString}})
			}
			d.Resources = append(d.Resources, r)
		}
	}
	return d
}

func catalog(t *testing.T) *gapi.Declared {
	t.Helper()
	f := puppet.New(example(t, "catalog.json"), puppet.Options{})
	for d, err := range f.Graphs(t.Context(), gapi.Env{Registry: engine.DefaultRegistry, NoWatch: true}) {
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatal("no catalog")
	return nil
}
