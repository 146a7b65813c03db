package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// withSecrets builds a graph whose file of secrets has db/password, encrypted, and plain, which is not.
func withSecrets(t *testing.T, resources string) (*resgraph.Graph, schema.Diagnostics) {
	t.Helper()
	dir := t.TempDir()
	id, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := seal.Seal([]string{id.Recipient()}, "hunter2")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"secrets.yaml": fmt.Sprintf("db:\n  password: %q\nplain: hunter2\nbroken: \"ENC[age,AAAA]\"\n", sealed),
		"creds/token":  "hunter2\n",
		"graph.yaml":   "secrets: [{age: secrets.yaml}, {credentials: true}]\nresources:\n" + resources,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := yaml.Load(filepath.Join(dir, "graph.yaml"), yaml.Options{Unseal: id.Unseal, Credentials: filepath.Join(dir, "creds")}, nil)
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok { // nothing of the graph is left
		return nil, ds
	}
	if err != nil {
		t.Fatal(err)
	}
	return gapi.Build(engine.DefaultRegistry(), d)
}

// TestSecrets: a secret reaches a parameter from an encrypted file and from a credential, by every function and text, and marks it.
func TestSecrets(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{`"${{ secret('db/password') }}"`, "hunter2"},
		{`"password=${{ secret('db/password') }}\n"`, "password=hunter2\n"},
		{`"${{ base64(secret('token')) }}"`, "aHVudGVyMg=="},
		{`"${{ json({'k': secret('token')}) }}"`, `{"k":"hunter2"}`},
		{`"${{ secret('token').startsWith('h') ? 'yes' : 'no' }}"`, "yes"},
		{`"${{ string(size(secret('token'))) }}"`, "7"},
	} {
		g, ds := withSecrets(t, "  file: [{name: /x, mode: '0600', content: "+c.value+"}, {name: /y, content: open}]\n")
		if ds.Err() != nil {
			t.Errorf("%s: %v", c.value, ds)
			continue
		}
		for i := range g.Len() {
			v := g.Value(i).Res
			got, _ := schema.Get(v, "content")
			marks := strings.Join(v.MetaParams().Secret, ",")
			if v.Name() == "/x" && (got != c.want || marks != "content") || v.Name() == "/y" && marks != "" {
				t.Errorf("%s: %s has %v, secret: %q", c.value, v, got, marks)
			}
		}
	}
}

// TestSecretsRefused: where a secret would be shown, and where there is none. No finding has a part of it.
func TestSecretsRefused(t *testing.T) {
	for _, c := range []struct{ resources, want string }{
		{`  file: [{name: "/${{ secret('token') }}"}]`, "may stand only in a parameter"},
		{`  noop: [{name: a, when: "${{ secret('token') == 'x' }}"}]`, "may stand only in a parameter"},
		{`  noop: [{name: a, for_each: "${{ [secret('token')] }}"}]`, "may stand only in a parameter"},
		{`  noop: [{name: a, meta: {sema: ["${{ secret('token') }}"]}}]`, "may stand only in a parameter"},
		{`  exec: [{name: a, cmd: "login ${{ secret('token') }}"}]`, "can't be one"},
		{`  file: [{name: /x, content: "${{ secret('none') }}"}]`, `there is no secret "none" in `},
		{`  file: [{name: /x, content: "${{ secret('../token') }}"}]`, `there is no secret "../token" in `},
		{`  file: [{name: /x, content: "${{ secret('plain') }}"}]`, "the value of plain is not encrypted"},
		{`  file: [{name: /x, content: "${{ secret('broken') }}"}]`, "its cipher text is damaged"},
		{`  file: [{name: /x, content: "${{ string(int(secret('token'))) }}"}]`, "can't be computed from the secret"},
		{`  file: [{name: /x, mode: "${{ secret('token') }}"}]`, "mode"},
	} {
		_, ds := withSecrets(t, c.resources+"\n")
		if text := ds.Error(); ds.Err() == nil || !strings.Contains(text, c.want) || strings.Contains(text, "hunter") {
			t.Errorf("%s\n%v\nwant %s", c.resources, ds, c.want)
		}
	}
}

