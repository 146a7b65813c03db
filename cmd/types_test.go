package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// fenced finds the blocks of a page.
var fenced = regexp.MustCompile("(?ms)^```[a-z]+\n(.*?)^```$")

// board is a machine with notes, and a folder of types: those of the page about them.
type board struct{ dir, types, notes string }

func newBoard(t *testing.T) board {
	dir := t.TempDir()
	b := board{dir, filepath.Join(dir, "types"), filepath.Join(dir, "notes")}
	for _, d := range []string{b.types, b.notes} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("../docs/types-as-data.md")
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.NewReplacer("/usr/local/lib/mgmt", dir, "/var/lib/notes", b.notes)
	shown := fenced.FindAllStringSubmatch(string(text), 4)
	b.put(t, "types/note.yaml", moved.Replace(shown[0][1]))
	b.put(t, "noted", shown[1][1])
	b.put(t, "graph.yaml", shown[2][1])
	if err := os.Chmod(filepath.Join(dir, "noted"), 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b board) put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b board) note(name string) string {
	text, err := os.ReadFile(filepath.Join(b.notes, name))
	if err != nil {
		return "(none)"
	}
	return string(text)
}

// mgmt runs the program and returns its code and what it says.
func (b board) mgmt(t *testing.T, args ...string) (int, string) {
	t.Helper()
	t.Setenv("MGMT_PREFIX", filepath.Join(b.dir, "state"))
	var out bytes.Buffer
	a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &out}
	code := execute(t.Context(), a, append(args, "--types", b.types))
	return code, out.String()
}

// TestTypes adds a kind without compiling: it is planned, run, shown, set, imported and
// documented as any other.
func TestTypes(t *testing.T) {
	b := newBoard(t)
	graph := filepath.Join(b.dir, "graph.yaml")
	b.put(t, "notes/old", "away")
	b.put(t, "notes/left", "as it is")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"validate", "--yaml", graph}, 0, "ok: 2 resources"},
		{[]string{"plan", "--yaml", graph}, 2, "note[milk]"},
		{[]string{"graph", "--yaml", graph}, 0, "note[milk]"},
		{[]string{"run", "--yaml", graph, "--converged-exit", "--converged-timeout", "100ms"}, 0, ""},
		{[]string{"plan", "--yaml", graph}, 0, ""},
		{[]string{"resource", "note", "milk"}, 0, "buy some"},
		{[]string{"resource", "note", "milk", "text=none left"}, 2, "none left"},
		{[]string{"resource", "note"}, 0, "as it is"},
		{[]string{"import", "note"}, 0, "- name: left"},
		{[]string{"doc", "note"}, 0, "A note on the pinboard."},
		{[]string{"doc"}, 0, "note "},
		{[]string{"schema", "note"}, 0, "What it says."},
		{[]string{"schema"}, 0, "What it says."},
		{[]string{"__complete", "doc", "not"}, 0, "note"},
	} {
		if c.args[0] == "__complete" {
			c.args = []string{"__complete", "doc", "--types", b.types, "not"}
		}
		var code int
		var out string
		if c.args[0] == "__complete" {
			var buf bytes.Buffer
			a := &cli.App{In: strings.NewReader(""), Out: &buf, Err: &buf}
			code, out = execute(t.Context(), a, c.args), buf.String()
		} else {
			code, out = b.mgmt(t, c.args...)
		}
		if code != c.code || !strings.Contains(out, c.want) {
			t.Fatalf("%v ends with code %d and says\n%s", c.args, code, out)
		}
	}
	if b.note("milk") != "none left" || b.note("old") != "(none)" || b.note("left") != "as it is" {
		t.Error(b.note("milk"), b.note("old"), b.note("left"))
	}
}

// TestTypesRefused holds that everything that is wrong with the types is said at once,
// with its place, and that nothing is done then.
func TestTypesRefused(t *testing.T) {
	b := newBoard(t)
	b.put(t, "types/a.yaml", "name: a\ndocs: x\nattributes:\n  name: {type: Strin, docs: x, kind: namevar}\nprovider: x\n")
	b.put(t, "types/b.json", "{\"name\": \"b\", \"docs\": \"x\",\n \"attributes\": {\"id\": {\"type\": \"String\", \"docs\": \"x\", \"kind\": \"namevar\"}}, \"provider\": \"keys\"}")
	b.put(t, "types/c.yaml", "name: [\n")
	b.put(t, "types/d.yaml", "name: file\ndocs: x\nattributes:\n  name: {type: String, docs: x, kind: namevar}\nget: [/bin/true]\nset: [/bin/true]\n")
	code, out := b.mgmt(t, "doc")
	for _, want := range []string{
		"a.yaml:4:16: a.name: the type `Strin` is not recognised", `did you mean "String"?`,
		`b.json:2:88: b: there is no Go provider "keys": there are apt_key`, "c.yaml:", `d.yaml:1:1: kind "file" is registered already`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if code != cli.ExitUsage || strings.Contains(out, "pinboard") {
		t.Error(code, out)
	}
}
