package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestMistakenFiles: a module, a graph and a file of tests are told apart where one is named for another, and the error says what to run.
func TestMistakenFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"g.yaml":      "graph: g\nresources: {noop: [{name: a}]}\n",
		"g_test.yaml": "graph: g.yaml\ntests: [{name: t}]\n", "m_test.yaml": "graph: g.yaml\ntests: [{name: t, resources: {}}]\n",
		"lone.yaml":          "resources: {noop: [{name: a}]}\n",
		"good/module.yaml":   "module: good\ninputs: {n: {type: int, default: 1}}\noutputs: {o: \"${{ module.inputs.n }}\"}\nresources:\n  noop: [{name: \"n${{ module.inputs.n }}\", depend: [\"pkg[outside]\"]}]\n",
		"open/module.yaml":   "module: open\ninputs: {n: {type: int}}\nresources: {noop: [{name: \"${{ module.inputs.n }}\"}]}\n",
		"bad/module.yaml":    "module: bad\nresources:\n  noop: [{name: \"${{ module.inputs.m }}\", txt: x}]\n",
		"broken/module.yaml": "module: broken\ninputs: {n: {type: number}}\n",
		"open/t_test.yaml":   "graph: module.yaml\ntests: [{name: t, inputs: {n: 1}}]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const module = "open/module.yaml:1:1: this is a module, not a graph: a graph takes it with use: [{module: FOLDER}]; mgmt validate open checks it, and mgmt test open runs its tests\n"
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"test g.yaml", cli.ExitUsage, "mgmt: g.yaml is a graph, not a file of tests: its tests are run by mgmt test g_test.yaml\n"},
		{"test lone.yaml", cli.ExitUsage, "mgmt: lone.yaml is a graph, not a file of tests: write its tests into lone_test.yaml, then mgmt test lone_test.yaml runs them\n"},
		{"test open/module.yaml", cli.ExitUsage, "mgmt: open/module.yaml is a module, not a file of tests: mgmt test open runs the tests in its folder\n"},
		{"validate g_test.yaml", cli.ExitUsage, "g_test.yaml:1:1: this is a file of tests, not a graph: mgmt test g_test.yaml runs it\nmgmt: 1 error\n"},
		{"plan open/module.yaml", cli.ExitUsage, module},
		{"render open", cli.ExitUsage, module},
		{"validate good/module.yaml", cli.ExitOK, "ok: module good, 1 input, 1 output, 1 resource\n"},
		{"validate good", cli.ExitOK, "ok: module good, 1 input, 1 output, 1 resource\n"},
		{"validate open", cli.ExitOK, "ok: module open, 1 input, 0 outputs\nmgmt: note: the input n has no default, so the resources were not checked: tests give inputs, see mgmt test open\n"},
		{"validate bad", cli.ExitUsage, "bad/module.yaml:3:36: module.inputs has no \"m\"\nmgmt: 1 error\n"},
		{"validate broken --format json", cli.ExitUsage, `\"number\" is no type of a variable`},
	} {
		out, code := invoke(t, "", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.want) || strings.HasSuffix(c.want, "\n") && out != c.want {
			t.Errorf("mgmt %s: code %d, want %d\n%swant:\n%s", c.args, code, c.code, out, c.want)
		}
	}
}
