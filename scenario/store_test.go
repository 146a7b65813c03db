package scenario_test

import "testing"

// TestStoreOfATest: the values of a test are in its store, and a step alters them as another host would.
func TestStoreOfATest(t *testing.T) {
	const graph = `
graph: web
resources:
  kv: [{name: color}, {name: size, key: of/size, topic: "group:web"}, {name: mine, value: me}]
  file: [{name: /out, content: "${{ sent('kv[color].value') }} ${{ sent('kv[size].value') }}"}]
`
	got, _ := tested(t, graph, `graph: web.yaml
tests:
- name: values of other hosts
  facts: {roles: [web]}
  machine: {kv: [{name: color, value: red}, {name: size, key: of/size, topic: "group:web", value: big}]}
  steps:
  - expect: {file: [{name: /out, content: red big}], kv: [{name: color, value: red}, {name: mine, value: me}]}
  - drift: {kv: [{name: color, value: blue}, {name: mine, value: other}]}
    expect: {file: [{name: /out, content: blue big}], kv: [{name: mine, value: me}], changed: ["file[/out]", "kv[mine]"]}
  - drift: {kv: [{name: color, state: absent}]}
    expect: {failed: ["kv[color]"], kv: [{name: color, state: absent}]}
  - drift: {kv: [{name: color, state: absent}]}
    expect: {failed: ["kv[color]"], changed: []}
- name: a value that is not there
  machine: {kv: [{name: size, key: of/size, topic: "group:web", value: big}]}
  steps:
  - expect: {failed: ["kv[color]"], blocked: ["file[/out]"]}
`)
	if got != "" {
		t.Error(got)
	}
	got, _ = tested(t, graph, `graph: web.yaml
tests:
- name: wrong
  machine: {kv: [{name: color, value: red}, {name: size, key: of/size, topic: "group:web", value: big}]}
  steps:
  - expect: {kv: [{name: color, value: blue}, {name: none, value: x}]}
`)
	if want := "t_test.yaml:6:40: kv[color]: value differs\n    - blue\n    + red\nt_test.yaml:6:47: kv[none] is not there"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
