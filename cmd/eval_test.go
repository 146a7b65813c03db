package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEval: the verb shows the value of an expression, or the place of its fault.
func TestEval(t *testing.T) {
	dir := t.TempDir()
	graph, facts := filepath.Join(dir, "g.yaml"), filepath.Join(dir, "facts.yaml")
	for path, src := range map[string]string{
		graph: "vars: {a: x, n: 2}\ndata: {files: [d.yaml]}\nresources: {}\n", filepath.Join(dir, "d.yaml"): "k: [1, 2]\n", facts: "hostname: far\n",
	} {
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("MGMT_VAR_n", "3")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"vars.n + 1", graph}, exitOK, "4\n"},
		{[]string{"facts.hostname", "--facts", facts, graph}, exitOK, "far\n"},
		{[]string{"vars.a + string(vars.n)", graph}, exitOK, "x3\n"},
		{[]string{"vars.a", graph, "--var", "a=y"}, exitOK, "y\n"},
		{[]string{"{'b': data.k}", graph, "-o", "json"}, exitOK, "{\n  \"b\": [\n    1,\n    2\n  ]\n}\n"},
		{[]string{"data.?none", graph}, exitOK, "null\n"},
		{[]string{" ${{ vars.n + 1 }}\n", graph}, exitOK, "4\n"},
		{[]string{"${{ vars.b }}", graph}, exitUsage, "expression:1:10: vars has no \"b\""},
		{[]string{"${{ 1 }} and ${{ 2 }}", graph}, exitUsage, "this is no expression"},
		{[]string{"vars.b", graph}, exitUsage, "expression:1:6: vars has no \"b\""},
		{[]string{"1 / 0", graph}, exitUsage, "expression:1:3: division by zero"},
		{[]string{"1", graph, "--var", "c=y"}, exitUsage, "--var c: the graph has no variable \"c\", it has a (text), n (int)"},
		{[]string{"1", graph, "--var", "c"}, exitUsage, "write --var NAME=VALUE"},
	} {
		out, code := cli(t, "", append([]string{"eval"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.want) || code == exitOK && out != c.want {
			t.Errorf("mgmt eval %q: code %d, %q, want %d, %q", c.args, code, out, c.code, c.want)
		}
	}
}
