package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestEval: the verb shows the value of an expression, or the place of its fault.
func TestEval(t *testing.T) {
	dir := t.TempDir()
	graph, facts, config := filepath.Join(dir, "g.yaml"), filepath.Join(dir, "facts.yaml"), filepath.Join(dir, "mgmt.yaml")
	for path, src := range map[string]string{
		graph: "vars: {a: x, n: 2}\ndata: {files: [d.yaml]}\nresources: {}\n", filepath.Join(dir, "d.yaml"): "k: [1, 2]\n", facts: "hostname: far\n", config: "hostname: w8\n",
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
		{[]string{"vars.n + 1", graph}, cli.ExitOK, "4\n"},
		{[]string{"facts.hostname", "--facts", facts, graph}, cli.ExitOK, "far\n"},
		{[]string{"facts.hostname", "--hostname", "w7"}, cli.ExitOK, "w7\n"},
		{[]string{"facts.hostname", "--facts", facts, "--hostname", "w7"}, cli.ExitOK, "w7\n"},
		{[]string{"facts.hostname", "--config", config}, cli.ExitOK, "w8\n"},
		{[]string{"facts.hostname", "--config", config, "--facts", facts}, cli.ExitOK, "far\n"},
		{[]string{"hosts.map(h, h)", "--config", config, "-o", "json"}, cli.ExitOK, "[\n  \"w8\"\n]\n"},
		{[]string{"vars.a + string(vars.n)", graph}, cli.ExitOK, "x3\n"},
		{[]string{"vars.a", graph, "--var", "a=y"}, cli.ExitOK, "y\n"},
		{[]string{"{'b': data.k}", graph, "-o", "json"}, cli.ExitOK, "{\n  \"b\": [\n    1,\n    2\n  ]\n}\n"},
		{[]string{"data.?none", graph}, cli.ExitOK, "null\n"},
		{[]string{" ${{ vars.n + 1 }}\n", graph}, cli.ExitOK, "4\n"},
		{[]string{"${{ vars.b }}", graph}, cli.ExitUsage, "expression:1:10: vars has no \"b\""},
		{[]string{"${{ 1 }} and ${{ 2 }}", graph}, cli.ExitUsage, "this is no expression"},
		{[]string{"vars.b", graph}, cli.ExitUsage, "expression:1:6: vars has no \"b\""},
		{[]string{"1 / 0", graph}, cli.ExitUsage, "expression:1:3: division by zero"},
		{[]string{"1", graph, "--var", "c=y"}, cli.ExitUsage, "--var c: the graph has no variable \"c\", it has a (text), n (int)"},
		{[]string{"1", graph, "--var", "c"}, cli.ExitUsage, "write --var NAME=VALUE"},
	} {
		out, code := invoke(t, "", append([]string{"eval"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.want) || code == cli.ExitOK && out != c.want {
			t.Errorf("mgmt eval %q: code %d, %q, want %d, %q", c.args, code, out, c.code, c.want)
		}
	}
}

// TestNameOfTheMachine: each verb that reads a graph reads it for the name that the flag or the configuration file gives, as run does.
func TestNameOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	graph, config := filepath.Join(dir, "g.yaml"), filepath.Join(dir, "mgmt.yaml")
	for path, src := range map[string]string{
		graph: "resources:\n  print: [{name: \"p ${{ facts.hostname }}\", msg: x}]\n", config: "hostname: w8\n",
	} {
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, verb := range [][]string{{"render"}, {"graph"}, {"plan", "--all", "--prefix", dir}, {"run", "--tmp-prefix", "--converged-exit", "--socket", filepath.Join(dir, "s")}} {
		for name, flags := range map[string][]string{"w7": {"--hostname", "w7"}, "w8": {"--config", config}} {
			if out, _ := invoke(t, "", append(append(verb, graph), flags...)...); !strings.Contains(out, "p "+name) {
				t.Errorf("mgmt %s with %v:\n%s", verb, flags, out)
			}
		}
	}
	if out, code := invoke(t, "", "facts", "hostname", "--config", config); code != cli.ExitOK || out != "w8\n" {
		t.Errorf("mgmt facts: code %d, %q", code, out)
	}
}

// TestValidateShell: validate warns of a command that needs a shell, at its place, and says how to write it.
func TestValidateShell(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.yaml")
	if err := os.WriteFile(path, []byte("resources:\n  exec:\n  - name: stamp\n    cmd: date > /tmp/stamp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := invoke(t, "", "validate", path)
	if want := path + `:4:10: warning: cmd: without a shell, ">" is an argument of the program; write shell: /bin/sh, or the word in quotes`; code != cli.ExitOK || !strings.Contains(out, want) {
		t.Errorf("code %d, %s", code, out)
	}
}
