package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// writeAll writes files into a folder of the test.
func writeAll(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRender: the verb writes the graph of a file, of a module and of a catalog, for the facts of another machine; faults come beside it.
func TestRender(t *testing.T) {
	dir := writeAll(t, map[string]string{
		"g.yaml":        "use: [{module: m, with: {n: 2}}]\nresources:\n  file: [{name: \"/${{ facts.hostname }}\", content: \"${{ module.m.twice }}\"}]\n",
		"m/module.yaml": "module: m\ninputs: {n: {type: int}}\noutputs: {twice: \"${{ module.inputs.n * 2 }}\"}\nresources:\n  user: [{name: u}]\n",
		"facts.yaml":    "hostname: far\n",
		"bad.yaml":      "resources:\n  file: [{name: /x, contnt: y}]\n",
		"c.json":        `{"name":"web","resources":[{"type":"File","title":"/tmp/x","file":"site.pp","line":7,"parameters":{"content":"${{ a }}"}}],"edges":[]}`,
	})
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{dir + "/g.yaml", "--facts", dir + "/facts.yaml"}, cli.ExitOK, "resources:\n  file:\n  - name: /far\n    content: 4\n  user:\n  - name: u\n"},
		{[]string{dir + "/g.yaml", "--facts", dir + "/facts.yaml", "--positions"}, cli.ExitOK, "  user:\n  # " + dir + "/m/module.yaml:5:10\n  - name: u\n"},
		{[]string{dir + "/bad.yaml"}, cli.ExitUsage, "contnt: y\n"},
		{[]string{dir + "/bad.yaml"}, cli.ExitUsage, "did you mean \"content\""},
		{[]string{"--puppet-catalog", dir + "/c.json"}, cli.ExitOK, "    content: $${{ a }}\n"},
		{[]string{dir + "/none.yaml"}, cli.ExitUsage, "none.yaml"},
	} {
		out, code := invoke(t, "", append([]string{"render"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("mgmt render %q: code %d, %q, want %d, %q", c.args, code, out, c.code, c.want)
		}
	}
}

// TestExplainReceived: a value that another resource sends is no default, so the verb names the sender, and the place of the reference.
func TestExplainReceived(t *testing.T) {
	dir := writeAll(t, map[string]string{
		"g.yaml": "resources:\n  exec: [{name: e, cmd: /bin/echo, args: [x]}]\n  file:\n  - {name: /a, content: \"<${{ sent('exec[e].stdout') }}>\"}\n" +
			"  - {name: /b, recv: {content: \"exec[e].stdout\"}}\n  - {name: /c}\n",
	})
	for key, want := range map[string]string{
		"file[/a].content": "file[/a].content is known when the graph runs: exec[e].stdout sends it\nfrom " + dir + "/g.yaml:4:36\n  - {name: /a, content: \"<${{ sent('exec[e].stdout') }}>\"}\n",
		"file[/b].content": "file[/b].content is known when the graph runs: exec[e].stdout sends it\nfrom " + dir + "/g.yaml:5:23\n",
		"file[/c].content": "file[/c].content is not given",
	} {
		out, code := invoke(t, "", "render", dir+"/g.yaml", "--explain", key)
		if code != cli.ExitOK || !strings.HasPrefix(out, want) {
			t.Errorf("%s: code %d, %q, want %q", key, code, out, want)
		}
	}
}

// TestDataExplain: the verb names each file that may have a key, what it says, and the value that comes of it.
func TestDataExplain(t *testing.T) {
	dir := writeAll(t, map[string]string{
		"g.yaml":      "data: {files: [\"${{ facts.hostname }}.yaml\", none.yaml, os.yaml, common.yaml], merge: {users: deep}}\nresources: {}\n",
		"far.yaml":    "users: {a: {id: 1}}\n",
		"os.yaml":     "port: 80\n",
		"common.yaml": "port: 90\nusers: {a: {id: 2, b: x}}\n",
		"facts.yaml":  "hostname: far\n",
	})
	args := []string{dir + "/g.yaml", "--facts", dir + "/facts.yaml"}
	const in = "DIR/"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"users"}, cli.ExitOK, "users: maps are merged, and the first file that has a key of them counts\n  DIR/far.yaml:1:1: { \"a\": { \"id\": 1 } }\n  DIR/none.yaml: there is no such file\n  DIR/os.yaml: without the key\n" +
			"  DIR/common.yaml:2:1: { \"a\": { \"b\": \"x\", \"id\": 2 } }\n= { \"a\": { \"b\": \"x\", \"id\": 1 } }\n"},
		{[]string{"port"}, cli.ExitOK, "port: the first file that has it counts\n  DIR/far.yaml: without the key\n  DIR/none.yaml: there is no such file\n  DIR/os.yaml:1:1: 80\n  DIR/common.yaml:1:1: 90\n= 80\n"},
		{[]string{"port", "-o", "json"}, cli.ExitOK, "\"line\": 1,\n      \"missing\": false,\n      \"value\": 80\n"},
		{[]string{"users.a.id"}, cli.ExitOK, "users.a.id: maps are merged, and the first file that has a key of them counts\n  DIR/far.yaml:1:13: 1\n  DIR/none.yaml: there is no such file\n  DIR/os.yaml: without the key\n" +
			"  DIR/common.yaml:2:13: 2\n= 1\n"},
		{[]string{"users.a.ib"}, cli.ExitUsage, "the data of the graph have no key \"users.a.ib\" (did you mean \"users.a.b\"?)"},
		{[]string{"usrs.a"}, cli.ExitUsage, "the data of the graph have no key \"usrs.a\" (did you mean \"users\"?)"},
		{[]string{"port.x"}, cli.ExitUsage, "the data of the graph have no key \"port.x\""},
		{[]string{"prot"}, cli.ExitUsage, "the data of the graph have no key \"prot\" (did you mean \"port\"?)"},
	} {
		out, code := invoke(t, "", append(append([]string{"data", "explain"}, c.args...), args...)...)
		if out = strings.ReplaceAll(out, dir+"/", in); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("mgmt data explain %q: code %d\n%s\nwant %d\n%s", c.args, code, out, c.code, c.want)
		}
	}
}
