package scenario_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/scenario"
)

const examples = "../examples"

// TestExamples: each example has tests next to it, and they pass.
func TestExamples(t *testing.T) {
	graphs, err := filepath.Glob(examples + "/*.yaml")
	if err != nil || len(graphs) < 20 {
		t.Fatal(graphs, err)
	}
	graphs = append(graphs, examples+"/webserver/web.yaml")
	scenarios, spent := 0, time.Duration(0)
	for _, graph := range graphs {
		if yaml.IsTest(graph) {
			continue
		}
		path := yaml.TestsOf(graph)
		src, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%s has no test: %v", graph, err)
			continue
		}
		n, ds := yaml.Document(path, src)
		if ds.Err() != nil {
			t.Error(ds)
			continue
		}
		f, ds := scenario.Read(n)
		if ds.Err() != nil || f.Graph != filepath.Base(graph) {
			t.Errorf("%s: %v; it tests %v", path, ds, f)
			continue
		}
		for _, r := range scenario.Run(t.Context(), path, f, scenario.Options{Kinds: engine.DefaultRegistry()}, &scenario.Coverage{}) {
			scenarios, spent = scenarios+1, spent+r.Duration
			for _, fail := range r.Failures {
				t.Errorf("%s: %s: %s", r.Name, fail.Pos, fail.Message)
			}
		}
	}
	t.Logf("%d scenarios in %s", scenarios, spent)
}

// TestStoryOfAnsible: the page "Coming from Ansible" shows the files of the example as they are, and they have fifty lines at most.
func TestStoryOfAnsible(t *testing.T) {
	page, err := os.ReadFile("../docs/coming-from-ansible.md")
	if err != nil {
		t.Fatal(err)
	}
	root := examples + "/webserver"
	lines := 0
	var files []string
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name := strings.TrimPrefix(path, root+"/")
		files = append(files, name)
		lines += strings.Count(string(text), "\n")
		if !strings.Contains(string(page), "\n# "+name+"\n"+string(text)+"```\n") {
			t.Errorf("the page does not show %s as it is", name)
		}
		return err
	})
	if err != nil || lines > 50 {
		t.Errorf("the story has %d lines, it may have 50 (%v)", lines, err)
	}
	if want := []string{"modules/service/module.yaml", "site.tmpl", "sites.yaml", "web.yaml", "web_test.yaml"}; !slices.Equal(files, want) {
		t.Errorf("the example has the files %v", files)
	}
}
