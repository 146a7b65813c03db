package scenario_test

import "testing"

const siteModule = `module: site
inputs:
  domain: {type: text, doc: The name of the site.}
  port: {type: int, default: 80}
secrets: [{age: none.yaml}]
resources:
  file:
  - {name: "/sites/${{ module.name }}", content: "${{ module.inputs.domain }}:${{ module.inputs.port }}"}
  - {name: /low, state: exists, when: "${{ module.inputs.port < 1024 }}"}
  - {name: /key, content: "${{ secret('key') }}"}
`

// site is the folder of the module, with a graph that is no module.
var site = map[string]string{"module.yaml": siteModule, "g.yaml": "resources: {}\n"}

// TestModule: a file of tests names a module, and each test gives it inputs. The instance has the name of the module.
func TestModule(t *testing.T) {
	got, cover := testedAmong(t, site, `graph: module.yaml
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
	if n := cover.Counts(); n.Resources != 3 || n.Ran != 3 || n.Branches != 2 || n.Taken != 2 {
		t.Errorf("coverage: %+v", n)
	}
}

// TestModuleWrong: a wrong input has its place in the test file.
func TestModuleWrong(t *testing.T) {
	checkWrong(t, site, "module.yaml", []wrong{
		{"type", "inputs: {domain: a, port: b}\n  secrets: {key: k}\n  steps: [{}]", `t_test.yaml:4:29: the input port is int, not text`},
		{"name", "inputs: {domain: a, prot: 1}\n  secrets: {key: k}\n  steps: [{}]", `t_test.yaml:4:29: the module site has no input "prot"`},
		{"missing", "secrets: {key: k}\n  steps: [{}]", `t_test.yaml:3:3: `},
		{"expression", "inputs:\n    domain: a\n    port: ${{ facts.cpuss }}\n  secrets: {key: k}\n  steps: [{}]", `t_test.yaml:6:11: facts has no "cpuss"`},
		{"variables", "vars: {domain: a}\n  steps: [{}]", `t_test.yaml:4:9: variables from outside do not reach into a module: write inputs`},
	})
	checkWrong(t, site, "g.yaml", []wrong{
		{"no module", "inputs: {domain: a}\n  steps: [{}]", `t_test.yaml:4:11: only a module has inputs`},
	})
}

// TestAroundAModule: the test of a module gives the resources to which its references lead. A missing one is a failure that says so.
func TestAroundAModule(t *testing.T) {
	files := map[string]string{"module.yaml": "module: site\nresources:\n  file: [{name: /site, depend: [\"pkg[nginx]\"], content: a}]\n"}
	got, _ := testedAmong(t, files, "graph: module.yaml\ntests:\n- name: t\n  resources: {pkg: [{name: nginx}]}\n  steps: [{expect: {order: [\"pkg[nginx]\", \"file[/site]\"]}}]\n")
	if got != "" {
		t.Error(got)
	}
	const missing = "module.yaml:3:33: depend: pkg[nginx] is not in the graph: the key resources of the test gives what is around the module"
	checkWrong(t, files, "module.yaml", []wrong{
		{"another", "resources: {pkg: [{name: apache}]}", "=" + missing},
		{"none", "inputs: {}", "=" + missing},
		{"no name", "resources: {pkg: [{nam: nginx}]}", "=" + missing + "\nt_test.yaml:4:14: this pkg has no name"},
	})
	checkWrong(t, site, "g.yaml", []wrong{{"no module", "resources: {}", "=t_test.yaml:4:14: a graph has its own resources: only the test of a module gives those around it"}})
}
