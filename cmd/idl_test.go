package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// idlRun runs one verb, and returns its code and what it has written.
func idlRun(args ...string) (code int, out, problems string) {
	var o, e bytes.Buffer
	a := &cli.App{In: strings.NewReader(""), Out: &o, Err: &e}
	code = execute(context.Background(), a, append([]string{"idl"}, args...))
	return code, o.String(), e.String()
}

// TestIDLExample: the outputs of each example are those of its definitions.
func TestIDLExample(t *testing.T) {
	for _, args := range [][]string{
		{"../examples/aws/idl", "--out-pack=../examples/aws/pack", "--out-provider=../examples/aws/provider"},
		{"../examples/providers/ca/idl", "--package-version=1.0.0", "--out-provider=../examples/providers/ca/provider"},
		{"../examples/providers/git/idl", "--package-version=1.0.0", "--out=schema=../examples/providers/git"},
		{"../examples/providers/postgres/idl", "--package-version=1.0.0", "--out=schema=../examples/providers/postgres"},
	} {
		if code, out, problems := idlRun(append([]string{"check"}, args...)...); code != 0 {
			t.Errorf("%d: %s%s\nrun mgmt idl build with these arguments: %v", code, out, problems, args)
		}
	}
}

// TestIDLVerbs builds, checks, alters and removes definitions.
func TestIDLVerbs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My-Pack")
	defs, pack, stubs := filepath.Join(dir, "idl"), filepath.Join(dir, "pack"), filepath.Join(dir, "provider")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(defs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("net/a.go", "package net\n\nimport \"github.com/reactivegraph/mgmt/idl\"\n\ntype A struct {\n\tidl.NamedResource\n\tSize float64\n}\n")
	write("net/b.go", "package net\n\ntype B struct {\n\tSize float64\n}\n")
	outs := []string{"--out-pack=" + pack, "--out-provider=" + stubs}
	run := func(want int, contains string, args ...string) {
		t.Helper()
		code, out, problems := idlRun(args...)
		if code != want || !strings.Contains(out+problems, contains) {
			t.Errorf("%v: %d, want %d and %q\n%s%s", args, code, want, contains, out, problems)
		}
	}
	run(2, "missing "+pack, append([]string{"check", defs}, outs...)...)
	run(0, "wrote "+filepath.Join(stubs, "net/a_stub.go"), append([]string{"build", defs}, outs...)...)
	run(0, "", append([]string{"check", defs}, outs...)...)
	run(0, `"token": "my-pack:net:A"`, "schema", defs)
	run(0, `"token": "aws:net:A"`, "schema", defs, "--package=aws")
	run(0, "## my-pack:net:a", "docs", defs)
	run(1, "give --out-pack", "build", defs)
	run(1, "there is no target", "build", defs, "--out=pyton=x")
	before := idlTree(t, dir)
	if err := os.Symlink(defs, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{defs, filepath.Join(defs, "net"), filepath.Join(defs, "gen", "deep"), filepath.Join(dir, "link", "new"), filepath.Join(defs, "..", "idl", "x")} {
		run(1, "lies in the folder of the definitions", "build", defs, "--out-provider="+in)
		run(1, "name a folder next to it, such as --out-provider="+stubs, "build", defs, "--out=go="+in)
	}
	if err := os.Remove(filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if after := idlTree(t, dir); after != before {
		t.Error("a refused folder was written to")
	}
	run(0, "wrote", "build", defs, "--out=markdown="+filepath.Join(defs, "docs"))
	if err := os.RemoveAll(filepath.Join(defs, "docs")); err != nil {
		t.Fatal(err)
	}
	run(0, "", "diff", defs, defs)
	run(0, "", "fmt", "--check", defs)

	old := filepath.Join(dir, "old")
	if err := os.CopyFS(old, os.DirFS(defs)); err != nil {
		t.Fatal(err)
	}
	write("net/a.go", "package net\nimport \"github.com/reactivegraph/mgmt/idl\"\ntype A struct {\n idl.NamedResource\n Size float64\n More int\n}\nfunc F() {}\n")
	before = idlTree(t, dir)
	run(1, filepath.Join(defs, "net/a.go")+":6:2: A.More: int is not supported; numbers are float64 [E_BAD_PRIMITIVE]", append([]string{"build", defs}, outs...)...)
	if after := idlTree(t, dir); after != before {
		t.Error("something was written in spite of an error")
	}
	run(2, "a.go", "fmt", "--check", defs)
	run(0, "a.go", "fmt", defs)
	write("net/c.go", "package net\ntype C struct {\n")
	run(1, filepath.Join(defs, "net/c.go")+":2:17: expected '}'", "fmt", defs)
	if err := os.Remove(filepath.Join(defs, "net/c.go")); err != nil {
		t.Fatal(err)
	}
	write("net/a.go", "package net\n\nimport \"github.com/reactivegraph/mgmt/idl\"\n\ntype A struct {\n\tidl.NamedResource\n\tSize float64\n\tMore float64\n}\n")
	run(4, "breaking    net.A.more: the property is new, and required", "diff", old, defs)
	run(4, `"level": "breaking"`, "diff", defs, old, "-o", "json", "--package=x")
	if err := os.Remove(filepath.Join(defs, "net/b.go")); err != nil {
		t.Fatal(err)
	}
	run(0, "removed "+filepath.Join(pack, "net/b.ts"), append([]string{"build", defs}, outs...)...)
}

// idlTree is all files of a folder with their texts.
func idlTree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
