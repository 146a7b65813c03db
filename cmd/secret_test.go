package cmd

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestSecretVerbs: a value goes into a file and comes back, a plan shows nothing of it, and without an identity there is a reason.
func TestSecretVerbs(t *testing.T) {
	t.Chdir(t.TempDir())
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	a := &cli.App{In: strings.NewReader("hunter2\n"), Out: &b, Err: &b}
	code := execute(t.Context(), a, []string{"secret", "encrypt", "--to", id.Recipient().String()})
	sealed := b.String()
	if code != cli.ExitOK || !strings.HasPrefix(sealed, "ENC[age,") || strings.Contains(sealed, "hunter") {
		t.Fatal(code, sealed)
	}
	for name, text := range map[string]string{
		"age.key":      "# a comment of age-keygen\n" + id.String() + "\n",
		"secrets.yaml": "db: {password: \"" + strings.TrimSpace(sealed) + "\"}\n",
		"plain.yaml":   "a: hunter2\n",
		"graph.yaml":   "secrets: [{age: secrets.yaml}]\nresources: {file: [{name: \"/none/x\", content: \"p=${{ secret('db/password') }}\\n\"}]}\n",
		"g_test.yaml": "graph: graph.yaml\ntests: [{name: a, secrets: {db/password: t}, steps: [{expect: {file: [{name: /none/x, content: \"p=t\\n\"}]}}]},\n" +
			"  {name: b, steps: [{}]}]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"secret", "decrypt", "secrets.yaml", "db/password", "--identity", "age.key"}, cli.ExitOK, "hunter2\n"},
		{[]string{"secret", "decrypt", "secrets.yaml", "db/none", "--identity", "age.key"}, cli.ExitUsage, `has no secret "db/none"`},
		{[]string{"secret", "decrypt", "secrets.yaml", "db/password", "--identity", "gone"}, cli.ExitUsage, "no such file"},
		{[]string{"secret", "list", "secrets.yaml"}, cli.ExitOK, "db/password\n"},
		{[]string{"secret", "list", "plain.yaml"}, cli.ExitFailed, "a  is not encrypted\n"},
		{[]string{"secret", "encrypt"}, cli.ExitUsage, "name a recipient"},
		{[]string{"secret", "encrypt", "--to", id.Recipient().String()}, cli.ExitUsage, "there is no value on standard input"},
		{[]string{"validate", "graph.yaml", "--identity", "age.key"}, cli.ExitOK, "ok: 1 resource"},
		{[]string{"validate", "graph.yaml"}, cli.ExitOK, "ok: 1 resource"},
		{[]string{"render", "graph.yaml"}, cli.ExitOK, "secret, and left out of the next one: content"},
		{[]string{"run", "graph.yaml", "--tmp-prefix", "--converged-exit"}, cli.ExitUsage, "no identity is given, which --identity FILE does"},
		{[]string{"eval", "secret('db/password')", "graph.yaml", "--identity", "age.key"}, cli.ExitUsage, "may stand only in a parameter"},
		{[]string{"test", "g_test.yaml"}, cli.ExitFailed, "ok    g_test.yaml: a\nFAIL  g_test.yaml: b\n"},
		{[]string{"test", "g_test.yaml"}, cli.ExitFailed, `the test has no secret "db/password"`},
	} {
		out, code := invoke(t, "", c.args...)
		if code != c.code || !strings.Contains(out, c.want) || c.args[1] != "decrypt" && strings.Contains(out, "hunter") {
			t.Errorf("mgmt %s: code %d, %s", strings.Join(c.args, " "), code, out)
		}
	}
}
