package scenario_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestFindingP5OneFinding: a misspelt resource is one finding at its place, however many resources a graph has. So are many that a test has not thought of.
func TestFindingP5OneFinding(t *testing.T) {
	const graph = "resources:\n  file:\n  - name: \"/etc/${{ each.key }}.conf\"\n    for_each: ${{ lists.range(200) }}\n    content: a\n"
	var all strings.Builder
	for i := range 199 {
		fmt.Fprintf(&all, "\"file[/etc/%d.conf]\", ", i)
	}
	checkWrong(t, map[string]string{"g.yaml": graph}, "g.yaml", []wrong{
		{"a typo among all", "steps: [{expect: {changed: [" + all.String() + "\"file[/etc/199.cnf]\"]}}]",
			`=t_test.yaml:4:4498: file[/etc/199.cnf] is not in the graph (did you mean "file[/etc/199.conf]"?)`},
		{"a typo alone", "steps: [{expect: {changed: [\"file[/etc/1.cnf]\"]}}]",
			`=t_test.yaml:4:31: file[/etc/1.cnf] is not in the graph (did you mean "file[/etc/1.conf]"?)`},
		{"without a kind", "steps: [{expect: {ok: [/etc/1.conf]}}]",
			`=t_test.yaml:4:26: /etc/1.conf is not in the graph (did you mean "file[/etc/1.conf]"?)`},
		{"in an order", "steps: [{expect: {order: [\"file[/etc/1.conf]\", \"file[/etc/2.cnf]\"]}}]",
			`=t_test.yaml:4:50: file[/etc/2.cnf] is not in the graph (did you mean "file[/etc/2.conf]"?)`},
		{"of a failure", "steps: [{fail: {\"file[/etc/1.cnf]\": full}}]",
			`=t_test.yaml:4:19: file[/etc/1.cnf] is not in the graph (did you mean "file[/etc/1.conf]"?)`},
		{"no list", "steps: [{expect: {changed: \"file[/etc/1.conf]\"}}]", `=t_test.yaml:4:30: write a list of resources, such as ["svc[nginx]"]`},
		{"many others", "steps: [{expect: {changed: [\"file[/etc/1.conf]\"]}}]",
			"=t_test.yaml:4:30: 199 resources are changed, which the test does not expect: file[/etc/0.conf], file[/etc/10.conf], file[/etc/100.conf], file[/etc/101.conf], file[/etc/102.conf] and 194 more"},
		{"not refreshed", "steps: [{expect: {refreshed: [\"file[/etc/1.conf]\"]}}]", "=t_test.yaml:4:33: file[/etc/1.conf] is not refreshed; nothing is refreshed"},
	})
}

// TestFindingP5Variables: a wrong variable has its place in the test.
func TestFindingP5Variables(t *testing.T) {
	const graph = "vars:\n  port: {type: int}\n  site: {type: text, default: a}\nresources:\n  noop: [{name: \"${{ vars.site }}-${{ vars.port }}\"}]\n"
	checkWrong(t, map[string]string{"g.yaml": graph}, "g.yaml", []wrong{
		{"a name and a type", "vars: {siet: b, port: many}", "=t_test.yaml:4:10: the graph has no variable \"siet\", it has port (int), site (text) (did you mean \"site\"?)\n" +
			"t_test.yaml:4:19: the variable port is int, not text"},
		{"no value", "vars: {site: b}", "=g.yaml:2:3: the variable port has no value: it has no default, so write it under vars of the test"},
	})
}

// TestFindingP4Asserted: a test that expects nothing of a resource has run it, and no more.
func TestFindingP4Asserted(t *testing.T) {
	const graph = "resources:\n  file:\n  - {name: motd, path: /etc/motd, content: a}\n  - {name: /etc/b, content: b}\n  noop: [{name: n}, {name: o}]\n"
	for steps, want := range map[string]string{
		"": "coverage: of 4 resources 4 have run and 0 are asserted; 0 of 0 branches\n  file[/etc/b] has run, and no test expects anything of it\n" +
			"  file[motd] has run, and no test expects anything of it\n  noop[n] has run, and no test expects anything of it\n  noop[o] has run, and no test expects anything of it\n",
		"  steps: [{expect: {failed: []}}]": "coverage: of 4 resources 4 have run and 0 are asserted; 0 of 0 branches\n",
		"  steps: [{expect: {file: [{name: /etc/motd, content: a}], ok: [\"noop[n]\"]}}]": "coverage: of 4 resources 4 have run and 2 are asserted; 0 of 0 branches\n" +
			"  file[/etc/b] has run, and no test expects anything of it\n  noop[o] has run, and no test expects anything of it\n",
		"  steps: [{fail: {\"file[motd]\": full}, expect: {failed: [\"file[motd]\"]}}]": "coverage: of 4 resources 4 have run and 1 are asserted; 0 of 0 branches\n",
	} {
		got, cover := testedAmong(t, map[string]string{"g.yaml": graph}, "graph: g.yaml\ntests:\n- name: x\n"+steps+"\n")
		var b strings.Builder
		if err := cover.Write(&b); err != nil || got != "" || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%s: %s%s%v", steps, got, b.String(), err)
		}
	}
}
