package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestFaultyDescriptor: a faulty descriptor takes away its own kinds alone, and is told.
func TestFaultyDescriptor(t *testing.T) {
	dir := t.TempDir()
	schemaText, err := os.ReadFile("../examples/providers/git/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"schema.json": string(schemaText),
		"git.yaml":    "name: git\ncommand: [git-provider]\nschema: schema.json\n",
		"lost.yaml":   "name: lost\ncommand: [lost]\nschema: nowhere.json\n",
		"twice.yaml":  "name: twice-git\ncommand: [git-provider]\nschema: schema.json\n",
		"wrong.yaml":  "name: wrong\ncommand: []\nschema: schema.json\ncolour: red\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, problems bytes.Buffer
	a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &problems}
	code := execute(t.Context(), a, []string{"plugin", "list", "--plugins", dir})
	if code != 0 || !strings.Contains(out.String(), "git:index:checkout") || strings.Contains(out.String(), "twice-git") {
		t.Errorf("the code is %d: %s", code, out.String())
	}
	for _, word := range []string{"lost.yaml", "cannot be read", "twice.yaml", "is there twice", "wrong.yaml", "colour", "left out"} {
		if !strings.Contains(problems.String(), word) {
			t.Errorf("%q is not told: %s", word, problems.String())
		}
	}
	if strings.Contains(problems.String(), "schema.json:") {
		t.Errorf("a schema file next to its descriptor is taken for one: %s", problems.String())
	}
}
