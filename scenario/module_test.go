package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/scenario"
)

const siteModule = `module: site
inputs:
  domain: {type: text, doc: The name of the site.}
  port: {type: int, default: 80}
secrets: [{age: none.yaml}]
resources:
  file:
  - {name: "/sites/${{ module.name }}", content: "${{ module.inputs.domain }}:${{ module.inputs.port }}"}
  - {name: /low, when: "${{ module.inputs.port < 1024 }}"}
  - {name: /key, content: "${{ secret('key') }}"}
`

// testedModule runs the tests of a text in the folder of a module, and returns the failures, one a line.
func testedModule(t *testing.T, tests string) (string, *scenario.Coverage) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "module.yaml"), []byte(siteModule), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "g.yaml"), []byte("resources: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, ds := yaml.Document("t_test.yaml", []byte(tests))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	f, ds := scenario.Read(n)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	cover := &scenario.Coverage{}
	var lines []string
	for _, r := range scenario.Run(t.Context(), filepath.Join(dir, "t_test.yaml"), f, scenario.Options{Kinds: engine.DefaultRegistry()}, cover) {
		for _, fail := range r.Failures {
			lines = append(lines, strings.ReplaceAll(fail.Pos.String(), dir+"/", "")+": "+fail.Message)
		}
	}
	return strings.Join(lines, "\n"), cover
}

// TestModule: a file of tests names a module, and each test gives it inputs. The instance has the name of the module.
func TestModule(t *testing.T) {
	got, cover := testedModule(t, `graph: module.yaml
tests:
- name: the port is the default
  inputs: {domain: example.org}
  secrets: {key: k}
  steps: [{expect: {file: [{name: /sites/site, content: "example.org:80"}, {name: /low}, {name: /key, content: k}]}}]
- name: another port
  inputs: {domain: "${{ facts.hostname }}", port: 8080}
  facts: {hostname: w1}
  secrets: {key: k}
  steps: [{expect: {file: [{name: /sites/site, content: "w1:8080"}, {name: /low, state: absent}]}}]
`)
	if got != "" {
		t.Error(got)
	}
	if resources, run, branches, taken := cover.Counts(); resources != 3 || run != 3 || branches != 2 || taken != 2 {
		t.Errorf("%d of %d resources, %d of %d branches", run, resources, taken, branches)
	}
}

// TestModuleWrong: a wrong input has its place in the test file.
func TestModuleWrong(t *testing.T) {
	for _, c := range []struct{ name, test, want string }{
		{"type", "graph: module.yaml\ntests:\n- name: x\n  inputs: {domain: a, port: b}\n  secrets: {key: k}", `t_test.yaml:4:29: the input port is int, not text`},
		{"name", "graph: module.yaml\ntests:\n- name: x\n  inputs: {domain: a, prot: 1}\n  secrets: {key: k}", `t_test.yaml:4:29: the module site has no input "prot"`},
		{"missing", "graph: module.yaml\ntests:\n- name: x\n  secrets: {key: k}", `t_test.yaml:3:3: `},
		{"expression", "graph: module.yaml\ntests:\n- name: x\n  inputs:\n    domain: a\n    port: ${{ facts.cpuss }}\n  secrets: {key: k}", `t_test.yaml:6:11: facts has no "cpuss"`},
		{"variables", "graph: module.yaml\ntests:\n- name: x\n  vars: {domain: a}", `t_test.yaml:4:9: variables from outside do not reach into a module: write inputs`},
		{"no module", "graph: g.yaml\ntests:\n- name: x\n  inputs: {domain: a}", `t_test.yaml:4:11: only a module has inputs`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := testedModule(t, c.test+"\n  steps: [{}]\n")
			if !strings.Contains(got, c.want) {
				t.Errorf("%s\n\nwant %s", got, c.want)
			}
		})
	}
}