// FuzzSecrets: whatever the file of secrets has, reading it gives the secret or a finding, and no finding shows a decrypted text.
func FuzzSecrets(f *testing.F) {
	for _, seed := range []string{"a: ENC[age,AAAA]", "a: {b: 1}", "a: [", "- x", "a: ENC[age,]", "a: &a [*a]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		graph := filepath.Join(dir, "g.yaml")
		src := "secrets: [{age: s.yaml}]\nresources: {file: [{name: /x, content: \"${{ secret('a') }}\"}]}\n"
		if err := os.WriteFile(graph, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		unseal := func(string) (string, error) { return "", seal.ErrNotForUs }
		d, err := yaml.Load(graph, yaml.Options{Unseal: unseal}, nil)
		if err == nil && d.Problems.Err() == nil {
			t.Errorf("%q gave a graph", text)
		}
	})
}

// TestSecretsThroughFunctions: a value that a function or a template has made from a secret is hidden, and its faults have no part of the secret.
func TestSecretsThroughFunctions(t *testing.T) {
	hidden := 0
	for _, source := range []string{
		"§", "string(size(§))", "§ + 'x'", "'x' + §.upperAscii()", "base64(§)", "fromBase64(§)", "fromBase64(base64(§))", "json(§)", "json({'k': [§]})", "fromJSON(§)", "fromJSON(json(§))",
		"yaml(§)", "yaml({'k': §})", "fromYAML(§)", "fromYAML('[' + §)", "toml({'k': §})", "toml({§: 1})", "md5(§)", "sha1(§)", "sha256(§)", "sha512(§)", "string(cidrContains(§, §))", "cidrHost(§, 1)",
		"cidrNetmask(§)", "string(semverCompare(§, '1.0.0'))", "read(§)", "read('/none/' + §)", "secret(§)", "template(§)", "string(int(§))", "string(double(§))", "string(bool(§))", "string(duration(§))",
		"string(timestamp(§))", "{'a': 'b'}[§]", "{§: 'b'}[§]", "{§: 'b'}.nope", "['a'][int(§)]", "§.substring(100)", "§.charAt(99)", "'a'.matches(§ + '(') ? 'x' : 'y'", "'%d'.format([§])", "'%s'.format([§])",
		"regex.replace('a', § + '(', 'b')", "regex.replace(§, 'h', 'b')", "§.split('n').join('-')", "[§].map(x, x + '!').join('')", "[§].filter(x, x == §)[0]", "[§, 'b'].sort()[0]",
		"§ == 'hunter2' ? 'a' : 'b'", "optional.of(§).orValue('x')", "lists.range(int(§))", "scheduled(§).join('')", "[{'k': §}].map(m, m.k)[0]", "{'k': §}.?k.orValue('x')", "fromJSON('{\"' + § + '\": 1}').nope",
	} {
		content := strings.ReplaceAll(source, "§", "secret('token')")
		g, ds := withSecrets(t, "  file: [{name: /x, mode: '0600', content: "+"'${{ "+strings.ReplaceAll(content, "'", "''")+" }}'"+"}]\n")
		if text := ds.Error(); ds.Err() != nil {
			if strings.Contains(text, "hunter") {
				t.Errorf("%s: a finding shows the secret: %s", source, text)
			}
			continue
		}
		hidden++
		for i := range g.Len() {
			if marks := strings.Join(g.Value(i).Res.MetaParams().Secret, ","); marks != "content" {
				t.Errorf("%s is not hidden: %q", source, marks)
			}
		}
	}
	if hidden < 20 {
		t.Errorf("only %d of the expressions have a value, so the test shows little", hidden)
	}
}
